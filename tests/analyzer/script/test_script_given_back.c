/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a thread that tries for a permit in vain kept the interpreter's lock while it waits. */
#include "interpreter.h"
#include "replayed.h"
#include "suite.h"

enum { ROUNDS = 6, ROUND_MS = 20, ONE = 0, TWO, LAST_MS = ROUNDS * ROUND_MS };

static void takes(struct sketch *sketch, uint32_t thread, double at_ms)
{
	sketch_hold(sketch, thread, "mutex", SITE_TAKE, at_ms, at_ms + 0.01);
}

/* It has the interpreter's lock, and a permit at once. */
static void tries(struct sketch *sketch, uint32_t thread, double at_ms)
{
	uint32_t wait = sketch_wait(sketch, thread, REASON_SEM, "S", at_ms, at_ms, NO_INDEX);

	sketch->rec.waits[wait].name = sketch_string(sketch, "sem_trywait");
}

static void posts(struct sketch *sketch, uint32_t thread, double at_ms)
{
	sketch_link(sketch, thread, LINK_POST, "S", at_ms, 0, NO_INDEX);
}

/* One has a permit for 7 ms, of which it sleeps without the lock for `ms`. */
static void one_works(struct sketch *sketch, const char *what, double from_ms, double ms)
{
	takes(sketch, ONE, from_ms);
	tries(sketch, ONE, from_ms + 1);
	interpreter_drops(sketch, ONE, from_ms + 2);
	sketch_sleep(sketch, ONE, what, from_ms + 2.02, from_ms + 2 + ms);
	takes(sketch, ONE, from_ms + 2 + ms);
	posts(sketch, ONE, from_ms + 3 + ms);
	interpreter_drops(sketch, ONE, from_ms + 4 + ms);
}

/* Two wants it meanwhile: it gives the lock back. */
static void two_waits(struct sketch *sketch, double from_ms)
{
	takes(sketch, TWO, from_ms + 3);
	interpreter_drops(sketch, TWO, from_ms + 4);
	sketch_wait(sketch, TWO, REASON_SEM, "S", from_ms + 4.1, from_ms + 8.1, NO_INDEX);
	takes(sketch, TWO, from_ms + 8.2);
	interpreter_waits(sketch, TWO, from_ms + 8.21, from_ms + 9.1);
	takes(sketch, TWO, from_ms + 9.1);
	posts(sketch, TWO, from_ms + 10);
	interpreter_drops(sketch, TWO, from_ms + 11);
}

/* In the last round two comes when the permit is back. Then it has 10 ms of work without it. */
static double with_a_longer_sleep_ms(double factor)
{
	struct sketch sketch;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "one", 0, LAST_MS + 6.01);
	sketch_thread(&sketch, "two", 0, LAST_MS + 20);
	for (int i = 0; i < ROUNDS; i++) {
		one_works(&sketch, "flush", i * ROUND_MS, 5);
		two_waits(&sketch, i * ROUND_MS);
	}
	one_works(&sketch, "short", LAST_MS, 2);
	sketch_sleep(&sketch, TWO, "nap", LAST_MS - 8, LAST_MS + 7);
	takes(&sketch, TWO, LAST_MS + 7);
	tries(&sketch, TWO, LAST_MS + 8);
	posts(&sketch, TWO, LAST_MS + 9);
	interpreter_drops(&sketch, TWO, LAST_MS + 10);
	sketch_sleep(&sketch, TWO, "tail", LAST_MS + 10.02, LAST_MS + 20);
	sketch_end(&sketch);
	double ms = replayed_ms(&sketch, "short", factor);
	sketch_free(&sketch);
	return ms;
}

/* One comes for the lock after 8 ms, which two has given back. It posts its permit 1 ms later, and
 * has the lock for 1 ms more. Then two goes on. */
START_TEST(a_try_in_vain_keeps_no_lock)
{
	ck_assert_double_eq_tol(with_a_longer_sleep_ms(1), LAST_MS + 20, 0.2);
	ck_assert_double_eq_tol(with_a_longer_sleep_ms(4), LAST_MS + 24, 0.2);
}
END_TEST

SUITE()
{
	TEST(a_try_in_vain_keeps_no_lock);
}

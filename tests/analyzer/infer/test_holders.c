/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a wait for what another process held names nobody, or the wrong thread. */
#include "infer/holders.h"

#include "sketch.h"
#include "suite.h"

static struct sketch sketch;

static void setup(void)
{
	static struct rec_process processes[2];

	sketch_begin(&sketch);
	sketch.rec.processes = processes;
	sketch.rec.process_count = 2;
	sketch_thread(&sketch, "waiter", 0, 100);
	sketch_thread(&sketch, "holder", 0, 50);
	sketch_thread(&sketch, "later", 60, 100);
	sketch_thread(&sketch, "own", 0, 100);
	sketch.rec.threads[1].process = sketch.rec.threads[2].process = 1;
	/* The kernel gave the number again. */
	sketch.rec.threads[1].tid = sketch.rec.threads[2].tid = 77;
}

static void teardown(void)
{
	sketch_free(&sketch);
}

static struct rec_wait *wait_for(const char *lock, double from_ms, double to_ms, uint32_t tid)
{
	uint32_t wait = sketch_wait(&sketch, 0, REASON_MUTEX, lock, from_ms, to_ms, NO_INDEX);

	sketch.rec.waits[wait].holder = NO_INDEX;
	sketch.rec.waits[wait].holder_tid = tid;
	return &sketch.rec.waits[wait];
}

START_TEST(the_holder_lived_when_the_wait_began)
{
	const struct rec_wait *early = wait_for("M", 10, 20, 77);
	const struct rec_wait *between = wait_for("M", 55, 58, 77);
	const struct rec_wait *late = wait_for("M", 70, 80, 77);
	const struct rec_wait *unknown = wait_for("M", 90, 95, 0);

	holders_find(&sketch.rec);
	ck_assert_uint_eq(early->holder, 1);
	ck_assert_uint_eq(between->holder, NO_INDEX);
	ck_assert_uint_eq(late->holder, 2);
	ck_assert_uint_eq(unknown->holder, NO_INDEX);
}
END_TEST

START_TEST(of_two_the_one_of_the_same_process)
{
	const struct rec_wait *wait = wait_for("M", 10, 20, 77);

	sketch.rec.threads[3].tid = 77;
	holders_find(&sketch.rec);
	ck_assert_uint_eq(wait->holder, 3);
}
END_TEST

START_TEST(who_let_go_is_found_in_the_other_process)
{
	uint32_t first = sketch_hold(&sketch, 1, "M", 1, 5, 15);
	uint32_t last = sketch_hold(&sketch, 1, "M", 1, 15.5, 19);
	struct rec_wait *wait = wait_for("M", 10, 20, 77);
	struct rec_wait *private = wait_for("N", 10, 20, 77);
	struct rec_wait *died = wait_for("N", 10, 20, 77);
	uint32_t left = sketch_hold(&sketch, 3, "N", 1, 5, 16);

	ck_assert_uint_ne(first, last);
	wait->address |= SHARED_ADDRESS;
	sketch.rec.extras[first].address |= SHARED_ADDRESS;
	sketch.rec.extras[last].address |= SHARED_ADDRESS;
	died->owner_died = true;
	holders_find(&sketch.rec);
	ck_assert_uint_eq(wait->target, last);
	/* Its own process knows better, and said nothing. */
	ck_assert_uint_eq(private->target, NO_INDEX);
	ck_assert_uint_eq(died->target, left);
}
END_TEST

/* The lock is watched since 25, while its holder waits for something else. */
START_TEST(a_hold_that_was_under_way_began_before_the_wait)
{
	uint32_t first = sketch_hold(&sketch, 0, "L", 1, 25, 40);
	uint32_t second = sketch_hold(&sketch, 0, "L", 1, 45, 50);
	uint32_t outside = sketch_hold(&sketch, 0, "N", 1, 70, 75);
	uint32_t of_another = sketch_hold(&sketch, 3, "P", 1, 25, 40);

	sketch.rec.extras[first].seq = sketch.rec.extras[outside].seq = 1;
	sketch.rec.extras[of_another].seq = 1;
	sketch.rec.extras[second].seq = 2;
	sketch_wait(&sketch, 0, REASON_COND, "C", 42, 48, NO_INDEX);
	sketch_wait(&sketch, 0, REASON_COND, "C", 20, 30, NO_INDEX);
	sketch_wait(&sketch, 0, REASON_COND, "C", 60, 65, NO_INDEX);
	holders_find(&sketch.rec);
	ck_assert_uint_eq(sketch.rec.ops[first].start_ns, 20 * SKETCH_MS);
	ck_assert_uint_eq(sketch.rec.ops[second].start_ns, 45 * SKETCH_MS);
	ck_assert_uint_eq(sketch.rec.ops[outside].start_ns, 70 * SKETCH_MS);
	ck_assert_uint_eq(sketch.rec.ops[of_another].start_ns, 25 * SKETCH_MS);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(the_holder_lived_when_the_wait_began);
	TEST(of_two_the_one_of_the_same_process);
	TEST(who_let_go_is_found_in_the_other_process);
	TEST(a_hold_that_was_under_way_began_before_the_wait);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a barrier that a program makes is not found, or threads that hand things over are
 * taken for one. */
#include "infer/meetings.h"

#include "monitored.h"
#include "suite.h"

enum { PARTIES = 3, ROUNDS = 6, LOCKS = 2, WAITS = 3, WAKES = 4, ELSEWHERE = 5 };

struct met {
	struct monitored monitored;
	struct meetings meetings;
};

static void met_begin(struct met *met)
{
	sketch_begin(&met->monitored.sketch);
	for (int i = 0; i < PARTIES; i++)
		sketch_thread(&met->monitored.sketch, "party", 0, 100);
	/* calls of far away functions */
	met->monitored.sketch.rec.frames[ELSEWHERE].offset = 1 << 20;
}

static void met_build(struct met *met)
{
	monitored_build(&met->monitored);
	meetings_build(&met->meetings, &met->monitored.sketch.rec, &met->monitored.timeline,
		       &met->monitored.monitors);
}

static void met_free(struct met *met)
{
	meetings_free(&met->meetings);
	monitored_free(&met->monitored);
}

static void wake_all(struct met *met, uint32_t thread, double at_ms, uint32_t stack)
{
	uint32_t link =
		sketch_link(&met->monitored.sketch, thread, LINK_WAKE, "C", at_ms, 2, NO_INDEX);

	met->monitored.sketch.rec.links[link].all = true;
	met->monitored.sketch.rec.links[link].stack = stack;
}

static void futex_wait(struct met *met, uint32_t thread, double from_ms, double to_ms)
{
	uint32_t wait = sketch_wait(&met->monitored.sketch, thread, REASON_FUTEX, "C", from_ms,
				    to_ms, NO_INDEX);

	met->monitored.sketch.rec.waits[wait].stack = WAITS;
}

/* All but one wait on a futex, until that one wakes them. */
static void futex_round(struct met *met, int round, uint32_t last, uint32_t stack)
{
	for (uint32_t i = 0; i < PARTIES; i++)
		if (i != last)
			futex_wait(met, i, round * 10 + 1 + i, round * 10 + 8.1);
	wake_all(met, last, round * 10 + 8, stack);
}

/* The waits in meetings, and the threads that come last: all of them have the number of a meeting
 * in which all parties meet. */
static void all_meet(const struct met *met)
{
	const struct recording *rec = &met->monitored.sketch.rec;

	ck_assert_uint_eq(met->meetings.count, ROUNDS);
	for (size_t i = 0; i < met->meetings.count; i++)
		ck_assert_uint_eq(met->meetings.sizes[i], PARTIES);
	for (size_t i = 0; i < rec->wait_count; i++)
		if (rec->waits[i].reason != REASON_MUTEX)
			ck_assert_uint_lt(met->meetings.of_wait[i], ROUNDS);
}

static void none_meet(const struct met *met)
{
	ck_assert_uint_eq(met->meetings.count, 0);
	for (size_t i = 0; i < met->monitored.sketch.rec.wait_count; i++)
		ck_assert_uint_eq(met->meetings.of_wait[i], NO_INDEX);
}

START_TEST(whoever_is_last_wakes_all)
{
	struct met met;

	met_begin(&met);
	for (int i = 0; i < ROUNDS; i++)
		futex_round(&met, i, (uint32_t)i % PARTIES, ELSEWHERE);
	met_build(&met);
	all_meet(&met);
	for (size_t i = 0; i < met.monitored.sketch.rec.link_count; i++)
		ck_assert_uint_lt(met.meetings.of_link[i], ROUNDS);
	met_free(&met);
}
END_TEST

START_TEST(one_function_waits_and_wakes)
{
	struct met met;

	/* it is always the same thread that is last */
	met_begin(&met);
	for (int i = 0; i < ROUNDS; i++)
		futex_round(&met, i, 1, WAKES);
	met_build(&met);
	all_meet(&met);
	met_free(&met);
}
END_TEST

START_TEST(one_lets_others_go)
{
	struct met met;

	/* the same from elsewhere: nothing shows that this thread waits for the others */
	met_begin(&met);
	for (int i = 0; i < ROUNDS; i++)
		futex_round(&met, i, 1, ELSEWHERE);
	met_build(&met);
	none_meet(&met);
	met_free(&met);
}
END_TEST

START_TEST(others_wait_each_time)
{
	struct met met;

	/* a lock: one waits, another one lets it go */
	met_begin(&met);
	for (int i = 0; i < ROUNDS; i++) {
		futex_wait(&met, (uint32_t)i % PARTIES, i * 10 + 1, i * 10 + 8.1);
		wake_all(&met, (uint32_t)(i + 1 + i / PARTIES) % PARTIES, i * 10 + 8, WAKES);
	}
	met_build(&met);
	none_meet(&met);
	met_free(&met);
}
END_TEST

/* The same with a mutex and a condition. `looks`: thread 0 is never last. It goes on waiting
 * whenever it is let go, as what it waits for has not happened. */
static void condition_round(struct met *met, int round, uint32_t last, bool looks)
{
	struct sketch *sketch = &met->monitored.sketch;
	double from_ms = round * 10;

	for (uint32_t i = 0; i < PARTIES; i++) {
		bool goes_on = looks && !i && round;
		double wait_ms = goes_on ? from_ms - 1.7 : from_ms + 1.1 + i;

		if (i == last)
			continue;
		if (!goes_on)
			sketch_hold(sketch, i, "M", LOCKS, from_ms + 1 + i, wait_ms);
		uint32_t wait = sketch_wait(sketch, i, REASON_COND, "C", wait_ms,
					    from_ms + 8.2 + i * .1, NO_INDEX);
		sketch->rec.waits[wait].stack = WAITS;
		sketch_hold(sketch, i, "M", WAITS, from_ms + 8.2 + i * .1,
			    looks && !i ? from_ms + 8.3 : from_ms + 8.21 + i * .1);
	}
	sketch_hold(sketch, last, "M", LOCKS, from_ms + 8, from_ms + 8.15);
	wake_all(met, last, from_ms + 8.1, WAKES);
}

START_TEST(a_broadcast_by_the_last_one)
{
	struct met met;

	met_begin(&met);
	for (int i = 0; i < ROUNDS; i++)
		condition_round(&met, i, (uint32_t)i % PARTIES, false);
	met_build(&met);
	all_meet(&met);
	met_free(&met);
}
END_TEST

START_TEST(a_barrier_that_is_used_once)
{
	struct met met;

	/* a broadcast from one place, after which nobody waits: it could be a gate as well */
	met_begin(&met);
	condition_round(&met, 0, 2, false);
	met_build(&met);
	ck_assert(met.monitored.monitors.signals[0].is_gate);
	ck_assert_int_ne(met.monitored.monitors.conditions[0].model, PUT_NONE);
	ck_assert_uint_eq(met.meetings.count, 1);
	meetings_explain(&met.meetings, &met.monitored.sketch.rec, &met.monitored.monitors);
	ck_assert_int_eq(met.monitored.monitors.conditions[0].model, PUT_NONE);
	met_free(&met);
}
END_TEST

START_TEST(threads_that_go_on_waiting)
{
	struct met met;

	met_begin(&met);
	for (int i = 0; i < ROUNDS; i++)
		condition_round(&met, i, 1 + (uint32_t)i % 2, true);
	met_build(&met);
	none_meet(&met);
	met_free(&met);
}
END_TEST

/* The last one posts a permit for each, or for each of the others; all but those take one. */
static void posts_round(struct met *met, int round, uint32_t last, bool for_itself)
{
	struct sketch *sketch = &met->monitored.sketch;
	double from_ms = round * 10;

	for (uint32_t i = 0; i < PARTIES; i++)
		if (i != last || for_itself)
			sketch_wait(sketch, i, REASON_SEM, "S",
				    i == last ? from_ms + 8.5 : from_ms + 1 + i,
				    from_ms + 8.5 + i * .01, NO_INDEX);
	for (int i = 0; i < PARTIES - !for_itself; i++)
		sketch_link(sketch, last, LINK_POST, "S", from_ms + 8 + i * .01, 1, NO_INDEX);
}

START_TEST(a_turnstile)
{
	for (int for_itself = 0; for_itself < 2; for_itself++) {
		struct met met;

		met_begin(&met);
		for (int i = 0; i < ROUNDS; i++)
			posts_round(&met, i, (uint32_t)i % PARTIES, for_itself);
		met_build(&met);
		all_meet(&met);
		for (size_t i = 0; i < met.monitored.sketch.rec.link_count; i++) {
			ck_assert(met.meetings.is_post[i]);
			if (for_itself)
				ck_assert_uint_eq(met.meetings.of_link[i], NO_INDEX);
		}
		met_free(&met);
	}
}
END_TEST

SUITE()
{
	TEST(whoever_is_last_wakes_all);
	TEST(one_function_waits_and_wakes);
	TEST(one_lets_others_go);
	TEST(others_wait_each_time);
	TEST(a_broadcast_by_the_last_one);
	TEST(a_barrier_that_is_used_once);
	TEST(threads_that_go_on_waiting);
	TEST(a_turnstile);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a lock's waits are charged to threads that did not hold it then, or get lost. */
#include "measure/blame.h"
#include "random.h"
#include "sketch.h"
#include "suite.h"

enum { ROW_HOLDS = 3, ROW_WAITS = 2, HELD = 3 };

struct interval {
	double from_ms, to_ms;
	uint32_t seq; /* of a hold */
	bool shared;
};

/* Holds are of threads 0, 1, 2, waits of threads 3 and 4. */
static const struct {
	struct interval holds[ROW_HOLDS], waits[ROW_WAITS];
	double held_ms[ROW_HOLDS];
	uint32_t ended[ROW_HOLDS];
	double free_ms, unknown_ms;
	uint32_t unknown;
} rows[] = {
	/* 0: one holder, then the waiter wakes up */
	{ .holds = { { 0, 10, 1, false } },
	  .waits = { { 2, 12, 0, false } },
	  .held_ms = { 8 },
	  .ended = { 1 },
	  .free_ms = 2 },
	/* 1: one after the other, two that wait */
	{ .holds = { { 0, 4, 1, false }, { 5, 9, 2, false } },
	  .waits = { { 1, 10, 0, false }, { 6, 11, 0, false } },
	  .held_ms = { 3, 7 },
	  .ended = { 0, 2 },
	  .free_ms = 1 + 3 },
	/* 2: a hold between them is missing */
	{ .holds = { { 0, 4, 1, false }, { 6, 9, 3, false } },
	  .waits = { { 1, 9, 0, false } },
	  .held_ms = { 3, 3 },
	  .ended = { 0, 1 },
	  .unknown_ms = 2 },
	/* 3: before the first hold, and while it lasts */
	{ .holds = { { 5, 9, 7, false } },
	  .waits = { { 1, 9, 0, false } },
	  .held_ms = { 4 },
	  .ended = { 1 },
	  .unknown_ms = 4 },
	/* 4: of readers the last one */
	{ .holds = { { 0, 4, 1, true }, { 1, 8, 1, true }, { 2, 3, 1, true } },
	  .waits = { { 2, 8, 0, false } },
	  .held_ms = { 0, 6, 0 },
	  .ended = { 0, 1 } },
	/* 5: no time at all */
	{ .holds = { { 3, 3, 1, false }, { 3, 4, 2, false } },
	  .waits = { { 3, 3, 0, false } },
	  .ended = { 0, 0 },
	  .unknown = 1 },
	/* 6: nobody's holds are recorded */
	{ .waits = { { 1, 3, 0, false }, { 2, 3, 0, false } }, .unknown_ms = 3, .unknown = 2 },
};

static void sum_rests(const struct blame *blame, uint64_t *ns, uint64_t *waits)
{
	for (size_t i = 0; i < blame->rest_count; i++) {
		ns[blame->rests[i].sort] += blame->rests[i].ns;
		waits[blame->rests[i].sort] += blame->rests[i].waits;
	}
}

START_TEST(each_moment_is_the_holders)
{
	struct sketch sketch;
	struct blame blame;
	uint32_t holds[ROW_HOLDS];
	uint64_t rest_ns[2] = { 0 }, rest_waits[2] = { 0 };
	sketch_begin(&sketch);
	for (int i = 0; i < ROW_HOLDS + ROW_WAITS; i++)
		sketch_thread(&sketch, "t", 0, 20);
	for (uint32_t i = 0; i < ROW_HOLDS; i++) {
		const struct interval *hold = &rows[_i].holds[i];
		holds[i] = sketch_hold(&sketch, i, hold->seq ? "m" : "other", 1, hold->from_ms,
				       hold->to_ms);
		sketch.rec.extras[holds[i]].seq = hold->seq;
		sketch.rec.extras[holds[i]].shared = hold->shared;
	}
	for (uint32_t i = 0; i < ROW_WAITS; i++) {
		const struct interval *wait = &rows[_i].waits[i];
		if (wait->to_ms > 0)
			sketch_wait(&sketch, HELD + i, REASON_MUTEX, "m", wait->from_ms,
				    wait->to_ms, NO_INDEX);
	}
	sketch_wait(&sketch, HELD, REASON_COND, "m", 0, 20, NO_INDEX);
	blame_build(&blame, &sketch.rec);
	for (uint32_t i = 0; i < ROW_HOLDS; i++) {
		ck_assert_uint_eq(blame.ns[holds[i]], (uint64_t)(rows[_i].held_ms[i] * 1e6));
		ck_assert_uint_eq(blame.waits[holds[i]], rows[_i].ended[i]);
	}
	sum_rests(&blame, rest_ns, rest_waits);
	ck_assert_uint_eq(rest_ns[BLAME_FREE], (uint64_t)(rows[_i].free_ms * 1e6));
	ck_assert_uint_eq(rest_ns[BLAME_UNKNOWN], (uint64_t)(rows[_i].unknown_ms * 1e6));
	ck_assert_uint_eq(rest_waits[BLAME_FREE], 0);
	ck_assert_uint_eq(rest_waits[BLAME_UNKNOWN], rows[_i].unknown);
	blame_free(&blame);
	sketch_free(&sketch);
}
END_TEST

/* The recorder knows who let a thread go, also by another name than the lock's. */
START_TEST(a_target_counts)
{
	struct sketch sketch;
	struct blame blame;
	sketch_begin(&sketch);
	sketch_thread(&sketch, "t", 0, 20);
	sketch_thread(&sketch, "t", 0, 20);
	uint32_t first = sketch_hold(&sketch, 0, "m", 1, 0, 4);
	uint32_t second = sketch_hold(&sketch, 0, "m", 1, 5, 9);
	sketch_wait(&sketch, 1, REASON_MUTEX, "m", 1, 10, first);
	sketch_wait(&sketch, 1, REASON_MUTEX, "elsewhere", 11, 12, second);
	blame_build(&blame, &sketch.rec);
	ck_assert_uint_eq(blame.waits[first], 1);
	ck_assert_uint_eq(blame.waits[second], 1);
	ck_assert_uint_eq(blame.ns[first], 3000000);
	ck_assert_uint_eq(blame.ns[second], 4000000 + 1000000);
	blame_free(&blame);
	sketch_free(&sketch);
}
END_TEST

/* Whatever the recording says, nothing is lost and nothing is there twice. */
START_TEST(all_times_are_those_of_the_waits)
{
	struct sketch sketch;
	struct blame blame;
	uint64_t expected_ns = 0, ns[2] = { 0 }, waits[2] = { 0 }, state = (uint64_t)_i;
	sketch_begin(&sketch);
	for (int i = 0; i < 5; i++)
		sketch_thread(&sketch, "t", 0, 30);
	for (int i = 0; i < 60; i++) {
		const char *lock = random_number(&state, 2) ? "m" : "n";
		double from_ms = (double)random_number(&state, 20),
		       to_ms = from_ms + (double)random_number(&state, 5);
		uint32_t thread = (uint32_t)random_number(&state, 5);
		if (random_number(&state, 2)) {
			uint32_t hold = sketch_hold(&sketch, thread, lock, 1, from_ms, to_ms);
			sketch.rec.extras[hold].seq = (uint32_t)random_number(&state, 4);
			sketch.rec.extras[hold].shared = random_number(&state, 4) == 0;
			continue;
		}
		sketch_wait(&sketch, thread, REASON_RWLOCK_WRITE,
			    random_number(&state, 9) ? lock : "else", from_ms, to_ms, NO_INDEX);
		expected_ns += (uint64_t)((to_ms - from_ms) * 1e6);
	}
	blame_build(&blame, &sketch.rec);
	sum_rests(&blame, ns, waits);
	for (size_t i = 0; i < sketch.rec.op_count; i++) {
		ns[0] += blame.ns[i];
		waits[0] += blame.waits[i];
	}
	ck_assert_uint_eq(ns[0] + ns[1], expected_ns);
	ck_assert_uint_eq(waits[0] + waits[1], sketch.rec.wait_count);
	blame_free(&blame);
	sketch_free(&sketch);
}
END_TEST

START_TEST(nothing_gives_nothing)
{
	struct recording recording = { 0 };
	struct blame blame;
	blame_build(&blame, &recording);
	ck_assert_uint_eq(blame.rest_count, 0);
	blame_free(&blame);
}
END_TEST

SUITE()
{
	EACH(each_moment_is_the_holders, rows);
	TEST(a_target_counts);
	LOOP(all_times_are_those_of_the_waits, 0, 200);
	TEST(nothing_gives_nothing);
}

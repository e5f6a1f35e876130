/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a lock that a program makes of a futex is replayed by its hand-overs. Or a thread that
 * parks is taken for one that waits for a lock. */
#include "infer/futexlocks.h"

#include "sketch.h"
#include "suite.h"

enum { ROUNDS = 6 };

/* The difference from threads 1 and 2, which use a lock in turns: only 2 has to wait. */
enum difference {
	IS_PLAIN,
	PARKS,      /* thread 2 wakes nobody */
	WAKES_ALL,  /* thread 1 wakes all who wait */
	TIMES_OUT,  /* a wait ends by itself */
	IS_SELDOM,  /* they meet only four times */
	ARE_TWO,    /* locks, each in every other round */
	ARE_KIN,    /* and that at one place */
	HAS_NONE,   /* the same once, and the other one wakes all who wait */
	IS_SHARED,  /* thread 3 goes on while thread 2 does */
	COMES_LATE, /* thread 2 is woken once before it gets it */
	IS_LONG,    /* thread 2 waits once before the usual time */
	IS_NESTED,  /* thread 1 gives it back in a call that began before the last hold */
	WAITS_ON,   /* thread 3 still waits as the recording ends */
	IS_NO_FUTEX /* they wait for a condition */
};

static void meet(struct sketch *sketch, enum difference difference, int round)
{
	double at_ms = 10 * round;
	enum reason reason = difference == IS_NO_FUTEX ? REASON_COND : REASON_FUTEX;
	bool is_other = difference == HAS_NONE
				? round == 3
				: (difference == ARE_TWO || difference == ARE_KIN) && round % 2;
	const char *lock = is_other ? "M" : "L";
	uint32_t link, wait;

	if (difference == IS_NESTED && round == 3)
		sketch_sleep(sketch, 1, "inside", at_ms - 4, at_ms + 9);
	else
		sketch_sleep(sketch, 1, "inside", at_ms + 1, at_ms + 4);
	link = sketch_link(sketch, 1, LINK_WAKE, lock, at_ms + 4, 1, NO_INDEX);
	sketch->rec.links[link].all =
		difference == WAKES_ALL || (difference == HAS_NONE && is_other);
	if (difference == COMES_LATE && round == 3)
		sketch_wait(sketch, 2, reason, lock, at_ms + 0.2, at_ms + 0.5, NO_INDEX);
	wait = sketch_wait(sketch, 2, reason, lock,
			   at_ms + (difference == IS_LONG && round == 3 ? 0.5 : 2), at_ms + 4.01,
			   NO_INDEX);
	sketch->rec.waits[wait].stack = difference == ARE_KIN || difference == HAS_NONE ? 5 : 0;
	if (difference != PARKS)
		sketch_link(sketch, 2, LINK_WAKE, lock, at_ms + 7, 0, NO_INDEX);
	if (difference == IS_SHARED) {
		sketch_wait(sketch, 3, reason, lock, at_ms + 3, at_ms + 5, NO_INDEX);
		sketch_link(sketch, 3, LINK_WAKE, lock, at_ms + 8, 0, NO_INDEX);
	}
}

static void sketch_meetings(struct sketch *sketch, enum difference difference)
{
	sketch_begin(sketch);
	sketch_thread(sketch, "main", 0, 70);
	for (int i = 0; i < 3; i++)
		sketch_thread(sketch, "user", 0, 70);
	for (int i = 0; i < (difference == IS_SELDOM ? 4 : ROUNDS); i++)
		meet(sketch, difference, i);
	if (difference == WAITS_ON)
		sketch->rec.waits[sketch_wait(sketch, 3, REASON_FUTEX, "L", 55, 70, NO_INDEX)]
			.open = true;
	if (difference == TIMES_OUT)
		sketch->rec.waits[2].timed_out = true;
	futex_locks_find(&sketch->rec);
}

static size_t holds_of(const struct sketch *sketch, uint32_t thread)
{
	size_t count = 0;

	for (size_t i = 0; i < sketch->rec.op_count; i++)
		count +=
			sketch->rec.ops[i].kind == KIND_HOLD && sketch->rec.ops[i].thread == thread;
	return count;
}

START_TEST(a_lock_is_told_by_its_holds)
{
	static const struct {
		enum difference difference;
		size_t count; /* of holds of each thread */
	} rows[] = {
		/* 0 */ { IS_PLAIN, ROUNDS },
		/* 1 */ { PARKS, 0 },
		/* 2 */ { WAKES_ALL, 0 },
		/* 3 */ { TIMES_OUT, 0 },
		/* 4 */ { IS_SELDOM, 0 },
		/* 5 */ { IS_SHARED, 0 },
		/* 6 */ { IS_NO_FUTEX, 0 },
		/* 7 */ { WAITS_ON, ROUNDS },
		/* 8 */ { ARE_TWO, 0 },
		/* 9 */ { ARE_KIN, ROUNDS },
		/* 10 */ { HAS_NONE, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sketch sketch;
		sketch_meetings(&sketch, rows[i].difference);
		ck_assert_msg(holds_of(&sketch, 1) == rows[i].count, "row %zu", i);
		ck_assert_msg(holds_of(&sketch, 2) == rows[i].count, "row %zu", i);
		uint16_t reason = sketch.rec.waits[0].reason;
		ck_assert_msg((reason == REASON_MUTEX) == (rows[i].count > 0), "row %zu", i);
		sketch_free(&sketch);
	}
}
END_TEST

static void expect(const struct sketch *sketch, uint32_t thread, double from_ms, double to_ms)
{
	for (size_t i = 0; i < sketch->rec.op_count; i++) {
		const struct rec_op *op = &sketch->rec.ops[i];

		if (op->kind != KIND_HOLD || op->thread != thread ||
		    op->end_ns != (uint64_t)(to_ms * 1e6))
			continue;
		ck_assert_uint_eq(op->start_ns, (uint64_t)(from_ms * 1e6));
		return;
	}
	ck_abort_msg("no hold ends at %.2f ms", to_ms);
}

/* Woken too early, thread 2 waits again: it has waited since it came. */
START_TEST(a_wait_in_vain_is_part_of_the_next_one)
{
	struct sketch sketch;
	int found = 0;

	sketch_meetings(&sketch, COMES_LATE);
	for (size_t i = 0; i < sketch.rec.wait_count; i++) {
		const struct rec_wait *wait = &sketch.rec.waits[i];

		if (wait->start_ns != (uint64_t)(30.2 * 1e6))
			continue;
		ck_assert(wait->end_ns == wait->start_ns ||
			  wait->end_ns == (uint64_t)(34.01 * 1e6));
		found++;
	}
	ck_assert_int_eq(found, 2);
	sketch_free(&sketch);
}
END_TEST

/* Thread 1's hold is as long as is usual, 2.99 ms, but begins in no call: 1 ms, not 1.01. */
START_TEST(a_hold_lasts_from_its_wait_to_its_wake)
{
	struct sketch sketch;

	sketch_meetings(&sketch, IS_PLAIN);
	for (int i = 0; i < ROUNDS; i++) {
		expect(&sketch, 1, 10 * i + 1, 10 * i + 4);
		expect(&sketch, 2, 10 * i + 4.01, 10 * i + 7);
	}
	sketch_free(&sketch);
}
END_TEST

START_TEST(one_hold_differs)
{
	static const struct {
		enum difference difference;
		uint32_t thread;
		double from_ms;
		double to_ms;
	} rows[] = {
		/* 0: it began before those waited that wait for it */ { IS_LONG, 1, 30.5, 34 },
		/* 1: it begins no later than it ends */ { IS_NESTED, 1, 34, 34 },
		/* 2: a thread that waits again had not got it */ { COMES_LATE, 2, 34.01, 37 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sketch sketch;
		sketch_meetings(&sketch, rows[i].difference);
		ck_assert_uint_eq(holds_of(&sketch, rows[i].thread), ROUNDS);
		expect(&sketch, rows[i].thread, rows[i].from_ms, rows[i].to_ms);
		sketch_free(&sketch);
	}
}
END_TEST

SUITE()
{
	TEST(a_lock_is_told_by_its_holds);
	TEST(a_wait_in_vain_is_part_of_the_next_one);
	TEST(a_hold_lasts_from_its_wait_to_its_wake);
	TEST(one_hold_differs);
}

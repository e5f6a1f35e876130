/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if threads that would meet at a lock in a faster run pass each other. Or a lock is held
 * where nobody has it. */
#include "infer/futexlocks_parts.h"

#include "sketch.h"
#include "suite.h"

enum { ROUNDS = 6, LONE = 3, PLACE = 5, ELSEWHERE = 7 };

/* The difference from threads 1 and 2, which meet at a lock six times, with one call inside. Then
 * thread 1 has that call three times more. */
enum difference {
	IS_PLAIN,
	IS_ELSEWHERE, /* thread 1's calls are at another place then */
	IS_OF_TWO,    /* so are threads 3 and 4 at another lock */
	IS_MIXED,     /* thread 2 has another call inside */
	IS_TAKEN,     /* thread 2 has the lock meanwhile */
	HAS_TWO,      /* calls inside */
	IS_CROWDED,   /* threads 3 and 4 have those calls, too, at the same time */
	ARE_KIN       /* they meet at another lock in every other round; thread 3 has it, too */
};

static void call(struct sketch *sketch, uint32_t thread, uint32_t place, double from_ms,
		 double to_ms)
{
	uint32_t op = sketch_op(sketch, KIND_SLEEP, "inside", thread, from_ms, to_ms);

	sketch->rec.extras[op].stack = place;
}

static void calls(struct sketch *sketch, enum difference difference, uint32_t thread,
		  uint32_t place, double from_ms, double to_ms)
{
	if (difference == HAS_TWO) {
		call(sketch, thread, place, from_ms, from_ms + 1);
		call(sketch, thread, ELSEWHERE, from_ms + 1, to_ms);
	} else {
		call(sketch, thread, place, from_ms, to_ms);
	}
}

static void meet(struct sketch *sketch, enum difference difference, uint32_t thread,
		 const char *lock, double at_ms)
{
	uint32_t place = difference == IS_MIXED ? ELSEWHERE : PLACE;

	calls(sketch, difference, thread, PLACE, at_ms + 1, at_ms + 4);
	sketch_link(sketch, thread, LINK_WAKE, lock, at_ms + 4, 1, NO_INDEX);
	uint32_t wait = sketch_wait(sketch, thread + 1, REASON_FUTEX, lock, at_ms + 2, at_ms + 4.01,
				    NO_INDEX);
	sketch->rec.waits[wait].stack = difference >= IS_CROWDED ? ELSEWHERE : 0;
	calls(sketch, difference, thread + 1, place, at_ms + 4.02, at_ms + 7);
	sketch_link(sketch, thread + 1, LINK_WAKE, lock, at_ms + 7, 0, NO_INDEX);
}

static void sketch_meetings(struct sketch *sketch, enum difference difference)
{
	uint32_t place = difference == IS_ELSEWHERE ? ELSEWHERE : PLACE;

	sketch_begin(sketch);
	sketch_thread(sketch, "main", 0, 110);
	for (int i = 0; i < 4; i++)
		sketch_thread(sketch, "user", 0, 110);
	for (int i = 0; i < ROUNDS; i++) {
		meet(sketch, difference, 1, difference == ARE_KIN && i % 2 ? "M" : "L", 10 * i);
		if (difference == IS_OF_TWO)
			meet(sketch, difference, 3, "M", 10 * i);
	}
	for (int i = 0; i < LONE; i++)
		calls(sketch, difference, 1, place, 10 * (ROUNDS + i) + 1, 10 * (ROUNDS + i) + 3);
	if (difference >= IS_CROWDED)
		meet(sketch, difference, 3, difference == ARE_KIN ? "M" : "L", 95);
	for (uint32_t thread = 3; difference >= IS_CROWDED && thread < 5; thread++)
		for (int i = 0; i < LONE && (difference == IS_CROWDED || thread == 3); i++)
			call(sketch, thread, PLACE, 10 * (ROUNDS + i) + 0.5 * thread,
			     10 * (ROUNDS + i) + 0.5 * thread + 2);
	if (difference == IS_TAKEN) {
		sketch_wait(sketch, 2, REASON_FUTEX, "L", 60.1, 60.5, NO_INDEX);
		call(sketch, 2, PLACE, 60.5, 90);
		sketch_link(sketch, 2, LINK_WAKE, "L", 90, 0, NO_INDEX);
	}
	futex_locks_find(&sketch->rec);
}

/* Of thread 1, that began after the meetings and ended so long after that. */
static size_t unseen_count(const struct sketch *sketch)
{
	size_t count = 0;

	for (size_t i = 0; i < sketch->rec.op_count; i++) {
		const struct rec_op *op = &sketch->rec.ops[i];

		count += op->kind == KIND_HOLD && op->thread == 1 &&
			 op->start_ns > 10 * ROUNDS * SKETCH_MS &&
			 op->end_ns - op->start_ns == 2 * SKETCH_MS;
	}
	return count;
}

START_TEST(a_call_that_needs_the_lock_tells_of_a_hold)
{
	static const struct {
		enum difference difference;
		size_t count;
	} rows[] = {
		/* 0 */ { IS_PLAIN, LONE },
		/* 1 */ { IS_ELSEWHERE, 0 },
		/* 2 */ { IS_OF_TWO, 0 },
		/* 3 */ { IS_MIXED, 0 },
		/* 4 */ { IS_TAKEN, 0 },
		/* 5 */ { HAS_TWO, LONE },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sketch sketch;
		sketch_meetings(&sketch, rows[i].difference);
		ck_assert_msg(unseen_count(&sketch) == rows[i].count, "row %zu: %zu", i,
			      unseen_count(&sketch));
		sketch_free(&sketch);
	}
}
END_TEST

/* They are at the same time, of different locks. */
START_TEST(unseen_holds_are_of_any_lock_that_is_free)
{
	uint64_t address = 0;
	struct sketch sketch;
	int pairs = 0;

	sketch_meetings(&sketch, ARE_KIN);
	for (size_t i = 0; i < sketch.rec.op_count; i++) {
		const struct rec_op *op = &sketch.rec.ops[i];

		if (op->kind != KIND_HOLD || op->end_ns - op->start_ns != 2 * SKETCH_MS)
			continue;
		ck_assert_uint_ne(sketch.rec.extras[i].address, address);
		pairs += op->thread == 3;
		address = op->thread == 1 ? sketch.rec.extras[i].address : 0;
	}
	ck_assert_int_eq(pairs, LONE);
	ck_assert_uint_eq(unseen_count(&sketch), LONE);
	sketch_free(&sketch);
}
END_TEST

/* Three threads are in it at once, so there are more locks than threads have waited for. These are
 * of the process, and of the same name. */
START_TEST(locks_that_nobody_waited_for_are_made_up)
{
	struct sketch sketch;
	size_t made_up = 0, others = 0;
	uint32_t name = 0;

	sketch_meetings(&sketch, IS_CROWDED);
	for (size_t i = 0; i < sketch.rec.op_count; i++) {
		uint64_t address = sketch.rec.extras[i].address;

		if (sketch.rec.ops[i].kind != KIND_HOLD)
			continue;
		ck_assert(!(address & SHARED_ADDRESS));
		ck_assert(!name || sketch.rec.ops[i].name == name);
		name = sketch.rec.ops[i].name;
		made_up += address < 0x1000;
		others += address >= 0x1000;
	}
	ck_assert_uint_eq(made_up, LONE);
	ck_assert_uint_eq(others, 2 * (ROUNDS + 1) + LONE);
	ck_assert_uint_eq(sketch.rec.unseen_holds, 2 * LONE);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(a_call_that_needs_the_lock_tells_of_a_hold);
	TEST(unseen_holds_are_of_any_lock_that_is_free);
	TEST(locks_that_nobody_waited_for_are_made_up);
}

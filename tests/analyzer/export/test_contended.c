/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a lock that threads waited for has no lane, or holds of another one are on it. */
#include "export/contended.h"
#include "sketch.h"
#include "suite.h"

/* Two threads: for "a" one waits 2 ms, for "b" 5 ms, for "c" nobody. */
static void sketch_locks(struct sketch *sketch)
{
	sketch_begin(sketch);
	sketch_thread(sketch, "main", 0, 20);
	sketch_thread(sketch, "other", 0, 20);
	sketch_hold(sketch, 1, "a", 1, 12, 13);
	sketch_hold(sketch, 0, "a", 1, 0, 2);
	sketch_hold(sketch, 1, "a", 1, 2, 3);
	sketch_hold(sketch, 0, "c", 1, 3, 4);
	sketch_hold(sketch, 0, "b", 1, 4, 10);
	sketch_wait(sketch, 1, REASON_MUTEX, "a", 0, 2, NO_INDEX);
	sketch_wait(sketch, 1, REASON_RWLOCK_WRITE, "b", 5, 10, NO_INDEX);
	sketch_wait(sketch, 1, REASON_COND, "c", 13, 20, NO_INDEX);
	for (size_t i = 0; i < sketch->rec.wait_count; i++)
		sketch->rec.waits[i].ident = (uint32_t)(sketch->rec.waits[i].address - 0x1000);
	sketch_end(sketch);
}

START_TEST(those_that_were_waited_for_have_their_holds)
{
	struct sketch sketch;
	struct contended contended;
	sketch_locks(&sketch);
	contended_build(&contended, &sketch.rec, NULL, CONTENDED_MAX);
	ck_assert_uint_eq(contended.count, 2);
	ck_assert_uint_eq(contended.left_out, 0);
	ck_assert_str_eq(sketch.rec.strings[contended.locks[0].name], "b");
	ck_assert_uint_eq(contended.locks[0].waited_ns, 5 * SKETCH_MS);
	ck_assert_uint_eq(contended.locks[0].hold_count, 1);
	ck_assert_str_eq(sketch.rec.strings[contended.locks[1].name], "a");
	ck_assert_uint_eq(contended.locks[1].wait_count, 1);
	ck_assert_uint_eq(contended.locks[1].hold_count, 3);
	for (size_t lock = 0; lock < 2; lock++)
		for (size_t i = 0; i < contended.locks[lock].hold_count; i++)
			ck_assert_uint_eq(contended_of_op(&contended, &sketch.rec,
							  contended.locks[lock].holds[i]),
					  lock);
	ck_assert_uint_eq(contended_of_wait(&contended, &sketch.rec, 0), 1);
	ck_assert_uint_eq(contended_of_wait(&contended, &sketch.rec, 1), 0);
	ck_assert_uint_eq(contended_of_wait(&contended, &sketch.rec, 2), NO_INDEX);
	for (size_t i = 1; i < 3; i++)
		ck_assert_uint_lt(sketch.rec.ops[contended.locks[1].holds[i - 1]].start_ns,
				  sketch.rec.ops[contended.locks[1].holds[i]].start_ns);
	contended_free(&contended);
	sketch_free(&sketch);
}
END_TEST

/* The same address is another lock in another process, unless they share it. */
START_TEST(processes_have_locks_of_their_own)
{
	struct sketch sketch;
	struct contended contended;
	struct rec_process processes[] = { { .pid = 1, .op = NO_INDEX },
					   { .pid = 2, .op = NO_INDEX } };
	sketch_locks(&sketch);
	sketch.rec.processes = processes;
	sketch.rec.process_count = 2;
	sketch.threads[0].process = 1;
	if (_i)
		for (size_t i = 0; i < sketch.rec.op_count; i++)
			sketch.rec.extras[i].address |= SHARED_ADDRESS;
	for (size_t i = 0; _i && i < sketch.rec.wait_count; i++)
		sketch.rec.waits[i].address |= SHARED_ADDRESS;
	contended_build(&contended, &sketch.rec, NULL, CONTENDED_MAX);
	ck_assert_uint_eq(contended.count, 2);
	ck_assert_uint_eq(contended.locks[0].hold_count, _i ? 1 : 0);
	ck_assert_uint_eq(contended.locks[1].hold_count, _i ? 3 : 2);
	contended_free(&contended);
	sketch_free(&sketch);
}
END_TEST

START_TEST(there_may_be_none)
{
	struct sketch sketch;
	struct contended contended;
	sketch_begin(&sketch);
	sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 0, 10);
	sketch_bare_wait(&sketch, 0, NO_INDEX, REASON_LOCK, 0, 5);
	contended_build(&contended, &sketch.rec, NULL, CONTENDED_MAX);
	ck_assert_uint_eq(contended.count, 0);
	contended_free(&contended);
	sketch_free(&sketch);
}
END_TEST

START_TEST(those_waited_for_least_are_left_out)
{
	struct sketch sketch;
	struct contended contended;
	enum { LOCKS = CONTENDED_MAX + 7 };
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 1000);
	for (uint32_t i = 0; i < LOCKS; i++) {
		uint32_t wait =
			sketch_wait(&sketch, 0, REASON_MUTEX, "", i, i + 1 + i / 1000.0, NO_INDEX);
		sketch.rec.waits[wait].address = 0x5000 + i;
		uint32_t hold = sketch_hold(&sketch, 0, "", 1, i + 1, i + 1.5);
		sketch.rec.extras[hold].address = 0x5000 + i;
	}
	contended_build(&contended, &sketch.rec, NULL, CONTENDED_MAX);
	ck_assert_uint_eq(contended.count, CONTENDED_MAX);
	ck_assert_uint_eq(contended.left_out, 7);
	for (size_t i = 0; i < contended.count; i++) {
		ck_assert_uint_eq(contended.locks[i].hold_count, 1);
		ck_assert_uint_eq(sketch.rec.extras[contended.locks[i].holds[0]].address,
				  0x5000 + LOCKS - 1 - i);
	}
	contended_free(&contended);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(those_that_were_waited_for_have_their_holds);
	LOOP(processes_have_locks_of_their_own, 0, 2);
	TEST(there_may_be_none);
	TEST(those_waited_for_least_are_left_out);
}

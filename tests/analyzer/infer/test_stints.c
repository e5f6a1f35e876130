/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if what a thread does between two waits for others is cut elsewhere than there. */
#include "infer/stints.h"

#include "sketch.h"
#include "suite.h"

#define MS 1000000ull

static struct sketch sketch;
static struct stints stints;

static void begin(void)
{
	sketch_begin(&sketch);
	sketch_join_two(&sketch, "one", "two", 20, 20);
}

static void cut(void)
{
	struct timeline timeline;

	sketch_end(&sketch);
	timeline_build(&timeline, &sketch.rec);
	stints_build(&stints, &sketch.rec, &sketch.classes, &timeline, sketch.rec.thread_count);
	timeline_free(&timeline);
}

static void end(void)
{
	stints_free(&stints);
	sketch_free(&sketch);
}

static const struct stint *stint_of(uint32_t thread, size_t number)
{
	for (size_t i = 0; i < stints.count; i++)
		if (stints.all[i].thread == thread && !number--)
			return &stints.all[i];
	ck_abort_msg("there is none");
}

START_TEST(a_wait_for_another_thread_cuts)
{
	begin();
	sketch_sleep(&sketch, 1, "before", 1, 3);
	sketch_wait(&sketch, 1, REASON_BARRIER, "barrier", 5, 6, NO_INDEX);
	sketch_sleep(&sketch, 1, "behind", 7, 9);
	cut();
	const struct stint *before = stint_of(1, 0), *behind = stint_of(1, 1);

	ck_assert_uint_eq(before->begin_ns, 0);
	ck_assert_uint_eq(before->end_ns, 3 * MS);
	ck_assert_uint_eq(before->idle_ns, 5 * MS);
	ck_assert_uint_eq(behind->begin_ns, 6 * MS);
	ck_assert_uint_eq(behind->end_ns, 9 * MS);
	ck_assert_uint_eq(behind->idle_ns, 20 * MS);
	ck_assert(!before->is_cut && !behind->is_cut);
	end();
}
END_TEST

START_TEST(a_wait_inside_of_a_call_cuts_the_call)
{
	begin();
	sketch_op(&sketch, KIND_CALL, "call", 1, 1, 9);
	sketch_wait(&sketch, 1, REASON_BARRIER, "barrier", 5, 6, NO_INDEX);
	cut();
	ck_assert(stint_of(1, 0)->is_cut);
	end();
}
END_TEST

START_TEST(a_wait_for_a_lock_is_part_of_the_hold)
{
	begin();
	sketch_sleep(&sketch, 1, "before", 1, 3);
	sketch_wait(&sketch, 1, REASON_MUTEX, "lock", 5, 6, NO_INDEX);
	sketch_hold(&sketch, 1, "lock", NO_INDEX, 6, 8);
	cut();
	const struct stint *stint = stint_of(1, 0);

	ck_assert_uint_eq(stint->count, 2);
	ck_assert_uint_eq(stint->end_ns, 8 * MS);
	ck_assert(!stints.elements[stint->first].is_hold);
	ck_assert(stints.elements[stint->first + 1].is_hold);
	end();
}
END_TEST

START_TEST(a_try_in_vain_cuts)
{
	uint32_t wait;

	begin();
	sketch_sleep(&sketch, 1, "before", 1, 3);
	wait = sketch_wait(&sketch, 1, REASON_MUTEX, "lock", 5, 5, NO_INDEX);
	sketch.rec.waits[wait].timed_out = true;
	sketch_sleep(&sketch, 1, "behind", 6, 8);
	cut();
	ck_assert_uint_eq(stint_of(1, 0)->end_ns, 3 * MS);
	ck_assert_uint_eq(stint_of(1, 0)->idle_ns, 5 * MS);
	ck_assert_uint_eq(stint_of(1, 1)->count, 1);
	end();
}
END_TEST

START_TEST(a_yield_behind_the_last_call_is_idle)
{
	begin();
	sketch_sleep(&sketch, 1, "work", 1, 3);
	sketch_sleep(&sketch, 1, "sched_yield", 4, 5);
	sketch_sleep(&sketch, 1, "work", 6, 8);
	sketch_sleep(&sketch, 1, "sched_yield", 9, 10);
	cut();
	ck_assert_uint_eq(stint_of(1, 0)->count, 2);
	ck_assert_uint_eq(stint_of(1, 0)->end_ns, 8 * MS);
	ck_assert_uint_eq(stint_of(1, 0)->idle_ns, 9 * MS);
	end();
}
END_TEST

SUITE()
{
	TEST(a_wait_for_another_thread_cuts);
	TEST(a_wait_inside_of_a_call_cuts_the_call);
	TEST(a_wait_for_a_lock_is_part_of_the_hold);
	TEST(a_try_in_vain_cuts);
	TEST(a_yield_behind_the_last_call_is_idle);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, threads that were inside of a call when recording began seem not to have been, or
 * others do. */
#include "census.h"

#include "insider.h"
#include "opening.h"
#include "watch.h"

static json_t *open_op_of(const json_t *lines, const char *kind)
{
	json_t *ops = json_object_get(json_array_get(lines, 0), "open_ops");

	for (size_t i = 0; i < json_array_size(ops); i++)
		if (strcmp(word_of(json_array_get(ops, i), "kind"), kind) == 0)
			return json_array_get(ops, i);
	return NULL;
}

START_TEST(a_call_is_known_from_the_first_moment_on)
{
	json_t *lines, *op;

	if (!start(be_in_read, SYS_read))
		return;
	turn_on();
	let_out();
	lines = finish();
	op = event_of(lines, "k", "io");
	ck_assert_ptr_nonnull(op);
	ck_assert_str_eq(name_of(lines, op, "c"), "read");
	ck_assert_int_eq(number_of(op, "fd"), ends[0]);
	ck_assert_int_eq(number_of(op, "s"), number_of(event_of(lines, "k", "thread"), "s"));
	ck_assert_int_lt(number_of(op, "s"), number_of(op, "d"));
}
END_TEST

START_TEST(who_came_out_before_was_not_inside)
{
	if (!start(be_in_read, SYS_read))
		return;
	switch_prepare();
	census_look();
	let_out();
	ck_assert_int_eq(switch_enable(), 0);
	census_begin();
	ck_assert_ptr_null(event_of(finish(), "k", "io"));
}
END_TEST

/* A flow opens the gate while threads are looked at. */
START_TEST(who_is_recorded_already_was_not_inside)
{
	if (!start(be_in_read, SYS_read))
		return;
	switch_prepare();
	census_look();
	ck_assert_int_eq(switch_enable(), 0);
	recorder_arena->opened_ticks[opening_now(recorder_arena) % OPENINGS_KEPT] = 1;
	census_begin();
	let_out();
	ck_assert_ptr_null(event_of(finish(), "k", "io"));
}
END_TEST

START_TEST(a_call_is_of_one_opening)
{
	if (!start(be_in_read, SYS_read))
		return;
	turn_on();
	turn_off();
	(void)recording_dump(true);
	ck_assert_int_eq(switch_enable(), 0);
	let_out();
	ck_assert_ptr_null(event_of(finish(), "k", "io"));
}
END_TEST

/* Of a thread that has been seen in an opening before. */
START_TEST(a_call_that_goes_on_is_open_and_then_cut_off)
{
	json_t *open, *lines, *op;

	ck_assert_int_eq(switch_enable(), 0);
	if (!start(be_in_read_again, SYS_read))
		return;
	switch_disable();
	(void)recording_dump(true);
	for (int i = 0; i < 2; i++) {
		turn_on();
		lines = recording_dump(true);
		open = open_op_of(lines, "io");
		ck_assert_ptr_nonnull(open);
		ck_assert_ptr_null(event_of(lines, "k", "io"));
		turn_off();
		lines = recording_dump(true);
		op = event_of(lines, "k", "io");
		ck_assert_ptr_null(open_op_of(lines, "io"));
		ck_assert_ptr_nonnull(op);
		ck_assert_int_eq(number_of(op, "id"), number_of(open, "op_id"));
		ck_assert_int_eq(number_of(op, "s"), number_of(open, "start_ns"));
		ck_assert_int_lt(number_of(op, "s"), number_of(op, "d"));
	}
	ck_assert_int_eq(switch_enable(), 0);
	let_out();
	lines = finish();
	ck_assert_ptr_null(open_op_of(lines, "io"));
	ck_assert_ptr_null(event_of(lines, "k", "io"));
}
END_TEST

START_TEST(who_has_run_since_is_not_inside)
{
	json_t *lines;

	ck_assert_int_eq(switch_enable(), 0);
	if (!start(be_in_read_again, SYS_read))
		return;
	switch_disable();
	turn_on();
	let_out();
	census_look_again();
	lines = recording_dump(true);
	ck_assert_ptr_null(open_op_of(lines, "io"));
	ck_assert_ptr_nonnull(event_of(lines, "k", "io"));
	ck_assert_ptr_null(event_of(finish(), "k", "io"));
}
END_TEST

START_TEST(a_lock_is_waited_for_and_then_held)
{
	json_t *lines, *wait, *hold;

	pthread_mutex_lock(&mutex);
	if (!start(be_in_lock, SYS_futex))
		return;
	turn_on();
	ck_assert_uint_eq(watch_find(&mutex)->waiters, 1);
	pthread_mutex_unlock(&mutex);
	while (!load_acquire(&is_out))
		continue;
	lines = finish();
	wait = event_of(lines, "rs", "mutex");
	hold = event_of(lines, "k", "hold");
	ck_assert_ptr_nonnull(wait);
	ck_assert_ptr_nonnull(hold);
	ck_assert_int_eq(number_of(wait, "h"), getpid());
	ck_assert_int_eq(number_of(hold, "s"), number_of(wait, "d"));
	ck_assert_uint_eq(watch_find(&mutex)->waiters, 0);
}
END_TEST

SUITE()
{
	FIXTURE(setup, recording_end);
	TEST(a_call_is_known_from_the_first_moment_on);
	TEST(who_came_out_before_was_not_inside);
	TEST(who_is_recorded_already_was_not_inside);
	TEST(a_call_is_of_one_opening);
	TEST(a_call_that_goes_on_is_open_and_then_cut_off);
	TEST(who_has_run_since_is_not_inside);
	TEST(a_lock_is_waited_for_and_then_held);
}

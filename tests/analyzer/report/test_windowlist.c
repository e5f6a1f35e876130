/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, dumps of processes that talk to each other would be taken for windows of one. */
#include "report/windowlist.h"

#include "suite.h"
#include "window_files.h"

static struct window_list list;
static struct read_error error;

static void list_dumps(int count)
{
	const struct options options = window_options(count);
	ck_assert_int_eq(window_list_of_dumps(&list, &options, &error), 0);
}

START_TEST(dumps_of_one_process_are_windows)
{
	window_file(0, 7, 300, 400, true);
	window_file(1, 7, 10, 100, true);
	window_file(2, 7, 200, 250, true);
	/* it goes on where the one before has ended */
	window_file(3, 7, 250, 260, true);
	list_dumps(4);
	ck_assert_uint_eq(list.count, 3);
	ck_assert_str_eq(list.paths[0], window_paths[1]);
	ck_assert_uint_eq(list.windows[1].first_path, 1);
	ck_assert_uint_eq(list.windows[1].path_count, 2);
	ck_assert_uint_eq(list.windows[1].number, 1);
	const struct options options = window_options(4),
			     chosen = window_list_choose(&list, &options, 2);
	ck_assert_uint_eq(chosen.path_count, 1);
	ck_assert_str_eq(chosen.paths[0], window_paths[0]);
	ck_assert_uint_eq(chosen.window, 1);
	window_list_free(&list);
}
END_TEST

/* Else each window would be of all dumps, and read again and again. */
START_TEST(dumps_of_no_window_are_left_out)
{
	window_file(0, 7, 10, 100, true);
	window_file(1, 7, 150, 150, false);
	window_file(2, 7, 200, 250, true);
	list_dumps(3);
	ck_assert_uint_eq(list.count, 2);
	ck_assert_str_eq(list.paths[1], window_paths[2]);
	ck_assert_uint_eq(list.windows[1].path_count, 1);
	window_list_free(&list);
	list_dumps(2);
	ck_assert_uint_eq(list.count, 1);
	ck_assert_uint_eq(list.windows[0].path_count, 2);
	window_list_free(&list);
}
END_TEST

START_TEST(dumps_of_others_are_one_recording)
{
	window_file(0, 7, 10, 100, true);
	window_file(1, 8, 200, 250, true);
	list_dumps(2);
	ck_assert_uint_eq(list.count, 1);
	ck_assert_uint_eq(list.windows[0].path_count, 2);
	window_list_free(&list);
	/* of one process, at the same time: one was kept in memory */
	window_file(1, 7, 10, 250, true);
	list_dumps(2);
	ck_assert_uint_eq(list.count, 1);
	window_list_free(&list);
}
END_TEST

START_TEST(a_file_that_is_no_dump_is_named)
{
	const struct options options = window_options(2);
	window_file(0, 7, 10, 100, true);
	ck_assert_int_lt(window_list_of_dumps(&list, &options, &error), 0);
	ck_assert_str_eq(error.file, window_paths[1]);
	window_list_free(&list);
}
END_TEST

START_TEST(pauses_of_a_recording_make_windows)
{
	struct rec_window windows[] = { { 10, 20, 0, false }, { 30, 40, 0, false } };
	struct rec_process process = { 0 };
	const struct recording recording = {
		.windows = windows, .window_count = 2, .processes = &process, .process_count = 1
	};
	const struct options options = window_options(2);
	window_list_of_recording(&list, &options, &recording);
	ck_assert_uint_eq(list.count, 2);
	ck_assert_uint_eq(list.windows[1].path_count, 2);
	ck_assert_uint_eq(list.windows[1].number, 2);
	window_list_free(&list);
}
END_TEST

SUITE()
{
	FIXTURE(window_files_begin, window_files_end);
	TEST(dumps_of_one_process_are_windows);
	TEST(dumps_of_no_window_are_left_out);
	TEST(dumps_of_others_are_one_recording);
	TEST(a_file_that_is_no_dump_is_named);
	TEST(pauses_of_a_recording_make_windows);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, a window would be missing among many, or the time of another one would be its. */
#include "report/eachwindow.h"

#include "report/analysis.h"
#include "suite.h"
#include "window_files.h"

enum { MOST = 8 };

struct visits {
	size_t count;
	uint64_t makespan_ns[MOST];
};

static void visit(void *context, const struct analysis *analysis)
{
	struct visits *visits = context;
	ck_assert_uint_lt(visits->count, MOST);
	visits->makespan_ns[visits->count++] = analysis->actual_makespan_ns;
}

static int go(const struct options *options, struct visits *visits,
	      char error[EACH_WINDOW_ERROR_BYTES])
{
	struct window_list list;
	struct read_error read_error;
	struct recording recording = { 0 };
	ck_assert_int_eq(window_list_of_dumps(&list, options, &read_error), 0);
	int failed = each_window(&list, options, &recording, visit, visits, error);
	window_list_free(&list);
	return failed;
}

START_TEST(each_is_visited_once_and_in_order)
{
	char error[EACH_WINDOW_ERROR_BYTES];
	struct visits visits = { 0 };
	const struct options options = window_options(3);
	for (int i = 0; i < 3; i++)
		window_file(i, 7, 100 * i, 100 * i + 10 * (i + 1), true);
	ck_assert_int_eq(go(&options, &visits, error), 0);
	ck_assert_uint_eq(visits.count, 3);
	for (size_t i = 1; i < visits.count; i++)
		ck_assert_uint_lt(visits.makespan_ns[i - 1], visits.makespan_ns[i]);
}
END_TEST

START_TEST(the_first_error_ends_it)
{
	char error[EACH_WINDOW_ERROR_BYTES];
	struct visits visits = { 0 };
	struct options options = window_options(3);
	for (int i = 0; i < 3; i++)
		window_file(i, 7, 100 * i, 100 * i + 10, true);
	FILE *file = fopen(window_paths[1], "a");
	fputs("{\"e\":\"op\",\"id\":\"x\"}\n", file);
	fclose(file);
	ck_assert_int_lt(go(&options, &visits, error), 0);
	ck_assert_uint_eq(visits.count, 1);
	ck_assert_ptr_nonnull(strstr(error, window_paths[1]));
}
END_TEST

SUITE()
{
	FIXTURE(window_files_begin, window_files_end);
	TEST(each_is_visited_once_and_in_order);
	TEST(the_first_error_ends_it);
}

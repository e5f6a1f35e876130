/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, a mean over windows would hide that they differ, or that one has no answer. */
#include "report/windowmeans.h"

#include "suite.h"
#include "window_files.h"

static struct window_list list;
static struct window_means means;

static int build(const struct options *options, char error[EACH_WINDOW_ERROR_BYTES])
{
	struct read_error read_error;
	ck_assert_int_eq(window_list_of_dumps(&list, options, &read_error), 0);
	struct recording recording = { 0 };
	int failed = window_means_build(&means, options, &list, &recording, error);
	window_list_free(&list);
	return failed;
}

static char *print(enum emit_format format)
{
	char *text = NULL;
	size_t bytes;
	FILE *file = open_memstream(&text, &bytes);
	struct emit emit;
	emit_begin(&emit, file, format, 100, false);
	window_means_print(&means, &emit);
	emit_end(&emit);
	fclose(file);
	return text;
}

static void expect(char *text, const char *words)
{
	ck_assert_msg(strstr(text, words) != NULL, "%s", text);
}

/* In three of four windows a sleep is all that there is: half of it is 50%, on average 37.5%. */
START_TEST(savings_are_means_over_windows)
{
	char error[EACH_WINDOW_ERROR_BYTES];
	const struct options options = window_options(4);
	for (int i = 0; i < 4; i++)
		window_file(i, 7, 100 * i, 100 * i + 50, i != 2);
	ck_assert_int_eq(build(&options, error), 0);
	ck_assert_uint_eq(means.window_count, 4);
	ck_assert_uint_eq(means.given_count, 4);
	char *text = print(EMIT_TEXT);
	expect(text, "4 windows, 75.0 ms in all; the answers of 0 are withheld.");
	expect(text, "3       37.5%");
	free(text);
	text = print(EMIT_JSON);
	expect(text, "\"windows\": 3,\"saved_percent\": 37.5");
	free(text);
	window_means_free(&means);
}
END_TEST

START_TEST(a_window_that_cannot_be_read_is_named)
{
	char error[EACH_WINDOW_ERROR_BYTES];
	struct options options = window_options(2);
	window_file(0, 7, 0, 10, true);
	window_file(1, 7, 20, 30, true);
	FILE *file = fopen(window_paths[1], "a");
	fputs("{\"e\":\"op\",\"id\":\"x\"}\n", file);
	fclose(file);
	ck_assert_int_lt(build(&options, error), 0);
	expect(error, window_paths[1]);
}
END_TEST

SUITE()
{
	FIXTURE(window_files_begin, window_files_end);
	TEST(savings_are_means_over_windows);
	TEST(a_window_that_cannot_be_read_is_named);
}

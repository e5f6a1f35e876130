/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, a dump would be asked twice or never, or one bad dump would end all. */
#include "export/each.h"
#include "export/each_parts.h"

#include "report/window_files.h"
#include "suite.h"

static char *words[WINDOW_FILES + 2];
static char rows_path[128], question[64];

static void set_question(const char *text)
{
	snprintf(question, sizeof(question), "%s", text);
	words[0] = question;
}

static void setup(void)
{
	window_files_begin();
	snprintf(rows_path, sizeof(rows_path), "%s/rows", window_folder);
	for (int i = 0; i < WINDOW_FILES; i++)
		window_file(i, 7 + i, 0, 100, true);
	set_question("nanosleep*0.5");
	for (int i = 0; i < WINDOW_FILES; i++)
		words[1 + i] = window_paths[i];
}

static void teardown(void)
{
	unlink(rows_path);
	window_files_end();
}

/* All by default; some of the fields by the test. */
static struct options options_of(size_t dumps, size_t jobs)
{
	struct options options = window_options(1);
	options.each = true;
	options.jobs = jobs;
	options.output = rows_path;
	options.paths = words;
	options.path_count = 1 + dumps;
	return options;
}

static struct each_counts ask(size_t dumps, size_t jobs)
{
	char error[EACH_WINDOW_ERROR_BYTES];
	const struct options options = options_of(dumps, jobs);
	struct each_counts counts;
	ck_assert_msg(each_ask(&options, &counts, error) == 0, "%s", error);
	return counts;
}

static char *read_rows(void)
{
	static char text[1 << 16];
	FILE *file = fopen(rows_path, "r");
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	return text;
}

static size_t count(const char *text, const char *what)
{
	size_t times = 0;
	for (; (text = strstr(text, what)) != NULL; text++)
		times++;
	return times;
}

START_TEST(each_dump_has_a_row)
{
	ck_assert_uint_eq(ask(WINDOW_FILES, (size_t)_i).asked, WINDOW_FILES);
	const char *rows = read_rows();
	ck_assert_uint_eq(count(rows, "\n"), WINDOW_FILES);
	ck_assert_msg(count(rows, "\"answers\":\"given\"") == WINDOW_FILES, "%s", rows);
	for (int i = 0; i < WINDOW_FILES; i++)
		ck_assert_uint_eq(count(rows, window_paths[i]), 1);
}
END_TEST

START_TEST(a_file_goes_on_where_it_ended)
{
	ck_assert_uint_eq(ask(2, 1).asked, 2);
	/* the second row is cut off */
	char *rows = read_rows();
	long whole = strchr(rows, '\n') + 1 - rows;
	ck_assert_int_eq(truncate(rows_path, whole + 30), 0);
	struct each_counts counts = ask(3, 1);
	ck_assert_uint_eq(counts.skipped, 1);
	ck_assert_uint_eq(counts.asked, 2);
	ck_assert_uint_eq(count(read_rows(), "\n"), 3);
	ck_assert_uint_eq(ask(3, 2).skipped, 3);
	/* another question is another row */
	set_question("nanosleep*0.25");
	ck_assert_uint_eq(ask(3, 2).asked, 3);
	ck_assert_uint_eq(count(read_rows(), "\n"), 6);
}
END_TEST

START_TEST(a_bad_dump_is_a_row_that_says_so)
{
	FILE *file = fopen(window_paths[1], "a");
	fputs("{\"e\":\"op\",\"id\":\"x\"}\n", file);
	fclose(file);
	struct each_counts counts = ask(3, 2);
	ck_assert_uint_eq(counts.asked, 3);
	ck_assert_uint_eq(counts.failed, 1);
	const char *rows = read_rows();
	ck_assert_uint_eq(count(rows, "\"answers\":\"error\",\"why\":\""), 1);
	ck_assert_uint_eq(count(rows, "\"answers\":\"given\""), 2);
}
END_TEST

START_TEST(a_question_about_nothing_is_a_row_that_says_so)
{
	char error[EACH_WINDOW_ERROR_BYTES];
	struct options options = options_of(1, 1);
	struct each_counts counts;
	set_question("no such class*0.5");
	ck_assert_int_eq(each_ask(&options, &counts, error), 0);
	ck_assert_uint_eq(counts.failed, 1);
	ck_assert_ptr_nonnull(strstr(read_rows(), "no such class"));
}
END_TEST

START_TEST(what_cannot_be_written_is_an_error)
{
	char error[EACH_WINDOW_ERROR_BYTES];
	struct options options = options_of(1, 1);
	struct each_counts counts;
	options.output = _i ? "/dev/full" : "/nowhere/rows";
	ck_assert_int_lt(each_ask(&options, &counts, error), 0);
	ck_assert_ptr_nonnull(strstr(error, options.output));
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	LOOP(each_dump_has_a_row, 1, 4);
	TEST(a_file_goes_on_where_it_ended);
	TEST(a_bad_dump_is_a_row_that_says_so);
	TEST(a_question_about_nothing_is_a_row_that_says_so);
	LOOP(what_cannot_be_written_is_an_error, 0, 2);
}

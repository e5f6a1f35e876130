/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a report would be missing, come twice, or not where readers look for it.
 */
#include "report/reports.h"

#include <errno.h>
#include <unistd.h>

#include "sketch.h"
#include "suite.h"

/* The first table of each report in JSON, in the order of reports.def. */
static const char *const tables[] = {
	"\"answers\"",   "\"asked\"",          "\"what_if\"",     "\"curves\"",     "\"variation\"",
	"\"requests\"",  "\"request_parts\"",  "\"trace_parts\"", "\"tail_parts\"", "\"values\"",
	"\"classes\"",   "\"functions\"",      "\"waits\"",       "\"locks\"",      "\"threads\"",
	"\"processes\"", "\"blocking_chain\"", "\"coverage\"",    "\"dead_air\""
};

/* Those of --show. */
static const char *const names[] = {
#define REPORT(name, question) #name,
#include "report/reports.def"
};

static const struct {
	const char *show;
	enum emit_format format;
	bool has_top;
	const char *heads[4]; /* that are there */
	const char *missing;
} shown[] = {
	/* 0: the first screen */
	{ "",
	  EMIT_TEXT,
	  false,
	  { "Makespan", "What would a fix buy?", "... and 44 more",
	    "--all, or some by name (wcprof-analyze locks,waits DUMP): curves variation" },
	  "Where was the time spent?" },
	/* 1: more rows, if asked for */
	{ "",
	  EMIT_TEXT,
	  true,
	  { "What would a fix buy?", "... and 29 more" },
	  "Where was the time spent?" },
	/* 2 */ { "all", EMIT_TEXT, false, { "Makespan", "Where was the time spent?" }, "--all" },
	/* 3 */
	{ "classes,summary",
	  EMIT_TEXT,
	  false,
	  { "Makespan", "Where was the time spent?" },
	  "What would a fix buy?" },
	/* 4 */ { "classes", EMIT_TEXT, false, { "Where was the time spent?" }, "Makespan" },
	/* 5: JSON is whole */
	{ "",
	  EMIT_JSON,
	  false,
	  { "\"actual_makespan_ns\"", "\"what_if\"", "\"classes\"" },
	  "--all" },
};

/* A hundred classes, of which the first screen has five rows and a line that says so. */
START_TEST(the_first_screen_comes_first)
{
	struct sketch sketch;
	struct options options = { .factors = { { 0 }, 1 },
				   .class_regex = "",
				   .client = "",
				   .thread_glob = "",
				   .top = 20,
				   .has_top = shown[_i].has_top,
				   .show = shown[_i].show,
				   .model = "threads" };
	struct rec_process process = { .pid = 7, .op = 0 };
	struct analysis analysis;
	struct emit emit;
	char error[OPTIONS_ERROR_BYTES], *text = NULL;
	size_t length;
	sketch_begin(&sketch);
	sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 0, 1000);
	for (uint32_t i = 2; i < 50; i++)
		sketch_bare_op(&sketch, 0, KIND_CALL, i, i, i + 1);
	sketch.rec.processes = &process;
	sketch.rec.process_count = 1;
	char dump[] = "dump", *paths[] = { dump };
	options.paths = paths;
	options.path_count = 1;
	ck_assert_int_eq(reports_choose(&options, error), 0);
	ck_assert_int_eq(analysis_build(&analysis, &sketch.rec, &options, NULL, error), 0);
	FILE *file = open_memstream(&text, &length);
	emit_begin(&emit, file, shown[_i].format, 0, false);
	reports_print_shown(&analysis, &emit);
	emit_end(&emit);
	fclose(file);
	for (int i = 0; i < 4 && shown[_i].heads[i]; i++)
		ck_assert_msg(strstr(text, shown[_i].heads[i]) != NULL, "no %s in %s",
			      shown[_i].heads[i], text);
	ck_assert_msg(!strstr(text, shown[_i].missing), "%s in %s", shown[_i].missing, text);
	size_t lines = 0;
	for (const char *at = text; (at = strchr(at, '\n')); at++)
		lines++;
	if (_i == 0)
		ck_assert_uint_le(lines, 24);
	free(text);
	analysis_free(&analysis);
	sketch_free(&sketch);
}
END_TEST

static const struct {
	const char *show;
	bool is_all;
	const char *first;    /* argument; the other one is "dump" */
	const char *expected; /* --show then; NULL = refused */
	const char *said;     /* if so */
	size_t path_count;
} choices[] = {
	/* 0 */ { "", false, "other", "", NULL, 2 },
	/* 1 */ { "", false, "locks", "locks", NULL, 1 },
	/* 2 */ { "", false, "locks,waits", "locks,waits", NULL, 1 },
	/* 3 */ { "", false, "all", "all", NULL, 1 },
	/* 4 */ { "", true, "other", "all", NULL, 2 },
	/* 5: of which one is none */ { "", false, "locks,weights", "", NULL, 2 },
	/* 6: --show has been given */ { "waits", false, "locks", "waits", NULL, 2 },
	/* 7 */ { "", false, "", "", NULL, 2 },
	/* 8 */
	{ "classes,klasses", false, "other", NULL,
	  "--show: \"klasses\" is none of all, summary, asked, whatif", 2 },
	/* 9 */ { "lock", false, "other", NULL, "deadair; give some of them", 2 },
};

START_TEST(reports_are_named_by_an_option_or_before_the_dump)
{
	char dump[] = "dump", *paths[] = { strdup(choices[_i].first), dump };
	struct options options = { .show = choices[_i].show,
				   .tail = "",
				   .all = choices[_i].is_all,
				   .paths = paths,
				   .path_count = 2 };
	char error[OPTIONS_ERROR_BYTES];
	int status = reports_choose(&options, error);
	ck_assert_int_eq(status, choices[_i].expected ? 0 : -EINVAL);
	if (choices[_i].expected)
		ck_assert_str_eq(options.show, choices[_i].expected);
	else
		ck_assert_msg(strstr(error, choices[_i].said) != NULL, "%s", error);
	ck_assert_uint_eq(options.path_count, choices[_i].path_count);
	free(paths[0]);
}
END_TEST

START_TEST(a_file_called_like_a_report_is_a_dump)
{
	char directory[] = "/tmp/wcprof-test.XXXXXX", locks[] = "locks", *paths[] = { locks };
	struct options options = { .show = "", .tail = "", .paths = paths, .path_count = 1 };
	char error[OPTIONS_ERROR_BYTES];
	ck_assert_ptr_nonnull(mkdtemp(directory));
	ck_assert_int_eq(chdir(directory), 0);
	fclose(fopen("locks", "w"));
	ck_assert_int_eq(reports_choose(&options, error), 0);
	ck_assert_uint_eq(options.path_count, 1);
	ck_assert_int_eq(unlink("locks"), 0);
	ck_assert_int_eq(rmdir(directory), 0);
}
END_TEST

START_TEST(a_report_of_nothing_is_refused)
{
	char locks[] = "locks", *paths[] = { locks };
	struct options options = { .show = "", .tail = "", .paths = paths, .path_count = 1 };
	char error[OPTIONS_ERROR_BYTES];
	ck_assert_int_eq(reports_choose(&options, error), -EINVAL);
	ck_assert_ptr_nonnull(strstr(error, "no dump given after \"locks\""));
}
END_TEST

START_TEST(a_tail_is_a_report_of_its_own)
{
	char dump[] = "dump", *paths[] = { dump };
	struct options options = { .show = "", .tail = "99", .paths = paths, .path_count = 1 };
	char error[OPTIONS_ERROR_BYTES];
	ck_assert_int_eq(reports_choose(&options, error), 0);
	ck_assert_str_eq(options.show, "tail");
	options.show = "locks";
	ck_assert_int_eq(reports_choose(&options, error), 0);
	ck_assert_str_eq(options.show, "locks");
	options.tail = "120";
	ck_assert_int_eq(reports_choose(&options, error), -EINVAL);
	ck_assert_ptr_nonnull(strstr(error, "--tail: \"120\" is no percentile"));
}
END_TEST

START_TEST(reports_come_in_order)
{
	struct sketch sketch;
	const struct options options = { .factors = { { 0 }, 1 },
					 .class_regex = "",
					 .client = "",
					 .thread_glob = "",
					 .model = "threads" };
	struct rec_process process = { .pid = 7, .op = 0 };
	struct analysis analysis;
	struct emit emit;
	char error[OPTIONS_ERROR_BYTES], *text = NULL;
	size_t length, last = 0;
	sketch_begin(&sketch);
	sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 0, 1000);
	sketch.rec.processes = &process;
	sketch.rec.process_count = 1;
	ck_assert_int_eq(analysis_build(&analysis, &sketch.rec, &options, NULL, error), 0);
	FILE *file = open_memstream(&text, &length);
	emit_begin(&emit, file, EMIT_JSON, 0, false);
	reports_print(&analysis, &emit);
	emit_end(&emit);
	fclose(file);
	ck_assert_uint_eq(sizeof(tables) / sizeof(tables[0]), sizeof(names) / sizeof(names[0]));
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		const char *found = strstr(text, tables[i]);
		ck_assert_msg(found != NULL, "%s: no %s", names[i], tables[i]);
		ck_assert_msg((size_t)(found - text) > last, "%s comes too early", names[i]);
		ck_assert_msg(!strstr(found + 1, tables[i]), "%s comes twice", names[i]);
		last = (size_t)(found - text);
	}
	free(text);
	analysis_free(&analysis);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(the_first_screen_comes_first, shown);
	EACH(reports_are_named_by_an_option_or_before_the_dump, choices);
	TEST(a_file_called_like_a_report_is_a_dump);
	TEST(a_report_of_nothing_is_refused);
	TEST(a_tail_is_a_report_of_its_own);
	TEST(reports_come_in_order);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a report would be missing, come twice, or not where readers look for it.
 */
#include "report/reports.h"

#include <errno.h>

#include "sketch.h"
#include "suite.h"

/* The first table of each report in JSON, in the order of reports.def. */
static const char *const tables[] = { "\"answers\"",        "\"asked\"",     "\"what_if\"",
				      "\"curves\"",         "\"variation\"", "\"requests\"",
				      "\"classes\"",        "\"functions\"", "\"waits\"",
				      "\"locks\"",          "\"threads\"",   "\"processes\"",
				      "\"blocking_chain\"", "\"coverage\"",  "\"dead_air\"" };

/* Those of --show. */
static const char *const names[] = {
#define REPORT(name, question) #name,
#include "report/reports.def"
};

static const struct {
	const char *show;
	bool is_terminal;
	bool has_top;
	const char *heads[4]; /* that are there */
	const char *missing;
} shown[] = {
	/* 0 */ { "",
		  false,
		  false,
		  { "Makespan", "What would a fix buy?", "Where was the time spent?" },
		  "--show all" },
	/* 1 */
	{ "",
	  true,
	  false,
	  { "Makespan", "What would a fix buy?", "... and 44 more",
	    "--show all, or with commas between: curves variation" },
	  "Where was the time spent?" },
	/* 2: more rows, if asked for */
	{ "",
	  true,
	  true,
	  { "What would a fix buy?", "... and 29 more" },
	  "Where was the time spent?" },
	/* 3 */ { "all", true, false, { "Makespan", "Where was the time spent?" }, "--show all" },
	/* 4 */
	{ "classes,summary",
	  true,
	  false,
	  { "Makespan", "Where was the time spent?" },
	  "What would a fix buy?" },
	/* 5 */ { "classes", false, false, { "Where was the time spent?" }, "Makespan" },
};

/* A hundred classes, of which a terminal gets five rows and a line that says so. */
START_TEST(a_terminal_gets_the_first_screen)
{
	struct sketch sketch;
	const struct options options = { .factors = { { 0 }, 1 },
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
	ck_assert_int_eq(reports_check(&options, error), 0);
	ck_assert_int_eq(analysis_build(&analysis, &sketch.rec, &options, NULL, error), 0);
	FILE *file = open_memstream(&text, &length);
	emit_begin(&emit, file, EMIT_TEXT, 0, false);
	reports_print_shown(&analysis, &emit, shown[_i].is_terminal);
	emit_end(&emit);
	fclose(file);
	for (int i = 0; i < 4 && shown[_i].heads[i]; i++)
		ck_assert_msg(strstr(text, shown[_i].heads[i]) != NULL, "no %s in %s",
			      shown[_i].heads[i], text);
	ck_assert_msg(!strstr(text, shown[_i].missing), "%s in %s", shown[_i].missing, text);
	size_t lines = 0;
	for (const char *at = text; (at = strchr(at, '\n')); at++)
		lines++;
	if (shown[_i].is_terminal && !shown[_i].show[0] && !shown[_i].has_top)
		ck_assert_uint_le(lines, 24);
	free(text);
	analysis_free(&analysis);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_word_that_is_none_is_refused)
{
	const struct options options = { .show = "classes,klasses" };
	char error[OPTIONS_ERROR_BYTES];
	ck_assert_int_eq(reports_check(&options, error), -EINVAL);
	ck_assert_msg(strstr(error, "--show: \"klasses\" is none of all, summary, asked, whatif") &&
			      strstr(error, "deadair; give some of them"),
		      "%s", error);
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
	EACH(a_terminal_gets_the_first_screen, shown);
	TEST(a_word_that_is_none_is_refused);
	TEST(reports_come_in_order);
}

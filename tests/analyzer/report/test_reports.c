/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a report would be missing, come twice, or not where readers look for it.
 */
#include "report/reports.h"

#include "sketch.h"
#include "suite.h"

/* The first table of each report in JSON, in the order of reports.def. */
static const char *const tables[] = { "\"answers\"",        "\"asked\"",     "\"what_if\"",
				      "\"curves\"",         "\"variation\"", "\"requests\"",
				      "\"classes\"",        "\"functions\"", "\"waits\"",
				      "\"locks\"",          "\"threads\"",   "\"processes\"",
				      "\"blocking_chain\"", "\"coverage\"",  "\"dead_air\"" };

static const char *const names[] = {
#define REPORT(name, question) #name,
#include "report/reports.def"
};

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
	TEST(reports_come_in_order);
}

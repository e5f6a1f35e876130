/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, the whole analysis would give wrong answers on dumps whose answers are known.
 * tests/golden/NAME.jsonl is analyzed and NAME.expected.json has the figures, to the nanosecond.
 *
 * Run from the top of the tree, or with WCPROF_GOLDEN naming the folder.
 */
#include <glob.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/emit.h"
#include "read/read.h"
#include "report/analysis.h"
#include "report/reports.h"
#include "suite.h"

static const char *const golden_names[] = {
	/*  0 */ "g11", /* 1 */ "g12", /* 2 */ "g13", /* 3 */ "g14", /* 4 */ "g15",
	/*  5 */ "g16", /* 6 */ "g17", /* 7 */ "g18", /* 8 */ "g19", /* 9 */ "g20",
};

enum { GOLDEN_COUNT = sizeof(golden_names) / sizeof(golden_names[0]) };

static char *golden_path(const char *name, const char *suffix)
{
	const char *folder = getenv("WCPROF_GOLDEN");
	char *path = NULL;
	ck_assert(asprintf(&path, "%s/%s%s", folder ? folder : "tests/golden", name, suffix) > 0);
	return path;
}

/* The JSON report of a dump, parsed. */
static json_t *analyze(const char *path)
{
	const char *words[] = { "wcprof-analyze", "--json", "--factors", "0,0.5,0.9",
				"--min-self",     "0",      "--top",     "1000",
				"--dead-air-min", "1ms",    path };
	enum { WORD_COUNT = sizeof(words) / sizeof(words[0]) };
	char *arguments[WORD_COUNT + 1] = { NULL };
	struct options options;
	struct recording recording = { 0 };
	struct read_error read_error = { 0 };
	struct analysis analysis;
	struct emit emit;
	char error[OPTIONS_ERROR_BYTES], *text = NULL;
	size_t length = 0;
	for (size_t i = 0; i < WORD_COUNT; i++)
		arguments[i] = strdup(words[i]);
	ck_assert_int_eq(options_parse(&options, WORD_COUNT, arguments, error), 0);
	ck_assert_int_eq(
		recording_read(&recording, options.paths, options.path_count, &read_error, NULL),
		0);
	ck_assert_int_eq(analysis_build(&analysis, &recording, &options, NULL, error), 0);
	ck_assert(graph_is_valid(&analysis.graph));
	FILE *file = open_memstream(&text, &length);
	emit_begin(&emit, file, EMIT_JSON, 0, false);
	reports_print(&analysis, &emit);
	emit_end(&emit);
	fclose(file);
	analysis_free(&analysis);
	recording_free(&recording);
	for (size_t i = 0; i < WORD_COUNT; i++)
		free(arguments[i]);
	json_t *report = json_loadb(text, length, 0, NULL);
	ck_assert_msg(report != NULL, "the report is no JSON");
	free(text);
	return report;
}

static bool same_class(const json_t *a, const json_t *b)
{
	return json_equal(json_object_get(a, "class"), json_object_get(b, "class")) &&
	       json_equal(json_object_get(a, "kind"), json_object_get(b, "kind"));
}

/* Every expected row is there, with every expected field. */
static void compare_rows(const char *name, const char *key, const json_t *expected,
			 const json_t *actual)
{
	size_t at, other;
	json_t *row, *candidate, *value;
	const char *field;
	ck_assert_uint_eq(json_array_size(actual), json_array_size(expected));
	json_array_foreach(expected, at, row)
	{
		const json_t *match = NULL;
		json_array_foreach(actual, other, candidate) if (same_class(row, candidate)) match =
			candidate;
		ck_assert_msg(match != NULL, "%s: %s[%zu] is missing", name, key, at);
		json_object_foreach(row, field, value)
			ck_assert_msg(json_equal(value, json_object_get(match, field)),
				      "%s: %s[%zu].%s differs", name, key, at, field);
	}
}

START_TEST(golden_dump_has_its_known_answers)
{
	const char *name = golden_names[_i], *key;
	char *dump = golden_path(name, ".jsonl"), *answers = golden_path(name, ".expected.json");
	json_t *expected = json_load_file(answers, 0, NULL), *actual = analyze(dump), *value;
	ck_assert_msg(expected != NULL, "no %s; run from the top of the tree", answers);
	json_object_foreach(expected, key, value)
	{
		const char *ours = strcmp(key, "dead_air_min_1ms") == 0 ? "dead_air" : key;
		const json_t *other = json_object_get(actual, ours);
		if (strcmp(key, "classes") == 0 || strcmp(key, "what_if") == 0)
			compare_rows(name, key, value, other);
		else
			ck_assert_msg(json_equal(value, other), "%s: %s differs", name, key);
	}
	json_decref(expected);
	json_decref(actual);
	free(dump);
	free(answers);
}
END_TEST

/* A golden dump that nobody compares would be no test. */
START_TEST(every_golden_dump_is_listed)
{
	char *pattern = golden_path("*", ".jsonl");
	glob_t found;
	ck_assert_int_eq(glob(pattern, 0, NULL, &found), 0);
	ck_assert_uint_eq(found.gl_pathc, GOLDEN_COUNT);
	globfree(&found);
	free(pattern);
}
END_TEST

SUITE()
{
	LOOP(golden_dump_has_its_known_answers, 0, GOLDEN_COUNT);
	TEST(every_golden_dump_is_listed);
}

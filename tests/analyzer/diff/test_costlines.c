/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a program that compares many recordings would have other figures than --diff.
 *
 * Run from the top of the tree, or with WCPROF_GOLDEN naming the folder.
 */
#include "diff/costlines.h"

#include <jansson.h>
#include <string.h>

#include "diff/costs.h"
#include "suite.h"

static struct options options;
static char error[SIDES_ERROR_BYTES];
static char *written;

/* Good for the next three calls. */
static const char *golden(const char *name)
{
	static char paths[4][500];
	static size_t next;
	const char *folder = getenv("WCPROF_GOLDEN");
	char *path = paths[next++ % 4];
	snprintf(path, sizeof(paths[0]), "%s/%s", folder ? folder : "tests/golden", name);
	return path;
}

static int write_lines(const char *first, const char *second)
{
	static const char *words[4];
	size_t length;
	const char *const given[] = { "wcprof-analyze", "--costs", first, second };
	memcpy(words, given, sizeof(words));
	ck_assert_int_eq(options_parse(&options, second ? 4 : 3, (char **)words, error), 0);
	FILE *file = open_memstream(&written, &length);
	int failed = cost_lines_write(file, &options, error);
	fclose(file);
	return failed;
}

static json_t *line_at(size_t number)
{
	const char *at = written;
	for (size_t i = 0; i < number; i++)
		at = strchr(at, '\n') + 1;
	json_t *line = json_loads(at, JSON_DISABLE_EOF_CHECK, NULL);
	ck_assert_msg(line != NULL, "no JSON: %.200s", at);
	return line;
}

static double number(const json_t *object, const char *key)
{
	ck_assert_msg(json_is_number(json_object_get(object, key)), "no number %s", key);
	return json_number_value(json_object_get(object, key));
}

static const char *text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static const json_t *class_of(const json_t *line, const char *kind, const char *name)
{
	size_t i;
	const json_t *class;
	json_array_foreach(json_object_get(line, "classes"), i,
			   class) if (strcmp(text(class, "kind"), kind) == 0 &&
				      strcmp(text(class, "class"), name) == 0) return class;
	ck_abort_msg("no %s %s", kind, name);
}

static double sum_of(const struct costs *costs, const struct cost_class *class, enum cost_part part)
{
	double sum = 0;
	for (size_t i = 0; i < costs->stretch_count; i++)
		sum += cost_amounts(costs, class, part)[i];
	return sum;
}

START_TEST(figures_are_those_of_the_costs)
{
	char *path = strdup(golden("diff-old.wcprof.zst"));
	const struct side_recording from = { &path, 1 };
	struct side_analysis loaded;
	struct costs costs;
	double cpu_ns = 0;
	ck_assert_int_eq(write_lines(path, NULL), 0);
	json_t *line = line_at(0);
	ck_assert_int_eq(side_analyze(&loaded, &from, &options, false, error), 0);
	costs_build(&costs, &loaded.analysis, UNIT_REQUEST, NULL);
	ck_assert_str_eq(text(line, "unit"), "request");
	ck_assert_double_eq(number(line, "units"), (double)costs.request_count);
	ck_assert_double_eq(number(line, "makespan_ns"),
			    (double)loaded.analysis.actual_makespan_ns);
	ck_assert_double_le(number(line, "p50_ns"), number(line, "p99_ns"));
	for (size_t i = 0; i < costs.class_count; i++) {
		const struct cost_class *class = &costs.classes[i];
		if (class->is_path)
			continue;
		const json_t *row = class_of(line, class->kind, class->name);
		ck_assert_double_eq(number(row, "count"), sum_of(&costs, class, COST_COUNT));
		ck_assert_double_eq_tol(number(row, "time_ns"), sum_of(&costs, class, COST_TIME),
					1);
		ck_assert_double_eq_tol(number(row, "cpu_ns"), sum_of(&costs, class, COST_CPU), 1);
		if (!class->is_within)
			cpu_ns += sum_of(&costs, class, COST_CPU);
	}
	ck_assert_double_eq_tol(number(line, "cpu_ns"), cpu_ns, 1);
	json_decref(line);
	costs_free(&costs);
	side_analysis_free(&loaded);
	free(path);
	free(written);
}
END_TEST

START_TEST(each_recording_has_a_line)
{
	ck_assert_int_eq(write_lines(golden("g12.jsonl"), golden("diff-new.wcprof.zst")), 0);
	json_t *first = line_at(0), *second = line_at(1);
	ck_assert_str_eq(text(first, "dump"), golden("g12.jsonl"));
	ck_assert_str_eq(text(first, "unit"), "run");
	ck_assert_double_eq(number(first, "units"), 1);
	ck_assert(json_is_null(json_object_get(first, "p99_ns")));
	ck_assert_str_eq(text(second, "unit"), "request");
	ck_assert_str_ne(text(second, "request"), "");
	json_decref(first);
	json_decref(second);
	free(written);
}
END_TEST

START_TEST(what_cannot_be_read_is_an_error)
{
	ck_assert_int_lt(write_lines("/nowhere", NULL), 0);
	ck_assert_ptr_nonnull(strstr(error, "/nowhere"));
	free(written);
}
END_TEST

SUITE()
{
	TEST(figures_are_those_of_the_costs);
	TEST(each_recording_has_a_line);
	TEST(what_cannot_be_read_is_an_error);
}

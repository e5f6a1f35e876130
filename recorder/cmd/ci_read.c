/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what recordings cost: a line of wcprof-analyze --costs for each.
 *
 * Requests are the unit only if all runs have them: counts for each request and for each run do not
 * compare.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ci.h"
#include "client.h"
#include "grow.h"
#include "try_analysis.h"

static char *copy_string(const char *object, const char *key)
{
	size_t size = strlen(object) + 1;
	char *text = malloc(size);

	if (text && !client_string(object, key, text, size))
		text[0] = '\0';
	return text;
}

/* NAN: null, or not there. */
static double number(const char *object, const char *key)
{
	double value;

	return client_real(object, key, &value) ? value : NAN;
}

static bool take_class(const char *object, struct ci_class *class)
{
	char sort[8] = "";

	(void)client_string(object, "sort", sort, sizeof(sort));
	(void)client_string(object, "kind", class->kind, sizeof(class->kind));
	class->name = copy_string(object, "class");
	class->is_wait = strcmp(sort, "wait") == 0;
	class->count = number(object, "count");
	class->time_ns = number(object, "time_ns");
	class->blocked_ns = number(object, "blocked_ns");
	class->cpu_ns = number(object, "cpu_ns");
	class->queued_ns = number(object, "queued_ns");
	return class->name != NULL;
}

static bool take_classes(const char *line, struct ci_run *run)
{
	const char *array = client_array(line, "classes"), *at = array ? array + 1 : "";
	size_t room = 0;

	for (char *object; (object = client_next(&at)); free(object)) {
		void *grown =
			grow_for_one(run->classes, &room, run->class_count, sizeof(*run->classes));

		if (!grown)
			break;
		run->classes = grown;
		run->classes[run->class_count] = (struct ci_class){ 0 };
		if (!take_class(object, &run->classes[run->class_count]))
			break;
		run->class_count++;
	}
	return array && *at == ']';
}

static bool take_line(const char *line, struct ci_run *run)
{
	run->units = number(line, "units");
	run->dropped = number(line, "dropped");
	run->cpu_ns = number(line, "cpu_ns");
	run->makespan_ns = number(line, "makespan_ns");
	run->p50_ns = number(line, "p50_ns");
	run->p99_ns = number(line, "p99_ns");
	return run->units > 0 && take_classes(line, run);
}

static bool fail(struct ci_plan *plan, const char *why)
{
	snprintf(plan->why, sizeof(plan->why), "%s", why);
	return false;
}

/* The request of the first run is that of all; a run without has the run as its unit. */
static bool check_unit(struct ci_plan *plan, const char *line)
{
	struct ci_runs *runs = &plan->runs;
	char unit[16] = "", *request = copy_string(line, "request");
	bool is_same;

	(void)client_string(line, "unit", unit, sizeof(unit));
	if (!request)
		return fail(plan, "no memory");
	if (!runs->request) {
		runs->request = request;
		runs->are_requests = strcmp(unit, "request") == 0;
		return true;
	}
	is_same = strcmp(request, runs->request) == 0;
	if (!is_same)
		snprintf(plan->why, sizeof(plan->why),
			 "some runs have requests of `%.80s`, and others of `%.80s`",
			 runs->request[0] ? runs->request : "no kind",
			 request[0] ? request : "no kind");
	free(request);
	return is_same;
}

/* Lines come as the files were given: pair by pair, the old build first. */
static bool take_lines(struct ci_plan *plan, char *text, size_t pairs)
{
	char *line = text, *end;

	for (size_t i = 0; i < CI_SIDES * pairs; i++, line = end + 1) {
		end = strchr(line, '\n');
		if (!end)
			return fail(plan, "wcprof-analyze has not said what all recordings cost");
		*end = '\0';
		if (!check_unit(plan, line))
			return false;
		if (!take_line(line, &plan->runs.runs[i % CI_SIDES][i / CI_SIDES])) {
			snprintf(plan->why, sizeof(plan->why),
				 "what wcprof-analyze says of run %zu cannot be used",
				 i / CI_SIDES + 1);
			return false;
		}
	}
	return true;
}

static char *ask_costs(const char *directory, size_t pairs)
{
	size_t count = 3, used = CI_SIDES * pairs;
	char **words = calloc(count + used + 1, sizeof(*words));
	char(*paths)[CI_PATH_BYTES] = calloc(used, sizeof(*paths));
	char *text = NULL;
	int status;

	if (words && paths) {
		words[0] = (char *)"wcprof-analyze";
		words[1] = (char *)"--costs";
		words[2] = (char *)"--quiet";
		for (size_t i = 0; i < used; i++) {
			ci_pair_path(directory, (int)(i % CI_SIDES), i / CI_SIDES + 1, paths[i]);
			words[count++] = paths[i];
		}
		text = try_analysis_output(words, true, NULL, NULL, &status);
		if (text && status != 0) {
			free(text);
			text = NULL;
		}
	}
	free(words);
	free(paths);
	return text;
}

bool ci_read(struct ci_plan *plan, const char *directory, size_t pairs)
{
	struct ci_runs *runs = &plan->runs;
	char *text;
	bool is_read;

	ci_runs_free(runs);
	runs->pairs = pairs;
	for (int side = 0; side < CI_SIDES; side++)
		if (!(runs->runs[side] = calloc(pairs, sizeof(*runs->runs[side]))))
			return fail(plan, "no memory");
	text = ask_costs(directory, pairs);
	if (!text)
		return fail(plan, "wcprof-analyze could not read all recordings");
	is_read = take_lines(plan, text, pairs);
	free(text);
	return is_read;
}

char *ci_changes(const char *directory, bool is_json)
{
	char sides[CI_SIDES][CI_PATH_BYTES];
	char *words[] = { (char *)"wcprof-analyze",
			  (char *)"--diff",
			  (char *)"--quiet",
			  sides[CI_BASE],
			  sides[CI_NEW],
			  is_json ? (char *)"--json" : NULL,
			  NULL };
	int status;

	snprintf(sides[CI_BASE], CI_PATH_BYTES, "%s/base", directory);
	snprintf(sides[CI_NEW], CI_PATH_BYTES, "%s/new", directory);
	return try_analysis_output(words, true, NULL, NULL, &status);
}

void ci_runs_free(struct ci_runs *runs)
{
	for (int side = 0; side < CI_SIDES; side++) {
		for (size_t i = 0; runs->runs[side] && i < runs->pairs; i++) {
			struct ci_run *run = &runs->runs[side][i];

			for (size_t k = 0; k < run->class_count; k++)
				free(run->classes[k].name);
			free(run->classes);
		}
		free(runs->runs[side]);
	}
	free(runs->request);
	*runs = (struct ci_runs){ 0 };
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures of a run: by which name they are asked for, what they are, how they are called.
 *
 * A name is that of a class, or of a call ("fsync" is all calls of it), or a kind; "lock" is all
 * locks. Ops and waits may have one name: a lock's holds are counted, and its waits take time.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ci.h"

static bool is_one_of(const char *word, const char *const *words)
{
	while (*words && strcmp(*words, word) != 0)
		words++;
	return *words != NULL;
}

static bool is_call(const struct ci_class *class)
{
	static const char *const calls[] = { "io", "poll", "sleep", "dns", NULL };

	return is_one_of(class->kind, calls);
}

/* A wait for another thread: no op. */
static bool is_wait(const struct ci_class *class)
{
	return class->is_wait && !is_call(class);
}

bool ci_class_is_counted(const struct ci_class *class)
{
	static const char *const left_out[] = { "thread", "process", "func", NULL };

	return !is_wait(class) && !is_one_of(class->kind, left_out);
}

const char *ci_call_name(const char *class_name)
{
	const char *slash = strrchr(class_name, '/');

	return slash && slash[1] ? slash + 1 : class_name;
}

static bool has_name(const struct ci_class *class, const char *name)
{
	return strcmp(class->name, name) == 0 || strcmp(class->kind, name) == 0 ||
	       (is_call(class) && strcmp(ci_call_name(class->name), name) == 0) ||
	       (strcmp(name, "lock") == 0 && strcmp(class->kind, "hold") == 0);
}

/* --- Values ----------------------------------------------------------------------------------- */

static double amount(const struct ci_class *class, enum ci_what what)
{
	switch (what) {
	case CI_COUNT:
		return class->count;
	case CI_CPU:
		return class->cpu_ns;
	case CI_TIME:
		return class->time_ns;
	case CI_WAIT:
		return strcmp(class->kind, "hold") == 0 ? 0 : class->blocked_ns + class->queued_ns;
	case CI_MAKESPAN:
	case CI_P50:
	case CI_P99:
		break;
	}
	return NAN;
}

/* Time waited is that of waits, all else that of ops, if there are any of that name. */
static double named_sum(const struct ci_figure *figure, const struct ci_run *run)
{
	double sums[2] = { 0, 0 };
	bool are_there[2] = { false, false };
	bool wanted = figure->what == CI_WAIT;

	for (size_t i = 0; i < run->class_count; i++) {
		const struct ci_class *class = &run->classes[i];

		if (!has_name(class, figure->name))
			continue;
		sums[is_wait(class)] += amount(class, figure->what);
		are_there[is_wait(class)] = true;
	}
	return are_there[wanted] ? sums[wanted] : sums[!wanted];
}

double ci_figure_of(const struct ci_figure *figure, const struct ci_run *run)
{
	double units = figure->per == CI_PER_RUN ? 1 : run->units;

	switch (figure->what) {
	case CI_MAKESPAN:
		return run->makespan_ns;
	case CI_P50:
		return run->p50_ns;
	case CI_P99:
		return run->p99_ns;
	case CI_CPU:
	case CI_COUNT:
	case CI_WAIT:
	case CI_TIME:
		break;
	}
	return (figure->name ? named_sum(figure, run) : run->cpu_ns) / units;
}

bool ci_figure_is_seen(const struct ci_figure *figure, const struct ci_runs *runs)
{
	if (!figure->name)
		return true;
	for (int side = 0; side < CI_SIDES; side++)
		for (size_t i = 0; i < runs->pairs; i++)
			for (size_t k = 0; k < runs->runs[side][i].class_count; k++)
				if (has_name(&runs->runs[side][i].classes[k], figure->name))
					return true;
	return false;
}

bool ci_figure_is_time(const struct ci_figure *figure)
{
	return figure->what != CI_COUNT;
}

static int compare_values(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

double ci_median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare_values);
	return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* --- Names ------------------------------------------------------------------------------------ */

bool ci_figure_parse(const char *text, struct ci_figure *figure)
{
	static const struct {
		const char *word;
		enum ci_what what;
	} words[] = {
		{ "cpu", CI_CPU }, { "makespan", CI_MAKESPAN }, { "p50", CI_P50 }, { "p99", CI_P99 }
	};

	*figure = (struct ci_figure){ .what = CI_COUNT };
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		figure->what = words[i].what;
		if (strcmp(words[i].word, text) == 0)
			return true;
	}
	if (strncmp(text, "count:", 6) != 0 || !text[6])
		return false;
	figure->what = CI_COUNT;
	figure->name = strdup(text + 6);
	return figure->name != NULL;
}

void ci_figure_words(const struct ci_figure *figure, bool are_requests, char to[128])
{
	static const char *const whole[] = { [CI_CPU] = "CPU time",
					     [CI_MAKESPAN] = "time of the run",
					     [CI_P50] = "median request",
					     [CI_P99] = "99th percentile of requests" };
	static const char *const named[] = { [CI_COUNT] = "number of",
					     [CI_CPU] = "CPU time of",
					     [CI_WAIT] = "waiting for",
					     [CI_TIME] = "time in" };
	const char *unit = are_requests && figure->per != CI_PER_RUN ? " per request" : " per run";

	if (figure->what == CI_MAKESPAN || figure->what == CI_P50 || figure->what == CI_P99)
		snprintf(to, 128, "%s", whole[figure->what]);
	else if (!figure->name)
		snprintf(to, 128, "%s%s", whole[figure->what], unit);
	else
		snprintf(to, 128, "%s %.60s%s", named[figure->what], figure->name, unit);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Budgets: limits of the new build, a line each.
 *
 *   # a comment
 *   table_lock.wait_per_request < 50us
 *   fsync.count_per_request <= 1
 *   requests.p99 < 5ms
 *   rename.count_per_run <= 3 optional
 *
 * A line holds if every run keeps it, and is broken if none does. In between signed ranks say
 * whether runs lie on one side of the limit by more than chance. A name that no run has is a
 * misspelling, unless the line says that it is optional.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ci.h"
#include "cmd.h"

enum { LINE_BYTES = 1024, LIMITS_MAX = 1000 };

static const double CHANCE_MOST = 0.05;

struct place {
	const char *path;
	size_t line;
};

static bool refuse(const struct place *at, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static bool refuse(const struct place *at, const char *format, ...)
{
	char what[2 * LINE_BYTES];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	cmd_fail("%s:%zu: %s", at->path, at->line, what);
	return false;
}

/* --- The parts of a line ---------------------------------------------------------------------- */

static char *trim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	while (isspace((unsigned char)*text))
		text++;
	return text;
}

/* "wait_per_request" and the like. */
static bool take_named(const char *word, struct ci_figure *figure)
{
	static const char *const words[] = {
		[CI_COUNT] = "count", [CI_CPU] = "cpu", [CI_WAIT] = "wait", [CI_TIME] = "time"
	};
	const char *per = strstr(word, "_per_");

	if (!per || (strcmp(per, "_per_request") != 0 && strcmp(per, "_per_run") != 0))
		return false;
	figure->per = strcmp(per, "_per_run") == 0 ? CI_PER_RUN : CI_PER_REQUEST;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!words[i] || strlen(words[i]) != (size_t)(per - word) ||
		    strncmp(words[i], word, (size_t)(per - word)) != 0)
			continue;
		figure->what = (enum ci_what)i;
		return true;
	}
	return false;
}

/* A figure of all requests, or of the run. False: it is none. */
static bool take_whole(const char *subject, const char *word, struct ci_figure *figure)
{
	static const struct {
		const char *subject;
		const char *word;
		struct ci_figure figure;
	} wholes[] = { { "requests", "p50", { CI_P50, CI_PER_REQUEST, NULL } },
		       { "requests", "p99", { CI_P99, CI_PER_REQUEST, NULL } },
		       { "requests", "cpu", { CI_CPU, CI_PER_REQUEST, NULL } },
		       { "run", "makespan", { CI_MAKESPAN, CI_PER_RUN, NULL } },
		       { "run", "cpu", { CI_CPU, CI_PER_RUN, NULL } } };

	for (size_t i = 0; i < sizeof(wholes) / sizeof(wholes[0]); i++) {
		if (strcmp(wholes[i].subject, subject) != 0 || strcmp(wholes[i].word, word) != 0)
			continue;
		*figure = wholes[i].figure;
		return true;
	}
	return false;
}

static bool take_figure(const struct place *at, char *text, struct ci_limit *limit)
{
	char *dot = strrchr(text, '.');

	if (!dot || dot == text || !dot[1])
		return refuse(at, "\"%s\" is no NAME.FIGURE, as fsync.count_per_request", text);
	*dot = '\0';
	if (take_whole(text, dot + 1, &limit->figure))
		return true;
	if (strcmp(text, "requests") == 0)
		return refuse(at, "requests have no \"%s\"; give p50, p99 or cpu", dot + 1);
	if (strcmp(text, "run") == 0)
		return refuse(at, "a run has no \"%s\"; give makespan or cpu", dot + 1);
	if (!take_named(dot + 1, &limit->figure))
		return refuse(at,
			      "\"%s\" is no figure; give count, wait, time or cpu with "
			      "_per_request or _per_run",
			      dot + 1);
	limit->figure.name = strdup(text);
	return limit->figure.name != NULL;
}

static bool take_unit(const char *unit, double *factor)
{
	static const struct {
		const char *word;
		double factor;
	} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		*factor = units[i].factor;
		if (strcmp(units[i].word, unit) == 0)
			return true;
	}
	return false;
}

static bool take_value(const struct place *at, char *text, struct ci_limit *limit)
{
	double factor = 1;
	char *unit;

	if (!isdigit((unsigned char)text[0]) && text[0] != '.')
		return refuse(at, "\"%s\" is no number", text);
	limit->value = strtod(text, &unit);
	unit = trim(unit);
	if (!ci_figure_is_time(&limit->figure) && *unit)
		return refuse(at, "a count has no unit, and \"%s\" is one", unit);
	if (ci_figure_is_time(&limit->figure) && !take_unit(unit, &factor))
		return refuse(at, "a time needs one of ns, us, ms, s, and has \"%s\"", unit);
	limit->value *= factor;
	return isfinite(limit->value) || refuse(at, "\"%s\" is no number", text);
}

/* Cuts the word off the end, if it is there. */
static bool take_optional(char *text)
{
	static const char word[] = "optional";
	size_t length = strlen(text), bytes = sizeof(word) - 1;

	if (length <= bytes || strcmp(text + length - bytes, word) != 0 ||
	    !isspace((unsigned char)text[length - bytes - 1]))
		return false;
	text[length - bytes] = '\0';
	trim(text);
	return true;
}

/* --- The file --------------------------------------------------------------------------------- */

static bool take_limit(const struct place *at, char *text, struct ci_limit *limit)
{
	char *sign = text + strcspn(text, "<>"), *value = sign + 1;

	limit->text = strdup(text);
	limit->line = at->line;
	if (!limit->text)
		return refuse(at, "no memory");
	limit->is_optional = take_optional(text);
	if (!*sign)
		return refuse(at, "\"%s\" has no <, <=, > or >=", text);
	limit->is_less = *sign == '<';
	limit->may_equal = *value == '=';
	value += limit->may_equal;
	*sign = '\0';
	return take_figure(at, trim(text), limit) && take_value(at, trim(value), limit);
}

static bool take_line(struct ci_plan *plan, const struct place *at, char *text)
{
	struct ci_limit limit = { 0 };
	void *grown;
	bool is_taken;

	text[strcspn(text, "#")] = '\0';
	text = trim(text);
	if (!*text)
		return true;
	if (plan->limit_count == LIMITS_MAX)
		return refuse(at, "there are too many lines");
	grown = realloc(plan->limits, (plan->limit_count + 1) * sizeof(*plan->limits));
	if (!grown)
		return refuse(at, "no memory");
	plan->limits = grown;
	is_taken = take_limit(at, text, &limit);
	plan->limits[plan->limit_count++] = limit;
	return is_taken;
}

bool ci_budget_read(struct ci_plan *plan, const char *path)
{
	struct place at = { .path = path };
	char text[LINE_BYTES];
	FILE *file = fopen(path, "re");
	bool is_read = true;

	if (!file) {
		cmd_fail("%s: %s", path, strerror(errno));
		return false;
	}
	plan->budget = path;
	while (is_read && fgets(text, sizeof(text), file)) {
		at.line++;
		is_read = strchr(text, '\n') || feof(file) ? take_line(plan, &at, text)
							   : refuse(&at, "the line is too long");
	}
	if (is_read && ferror(file))
		is_read = cmd_fail("%s: %s", path, strerror(errno)) == CMD_DONE;
	fclose(file);
	return is_read;
}

/* --- Judging ---------------------------------------------------------------------------------- */

static bool keeps(const struct ci_limit *limit, double value)
{
	if (value == limit->value)
		return limit->may_equal;
	return limit->is_less == (value < limit->value);
}

static void untold(struct ci_limit *limit, const char *why)
{
	limit->state = CI_GATE_UNTOLD;
	snprintf(limit->why, sizeof(limit->why), "%s", why);
}

/* Some runs keep it, and others do not. */
static void judge_mixed(struct ci_limit *limit, const double *values, size_t count)
{
	double over[SIGNED_RANK_PAIRS_MAX], under[SIGNED_RANK_PAIRS_MAX];
	struct signed_rank above, below;

	for (size_t i = 0; i < count; i++) {
		over[i] = values[i] - limit->value;
		under[i] = -over[i];
	}
	if (!signed_rank_test(over, count, &above) || !signed_rank_test(under, count, &below)) {
		untold(limit, "no memory");
		return;
	}
	if ((limit->is_less ? below.p : above.p) <= CHANCE_MOST)
		limit->state = CI_GATE_PASSED;
	else if ((limit->is_less ? above.p : below.p) <= CHANCE_MOST)
		limit->state = CI_GATE_FAILED;
	else
		untold(limit, "some runs keep it, and others do not");
}

static void judge(struct ci_limit *limit, const struct ci_runs *runs)
{
	double values[SIGNED_RANK_PAIRS_MAX], sorted[SIGNED_RANK_PAIRS_MAX];
	size_t kept = 0;

	if (limit->figure.per == CI_PER_REQUEST && !runs->are_requests) {
		untold(limit, "the runs have no requests");
		return;
	}
	if (!limit->is_optional && !ci_figure_is_seen(&limit->figure, runs)) {
		untold(limit, "no run has a call, lock or class of that name (optional: it may be "
			      "absent)");
		return;
	}
	for (size_t i = 0; i < runs->pairs; i++) {
		values[i] = sorted[i] = ci_figure_of(&limit->figure, &runs->runs[CI_NEW][i]);
		if (isnan(values[i])) {
			untold(limit, "some runs do not have it");
			return;
		}
		kept += keeps(limit, values[i]);
	}
	limit->median = ci_median(sorted, runs->pairs);
	limit->least = sorted[0];
	limit->most = sorted[runs->pairs - 1];
	limit->state = kept == runs->pairs ? CI_GATE_PASSED : CI_GATE_FAILED;
	if (kept > 0 && kept < runs->pairs)
		judge_mixed(limit, values, runs->pairs);
}

void ci_budget_judge(struct ci_plan *plan)
{
	for (size_t i = 0; i < plan->limit_count; i++) {
		plan->limits[i].median = plan->limits[i].least = plan->limits[i].most = NAN;
		judge(&plan->limits[i], &plan->runs);
	}
}

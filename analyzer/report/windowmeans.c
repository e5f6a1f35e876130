/* SPDX-License-Identifier: Apache-2.0 */
/* Adds up over windows; windowmeans.h has the contract. */
#include "windowmeans.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis.h"
#include "base/bootstrap.h"
#include "base/memory.h"
#include "facts.h"
#include "report.h"
#include "verdict.h"

enum { WINDOWS_FOR_ERROR = 3 /* fewer do not show how much they differ */ };

static char *copy(const char *text)
{
	size_t bytes = strlen(text) + 1;
	return memcpy(memory_new(bytes, 1), text, bytes);
}

static struct mean_class *find_class(struct window_means *means, const char *name, const char *kind)
{
	for (size_t i = 0; i < means->class_count; i++)
		if (strcmp(means->classes[i].name, name) == 0 &&
		    strcmp(means->classes[i].kind, kind) == 0)
			return &means->classes[i];
	means->classes = memory_grow(means->classes, &means->class_room, means->class_count + 1,
				     sizeof(*means->classes));
	size_t factors = means->options->factors.count;
	struct mean_class *class = &means->classes[means->class_count++];
	*class = (struct mean_class){
		.name = copy(name),
		.kind = copy(kind),
		.saved_percent = memory_new(means->window_count * factors, sizeof(double)),
	};
	return class;
}

static void add_answers(struct window_means *means, const struct analysis *analysis)
{
	size_t factors = means->options->factors.count;
	double whole_ns = facts_recorded_ns(analysis);
	for (size_t i = 0; i < analysis->whatif.row_count; i++) {
		const struct whatif_row *row = &analysis->whatif.rows[i];
		struct mean_class *class = find_class(means, facts_class_name(analysis, row->class),
						      facts_class_kind(analysis, row->class));
		double *saved = class->saved_percent + means->given_count * factors;
		for (size_t f = 0; f < factors && whole_ns > 0; f++)
			saved[f] = 100 * row->estimates[f].saved_ns / whole_ns;
		class->window_count++;
	}
	means->drift_percent[means->given_count++] = facts_drift_percent(analysis);
}

static void add_window(void *context, const struct analysis *analysis)
{
	struct window_means *means = context;
	means->length_ns += (double)analysis->actual_makespan_ns;
	if (!analysis->checks.is_withheld)
		add_answers(means, analysis);
	else if (!means->cause)
		means->cause = copy(analysis->checks.rows[analysis->checks.gravest].line);
}

int window_means_build(struct window_means *means, const struct options *options,
		       const struct window_list *list, struct recording *recording,
		       char error[EACH_WINDOW_ERROR_BYTES])
{
	*means = (struct window_means){
		.options = options,
		.window_count = list->count,
		.drift_percent = memory_new(list->count, sizeof(*means->drift_percent)),
	};
	int failed = each_window(list, options, recording, add_window, means, error);
	if (failed)
		window_means_free(means);
	return failed;
}

/* --- Means ----------------------------------------------------------------------------------- */

struct column {
	const double *values; /* of the first window; of the next ones every `stride` */
	size_t stride;
	size_t count;
};

static void mean_of(void *context, const uint32_t *const *times, double *results)
{
	const struct column *column = context;
	double sum = 0;
	for (size_t i = 0; i < column->count; i++)
		sum += times[0][i] * column->values[i * column->stride];
	results[0] = sum / (double)column->count;
}

/* Of at least one window. */
static struct bootstrap_interval mean(const double *values, size_t stride, size_t count)
{
	struct column column = { values, stride, count };
	struct bootstrap_interval interval;
	const struct bootstrap bootstrap = {
		.unit_counts = { count },
		.group_count = 1,
		.result_count = 1,
		.statistic = mean_of,
		.context = &column,
	};
	bootstrap_run(&bootstrap, &interval);
	return interval;
}

struct ranked {
	const struct mean_class *class;
	double saved; /* at the factor by which they are ranked */
};

static int compare_ranked(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;
	return (a->saved < b->saved) - (a->saved > b->saved);
}

static struct ranked *rank(const struct window_means *means, size_t factor)
{
	size_t factors = means->options->factors.count;
	struct ranked *ranked = memory_new(means->class_count, sizeof(*ranked));
	for (size_t i = 0; i < means->class_count; i++) {
		const struct mean_class *class = &means->classes[i];
		ranked[i].class = class;
		for (size_t w = 0; w < means->given_count; w++)
			ranked[i].saved += class->saved_percent[w * factors + factor];
	}
	if (means->class_count)
		qsort(ranked, means->class_count, sizeof(*ranked), compare_ranked);
	return ranked;
}

/* --- Tables ---------------------------------------------------------------------------------- */

static void emit_mean(struct emit *emit, const struct bootstrap_interval *interval, bool is_ranged)
{
	char range[64] = "";
	if (emit->format == EMIT_JSON) {
		emit_cell_number(emit, interval->value);
		emit_cell_number(emit, interval->least);
		emit_cell_number(emit, interval->most);
		return;
	}
	if (is_ranged)
		snprintf(range, sizeof(range), "%+.1f to %+.1f%%", interval->least, interval->most);
	emit_cell_percent(emit, interval->value);
	emit_cell_text(emit, range);
}

static void print_classes(const struct window_means *means, size_t factor, struct emit *emit)
{
	const bool is_json = emit->format == EMIT_JSON;
	const size_t factors = means->options->factors.count, columns_of_mean = is_json ? 3 : 2;
	char head[REPORT_TIMES_BYTES];
	snprintf(head, sizeof(head), "saved x%g", means->options->factors.factors[factor]);
	const struct emit_column columns[] = {
		{ .key = "class", .head = "class", .is_flexible = true },
		{ .key = "kind", .head = "kind" },
		{ .key = "windows", .head = "windows", .align = EMIT_RIGHT, .yields = 1 },
		{ .key = "saved_percent", .head = head, .align = EMIT_RIGHT },
		{ .key = "saved_least_percent", .head = "of the mean, 95%" },
		{ .key = "saved_most_percent" },
	};
	struct ranked *ranked = rank(means, factor);
	emit_heading(emit, "What would a fix buy, on average over windows?");
	emit_table_begin(emit, "what_if", EMIT_OBJECTS, columns, 3 + columns_of_mean);
	for (size_t i = 0; i < means->class_count && i < means->options->top; i++) {
		const struct mean_class *class = ranked[i].class;
		struct bootstrap_interval interval =
			mean(class->saved_percent + factor, factors, means->given_count);
		emit_row_begin(emit);
		emit_cell_text(emit, class->name);
		emit_cell_text(emit, class->kind);
		emit_cell_count(emit, class->window_count);
		emit_mean(emit, &interval, means->given_count >= WINDOWS_FOR_ERROR);
		emit_row_end(emit);
	}
	emit_table_end(emit);
	free(ranked);
}

/* JSON only: of each window with answers. */
static void print_drifts(const struct window_means *means, struct emit *emit)
{
	static const struct emit_column columns[] = { { .key = "drift_percent" } };
	emit_table_begin(emit, "drifts_percent", EMIT_VALUES, columns, 1);
	for (size_t i = 0; i < means->given_count; i++) {
		emit_row_begin(emit);
		emit_cell_number(emit, means->drift_percent[i]);
		emit_row_end(emit);
	}
	emit_table_end(emit);
}

static double worst(const struct window_means *means)
{
	double worst = 0;
	for (size_t i = 0; i < means->given_count; i++)
		if (fabs(means->drift_percent[i]) > fabs(worst))
			worst = means->drift_percent[i];
	return worst;
}

void window_means_print(const struct window_means *means, struct emit *emit)
{
	char length[EMIT_DURATION_BYTES];
	emit_format_duration(length, means->length_ns);
	emit_count(emit, "windows", NULL, means->window_count);
	emit_count(emit, "windows_given", NULL, means->given_count);
	emit_ns(emit, "windows_ns", NULL, means->length_ns);
	emit_line(emit, "%zu windows, %s in all; the answers of %zu are withheld.",
		  means->window_count, length, means->window_count - means->given_count);
	if (means->cause) {
		emit_text(emit, "withheld_cause", NULL, means->cause);
		emit_line(emit, "The first of these: %s", means->cause);
	}
	if (means->given_count == 0)
		return;
	struct bootstrap_interval drift = mean(means->drift_percent, 1, means->given_count);
	emit_line(emit, "The replay of a window is off by %+.1f%% on average, by %+.1f%% at worst.",
		  drift.value, worst(means));
	if (emit->format == EMIT_JSON)
		print_drifts(means, emit);
	print_classes(means, report_sentence_factor(&means->options->factors), emit);
	emit_line(emit, "--window N has all about one of them (1 to %zu).", means->window_count);
}

void window_means_free(struct window_means *means)
{
	for (size_t i = 0; i < means->class_count; i++) {
		free(means->classes[i].name);
		free(means->classes[i].kind);
		free(means->classes[i].saved_percent);
	}
	free(means->classes);
	free(means->drift_percent);
	free(means->cause);
	*means = (struct window_means){ 0 };
}

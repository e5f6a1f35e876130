/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests the differences of costs; compare.h has the contract.
 *
 * One bootstrap draws stretches of both sides, and has the differences of all rows as results. A
 * row's error is the side of its interval that faces 0. Errors have a floor where there is one
 * recording of each: stretches of one run do not show how much runs differ.
 *
 * The chance of a row is that of the normal distribution with its error.
 */
#include "compare.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assumptions.h"
#include "base/bootstrap.h"
#include "base/memory.h"
#include "base/percentile.h"

enum { OLD, NEW, SIDES, HALVINGS = 100 };

static const double FALSE_SHARE = 0.05;    /* of what is found */
static const double DEVIATIONS = 1.959964; /* to either side of a value: 95% */
static const double WORTH_TELLING = 0.01;  /* of the time that a unit takes */

struct comparing {
	struct comparison *comparison;
	const struct costs *costs[SIDES];
	double worth_ns;
	size_t room;
	/* Rows that are drawn now. */
	size_t from, to;
};

const struct cost_class *difference_class(const struct difference *difference)
{
	return difference->new_class ? difference->new_class : difference->old_class;
}

/* --- values --- */

static const struct cost_class *class_of(const struct difference *row, int side)
{
	return side == OLD ? row->old_class : row->new_class;
}

static double weighted(const double *amounts, const uint32_t *times, size_t count)
{
	double sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += times[i] * amounts[i];
	return sum;
}

static enum cost_part part_of(enum diff_figure figure)
{
	if (figure == FIGURE_CLASS_USUAL)
		return COST_USUAL;
	return figure == FIGURE_CLASS_EACH ? COST_TIME
					   : (enum cost_part)(figure - FIGURE_CLASS_COUNT);
}

static bool is_of_one(enum diff_figure figure)
{
	return figure == FIGURE_CLASS_EACH || figure == FIGURE_CLASS_USUAL;
}

static double class_value(const struct costs *costs, const struct cost_class *class,
			  enum diff_figure figure, const uint32_t *times, double units)
{
	size_t count = costs->stretch_count;
	if (!class)
		return 0;
	enum cost_part part = part_of(figure);
	if (is_of_one(figure)) {
		enum cost_part of = part == COST_TIME ? COST_COUNT : COST_MEDIANS;
		units = weighted(cost_amounts(costs, class, of), times, count);
	}
	double sum = weighted(cost_amounts(costs, class, part), times, count);
	return units > 0 ? sum / units : 0;
}

static double cpu_value(const struct costs *costs, const uint32_t *times, double units)
{
	double sum = 0;
	for (size_t i = 0; i < costs->class_count; i++)
		sum += weighted(cost_amounts(costs, &costs->classes[i], COST_CPU), times,
				costs->stretch_count);
	return units > 0 ? sum / units : 0;
}

/* Mean, median, 95th and 99th percentile. One beyond all that finished is not known. */
static void request_values(const struct costs *costs, const uint32_t *times, double values[4])
{
	static const double percents[] = { 50, 95, 99 };
	uint32_t *drawn = memory_new(costs->request_count, sizeof(*drawn));
	bool *is_cut = memory_new(costs->request_count, sizeof(*is_cut));
	const struct percentile_list list = { costs->request_count, drawn, is_cut };
	size_t ranks[3];
	uint64_t weight = 0;
	double sum = 0;
	for (size_t i = 0; i < costs->request_count; i++) {
		drawn[i] = times[costs->requests[i].stretch];
		is_cut[i] = costs->requests[i].is_cut;
		weight += drawn[i];
		sum += drawn[i] * (double)costs->requests[i].taken_ns;
	}
	percentile_ranks(&list, percents, 3, ranks);
	values[FIGURE_MEAN] = weight ? sum / (double)weight : 0;
	for (size_t i = 0; i < 3; i++)
		values[FIGURE_P50 + i] = ranks[i] < costs->request_count
						 ? (double)costs->requests[ranks[i]].taken_ns
						 : NAN;
	free(drawn);
	free(is_cut);
}

/* A draw whose percentile is not known has the longest request for it. */
static double or_longest(const struct costs *costs, double ns)
{
	return isnan(ns) && costs->request_count > 0
		       ? (double)costs->requests[costs->request_count - 1].taken_ns
		       : ns;
}

/* Of all rows that are drawn, each of one side. */
static void side_values(const struct comparing *comparing, int side, const uint32_t *times,
			double *values)
{
	const struct comparison *comparison = comparing->comparison;
	const struct costs *costs = comparing->costs[side];
	double units = weighted(costs->units, times, costs->stretch_count), whole[4] = { 0 };
	bool has_whole = comparison->rows[comparing->from].figure < FIGURE_CPU;
	if (has_whole && costs->unit == UNIT_REQUEST)
		request_values(costs, times, whole);
	else if (has_whole)
		whole[FIGURE_MEAN] =
			weighted(costs->elapsed_ns, times, costs->stretch_count) / units;
	for (size_t i = comparing->from; i < comparing->to; i++) {
		const struct difference *row = &comparison->rows[i];
		values[i - comparing->from] = row->figure < FIGURE_CPU ? whole[row->figure]
					      : row->figure == FIGURE_CPU
						      ? cpu_value(costs, times, units)
						      : class_value(costs, class_of(row, side),
								    row->figure, times, units);
	}
}

/* --- which rows there are --- */

static void row_add(struct comparing *comparing, struct difference row)
{
	struct comparison *comparison = comparing->comparison;
	comparison->rows = memory_grow(comparison->rows, &comparing->room, comparison->count + 1,
				       sizeof(*comparison->rows));
	comparison->rows[comparison->count++] = row;
}

static double total_of(const struct costs *costs, const struct cost_class *class,
		       enum cost_part part)
{
	double sum = 0;
	for (size_t i = 0; class && i < costs->stretch_count; i++)
		sum += cost_amounts(costs, class, part)[i];
	return sum;
}

static double units_of(const struct costs *costs)
{
	double sum = 0;
	for (size_t i = 0; i < costs->stretch_count; i++)
		sum += costs->units[i];
	return sum;
}

/* Time that a unit takes: one part in a hundred of it is worth to be told. */
static double worth_ns(const struct costs *costs)
{
	double sum = 0;
	for (size_t i = 0; i < costs->request_count; i++)
		sum += (double)costs->requests[i].taken_ns;
	for (size_t i = 0; i < costs->stretch_count && costs->unit == UNIT_RUN; i++)
		sum += costs->elapsed_ns[i];
	return WORTH_TELLING * sum /
	       (costs->unit == UNIT_RUN ? units_of(costs) : fmax(1, (double)costs->request_count));
}

/* A part that is all of the time says nothing more than the time. */
static bool is_told_apart(const struct comparing *comparing, const struct difference *row)
{
	bool is_same = true, has_any = false;
	enum cost_part part = part_of(row->figure);
	if (is_of_one(row->figure)) {
		enum cost_part of = part == COST_TIME ? COST_COUNT : COST_MEDIANS;
		return row->old_class && row->new_class &&
		       total_of(comparing->costs[OLD], row->old_class, of) > 0 &&
		       total_of(comparing->costs[NEW], row->new_class, of) > 0;
	}
	for (int side = OLD; side < SIDES; side++) {
		const struct costs *costs = comparing->costs[side];
		double amount = total_of(costs, class_of(row, side), part);
		has_any = has_any || amount > 0;
		is_same = is_same && amount == total_of(costs, class_of(row, side), COST_TIME);
	}
	return has_any && (part == COST_TIME || !is_same);
}

static void class_add(struct comparing *comparing, const struct cost_class *old_class,
		      const struct cost_class *new_class)
{
	struct comparison *comparison = comparing->comparison;
	struct difference row = { .old_class = old_class, .new_class = new_class };
	double ns[SIDES];
	for (int side = OLD; side < SIDES; side++)
		ns[side] = total_of(comparing->costs[side], class_of(&row, side), COST_TIME) /
			   units_of(comparing->costs[side]);
	if (ns[OLD] < comparing->worth_ns && ns[NEW] < comparing->worth_ns) {
		bool is_within = difference_class(&row)->is_within;
		comparison->small_count++;
		comparison->small_old_ns += is_within ? 0 : ns[OLD];
		comparison->small_new_ns += is_within ? 0 : ns[NEW];
		return;
	}
	for (row.figure = FIGURE_CLASS_COUNT; row.figure < FIGURE_ALL; row.figure++)
		if (is_told_apart(comparing, &row))
			row_add(comparing, row);
}

static void rows_add(struct comparing *comparing)
{
	const struct costs *old_costs = comparing->costs[OLD], *new_costs = comparing->costs[NEW];
	bool has_requests = new_costs->unit == UNIT_REQUEST;
	for (enum diff_figure figure = FIGURE_MEAN; figure < FIGURES; figure++)
		if (has_requests || figure == FIGURE_MEAN || figure == FIGURE_CPU)
			row_add(comparing, (struct difference){ .figure = figure });
	comparing->comparison->whole_count = comparing->comparison->count;
	for (size_t i = 0; i < old_costs->class_count; i++) {
		const struct cost_class *class = &old_costs->classes[i];
		class_add(comparing, class,
			  costs_find(new_costs, class->kind, class->name, class->is_path));
	}
	for (size_t i = 0; i < new_costs->class_count; i++) {
		const struct cost_class *class = &new_costs->classes[i];
		if (!costs_find(old_costs, class->kind, class->name, class->is_path))
			class_add(comparing, NULL, class);
	}
}

/* --- which are more than chance --- */

static void differ(void *context, const uint32_t *const *times, double *results)
{
	const struct comparing *comparing = context;
	size_t count = comparing->to - comparing->from;
	double *old_values = memory_new(count, sizeof(*old_values));
	side_values(comparing, OLD, times[OLD], old_values);
	side_values(comparing, NEW, times[NEW], results);
	for (size_t i = 0; i < count; i++)
		results[i] = or_longest(comparing->costs[NEW], results[i]) -
			     or_longest(comparing->costs[OLD], old_values[i]);
	free(old_values);
}

static void values_fill(struct comparing *comparing)
{
	struct comparison *comparison = comparing->comparison;
	comparing->from = 0, comparing->to = comparison->count;
	for (int side = OLD; side < SIDES; side++) {
		size_t stretches = comparing->costs[side]->stretch_count;
		double *values = memory_new(comparison->count, sizeof(*values));
		uint32_t *times = memory_new(stretches, sizeof(*times));
		for (size_t i = 0; i < stretches; i++)
			times[i] = 1;
		side_values(comparing, side, times, values);
		for (size_t i = 0; i < comparison->count; i++)
			*(side == OLD ? &comparison->rows[i].old_value
				      : &comparison->rows[i].new_value) = values[i];
		free(times);
		free(values);
	}
}

/* The standard error of one run's value that no stretch of it shows. */
static double floor_of(const struct comparing *comparing, const struct difference *row)
{
	bool has_several = comparing->costs[OLD]->recordings > 1;
	return has_several ? 0 : assume.runs_vary * hypot(row->old_value, row->new_value);
}

static void interval_take(const struct comparing *comparing, struct difference *row,
			  const struct bootstrap_interval *interval)
{
	double floor_ns = DEVIATIONS * floor_of(comparing, row);
	if (isnan(row->old_value) || isnan(row->new_value)) {
		row->delta = row->least = row->most = NAN;
		row->chance = 1;
		return;
	}
	row->delta = interval->value;
	double below = hypot(row->delta - interval->least, floor_ns);
	double above = hypot(interval->most - row->delta, floor_ns);
	double facing = row->delta > 0 ? below : above;
	row->least = row->delta - below;
	row->most = row->delta + above;
	row->chance = facing > 0        ? erfc(DEVIATIONS * fabs(row->delta) / facing / M_SQRT2)
		      : row->delta != 0 ? 0
					: 1;
}

/* Rows [from, to). They rest on `few` requests, or on all stretches if that is 0. */
static void intervals_draw(struct comparing *comparing, size_t from, size_t to, size_t few)
{
	struct comparison *comparison = comparing->comparison;
	struct bootstrap_interval *intervals = memory_new(to - from, sizeof(*intervals));
	const struct bootstrap bootstrap = {
		.unit_counts = { comparing->costs[OLD]->stretch_count,
				 comparing->costs[NEW]->stretch_count },
		.group_count = SIDES,
		.few = few,
		.result_count = to - from,
		.statistic = differ,
		.context = comparing,
	};
	comparing->from = from, comparing->to = to;
	bootstrap_run(&bootstrap, intervals);
	for (size_t i = from; i < to; i++)
		interval_take(comparing, &comparison->rows[i], &intervals[i - from]);
	free(intervals);
}

/* A percentile rests on the requests above it, if these are fewer than the stretches. */
static size_t few_above(const struct comparing *comparing, unsigned percent)
{
	size_t old_count = comparing->costs[OLD]->request_count;
	size_t new_count = comparing->costs[NEW]->request_count;
	size_t above = (old_count < new_count ? old_count : new_count) * (100 - percent) / 100;
	size_t stretches = comparing->costs[OLD]->stretch_count;
	if (comparing->costs[NEW]->stretch_count < stretches)
		stretches = comparing->costs[NEW]->stretch_count;
	return above >= stretches ? 0 : above > 0 ? above : 1;
}

static void intervals_fill(struct comparing *comparing)
{
	size_t whole = comparing->comparison->whole_count;
	bool has_requests = comparing->costs[NEW]->unit == UNIT_REQUEST;
	size_t next = has_requests ? FIGURE_P95 : FIGURE_P50;
	intervals_draw(comparing, 0, next, 0);
	if (has_requests) {
		intervals_draw(comparing, FIGURE_P95, FIGURE_P99, few_above(comparing, 95));
		intervals_draw(comparing, FIGURE_P99, FIGURE_CPU, few_above(comparing, 99));
	}
	intervals_draw(comparing, whole - 1, comparing->comparison->count, 0);
}

/* Standard deviations to either side that leave this probability outside. */
static double deviations_of(double probability)
{
	double low = 0, high = 100;
	for (int i = 0; i < HALVINGS; i++) {
		double middle = (low + high) / 2;
		*(erfc(middle / M_SQRT2) > probability ? &low : &high) = middle;
	}
	return high;
}

static int compare_chances(const void *left, const void *right)
{
	const double *a = left, *b = right;
	return (*a > *b) - (*a < *b);
}

/* Time of one op, and number of ops per unit, of NEW or else of OLD. */
static double usual(const struct comparing *comparing, const struct difference *row,
		    enum cost_part part, bool is_per_op)
{
	int side = row->new_class ? NEW : OLD;
	const struct costs *costs = comparing->costs[side];
	double count = total_of(costs, class_of(row, side), COST_COUNT);
	double of = is_per_op ? count : units_of(costs);
	return of > 0 ? total_of(costs, class_of(row, side), part) / of : 0;
}

/* A difference of a number is worth as many ops, one of the length of ops as much for each. */
static bool is_worth_telling(const struct comparing *comparing, const struct difference *row)
{
	double ns = row->delta;
	if (row->figure == FIGURE_CLASS_COUNT)
		ns *= usual(comparing, row, COST_TIME, true);
	else if (is_of_one(row->figure))
		ns *= usual(comparing, row, COST_COUNT, false);
	return fabs(ns) >= comparing->worth_ns;
}

static void findings_mark(const struct comparing *comparing)
{
	struct comparison *comparison = comparing->comparison;
	size_t count = comparison->count;
	double *chances = memory_new(count, sizeof(*chances)), limit = -1;
	for (size_t i = 0; i < count; i++)
		chances[i] = comparison->rows[i].chance;
	qsort(chances, count, sizeof(*chances), compare_chances);
	for (size_t i = 0; i < count; i++)
		if (chances[i] <= FALSE_SHARE * (double)(i + 1) / (double)count)
			limit = FALSE_SHARE * (double)(i + 1) / (double)count;
	double wider = limit > 0 ? deviations_of(limit) / DEVIATIONS : 1;
	for (size_t i = 0; i < count; i++) {
		struct difference *row = &comparison->rows[i];
		row->is_found = row->chance <= limit && is_worth_telling(comparing, row);
		if (!row->is_found)
			continue;
		comparison->found_count++;
		row->least = row->delta - wider * (row->delta - row->least);
		row->most = row->delta + wider * (row->most - row->delta);
	}
	free(chances);
}

void comparison_build(struct comparison *comparison, const struct costs *old_costs,
		      const struct costs *new_costs)
{
	struct comparing comparing = { .comparison = comparison,
				       .costs = { old_costs, new_costs } };
	assert(old_costs->unit == new_costs->unit);
	assert((old_costs->recordings > 1) == (new_costs->recordings > 1));
	assert(old_costs->stretch_count > 0 && new_costs->stretch_count > 0);
	*comparison = (struct comparison){ .old_costs = old_costs, .new_costs = new_costs };
	comparing.worth_ns = fmin(worth_ns(old_costs), worth_ns(new_costs));
	rows_add(&comparing);
	values_fill(&comparing);
	intervals_fill(&comparing);
	findings_mark(&comparing);
}

void comparison_free(struct comparison *comparison)
{
	free(comparison->rows);
	*comparison = (struct comparison){ 0 };
}

/* --- worse or better --- */

bool comparison_is_worse(const struct comparison *comparison)
{
	int latency = 0, cpu = 0;
	double of_classes = 0, of_usual = 0;
	for (size_t i = 0; i < comparison->count; i++) {
		const struct difference *row = &comparison->rows[i];
		const struct cost_class *class = difference_class(row);
		int sign = row->is_found ? (row->delta > 0) - (row->delta < 0) : 0;
		bool is_work = class && !class->is_within && !class->is_wait;
		if (row->figure < FIGURE_CPU)
			latency = sign > 0 ? 1 : latency ? latency : sign;
		else if (row->figure == FIGURE_CPU)
			cpu = sign;
		else if (sign && row->figure == FIGURE_CLASS_TIME && is_work)
			of_classes += row->delta;
		else if (sign && row->figure == FIGURE_CLASS_USUAL && is_work)
			of_usual += row->delta;
	}
	if (of_classes == 0)
		of_classes = of_usual;
	return latency ? latency > 0 : cpu ? cpu > 0 : of_classes > 0;
}

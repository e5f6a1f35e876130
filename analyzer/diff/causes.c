/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts classes back to what they cost, by scalings of a replay; causes.h has the contract.
 */
#include "causes.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ask/reach.h"
#include "base/memory.h"
#include "replay/simulate.h"
#include "report/facts.h"

enum { CAUSES_MAX = 32 };

static const double HALF = 0.5;
static const double SAME_FACTOR = 0.01; /* apart: two questions are one */

struct seeking_causes {
	struct causes *causes;
	const struct comparison *comparison;
	const struct analysis *analysis;
	struct replayer replayer;
	void *scratch;
	struct reach reach;
	struct replay_answer baseline;
};

static uint32_t hypothesis_of(const struct analysis *analysis, const struct cost_class *class)
{
	uint32_t count = analysis->classes.count + analysis->script.shares.function_count;
	for (uint32_t i = 0; i < count; i++)
		if (strcmp(facts_class_kind(analysis, i), class->kind) == 0 &&
		    strcmp(facts_class_name(analysis, i), class->name) == 0)
			return i;
	return NO_INDEX;
}

/* The replay multiplies all that a call, a lock's holds, a thread or a function takes. Of other ops
 * it multiplies what is in no call. */
static bool is_put_back(const struct cost_class *class)
{
	return !class->is_wait && (!class->is_within || strcmp(class->kind, "hold") == 0 ||
				   strcmp(class->kind, "func") == 0);
}

/* Of a thread's own code a replay multiplies what runs. */
static bool is_time(const struct difference *row)
{
	const struct cost_class *class = difference_class(row);
	bool is_thread = class && strcmp(class->kind, "thread") == 0;
	return row->figure == (is_thread ? FIGURE_CLASS_CPU : FIGURE_CLASS_TIME);
}

static const struct difference *row_of_class(const struct comparison *comparison,
					     const struct difference *beside,
					     enum diff_figure figure)
{
	for (size_t i = comparison->whole_count; i < comparison->count; i++) {
		const struct difference *row = &comparison->rows[i];
		if (row->figure == figure && row->old_class == beside->old_class &&
		    row->new_class == beside->new_class)
			return row;
	}
	return NULL;
}

static struct cause_effect effect_of(const struct seeking_causes *seeking,
				     const struct scaling *scalings, size_t count)
{
	const struct trial trial = { .scalings = scalings, .count = count };
	const struct replay_answer *baseline = &seeking->baseline;
	struct replay_answer answer;
	seeking->replayer.run(&seeking->replayer, &trial, 1, seeking->scratch, &answer);
	if (answer.ran_away)
		return (struct cause_effect){ 0 };
	if (seeking->comparison->new_costs->unit == UNIT_RUN)
		return (struct cause_effect){ baseline->makespan_ns - answer.makespan_ns, 0 };
	return (struct cause_effect){
		baseline->requests_ns[REQUEST_P50] - answer.requests_ns[REQUEST_P50],
		baseline->requests_ns[REQUEST_P99] - answer.requests_ns[REQUEST_P99]
	};
}

static void cause_add(struct seeking_causes *seeking, struct cause cause, enum cause_sort sort,
		      double factor, struct cause_effect effect)
{
	struct causes *causes = seeking->causes;
	if (causes->count == CAUSES_MAX)
		return;
	cause.sort = sort;
	cause.times = factor > 0 ? 1 / factor : 0;
	cause.effect = effect;
	causes->rows[causes->count++] = cause;
}

static struct cause_effect effect_of_one(const struct seeking_causes *seeking, uint32_t hypothesis,
					 double factor)
{
	const struct scaling scaling = { hypothesis, factor };
	if (fabs(factor - 1) <= SAME_FACTOR)
		return (struct cause_effect){ 0 };
	return effect_of(seeking, &scaling, 1);
}

/* The mean of the effects of `part` alone, and of it beside the other part. */
static struct cause_effect shared(struct cause_effect all, struct cause_effect part,
				  struct cause_effect other)
{
	return (struct cause_effect){ HALF * (part.p50_ns + all.p50_ns - other.p50_ns),
				      HALF * (part.p99_ns + all.p99_ns - other.p99_ns) };
}

/* The length of one op, and the number of ops. */
static void add_parts(struct seeking_causes *seeking, struct cause cause, double length)
{
	double number = cause.factor / length;
	bool has_length = fabs(length - 1) > SAME_FACTOR;
	bool has_number = fabs(number - 1) > SAME_FACTOR;
	struct cause_effect of_all = effect_of_one(seeking, cause.hypothesis, cause.factor);
	struct cause_effect of_length = of_all, of_number = of_all;
	if (has_length && has_number) {
		of_length = effect_of_one(seeking, cause.hypothesis, length);
		of_number = effect_of_one(seeking, cause.hypothesis, number);
		struct cause_effect alone = of_length;
		of_length = shared(of_all, of_length, of_number);
		of_number = shared(of_all, of_number, alone);
	}
	if (has_length)
		cause_add(seeking, cause, CAUSE_LENGTH, length, of_length);
	if (has_number)
		cause_add(seeking, cause, CAUSE_NUMBER, number, of_number);
}

static void cause_find(struct seeking_causes *seeking, const struct difference *row)
{
	struct cause cause = { .row = row,
			       .hypothesis = hypothesis_of(seeking->analysis, row->new_class),
			       .factor = row->old_value / row->new_value };
	const struct difference *each = row_of_class(seeking->comparison, row, FIGURE_CLASS_EACH);
	if (cause.hypothesis == NO_INDEX)
		return;
	bool is_counted = each && each->new_value > 0 && each->old_value > 0 &&
			  strcmp(row->new_class->kind, "thread") != 0;
	if (is_counted)
		add_parts(seeking, cause, each->old_value / each->new_value);
	else
		cause_add(seeking, cause, row->old_class ? CAUSE_TIME : CAUSE_NEW, cause.factor,
			  effect_of_one(seeking, cause.hypothesis, cause.factor));
}

static void causes_find(struct seeking_causes *seeking)
{
	const struct comparison *comparison = seeking->comparison;
	for (size_t i = comparison->whole_count; i < comparison->count; i++) {
		const struct difference *row = &comparison->rows[i];
		if (row->is_found && is_time(row) && row->new_class && row->new_value > 0 &&
		    is_put_back(row->new_class))
			cause_find(seeking, row);
	}
}

static double size_of(const struct cause *cause)
{
	return fmax(fabs(cause->effect.p50_ns), fabs(cause->effect.p99_ns));
}

static int compare_causes(const void *left, const void *right)
{
	const struct cause *a = left, *b = right;
	double a_ns = size_of(a), b_ns = size_of(b);
	if (a_ns != b_ns)
		return a_ns > b_ns ? -1 : 1;
	if (a->hypothesis != b->hypothesis)
		return a->hypothesis < b->hypothesis ? -1 : 1;
	return (a->sort > b->sort) - (a->sort < b->sort);
}

static bool overlaps(const struct seeking_causes *seeking, uint32_t one, uint32_t other)
{
	return reach_is_same(&seeking->reach, one, other) ||
	       reach_contains(&seeking->reach, one, other) ||
	       reach_contains(&seeking->reach, other, one);
}

/* Calls and threads first, then locks and functions that have something else in them. */
static void put_back_together(struct seeking_causes *seeking)
{
	struct causes *causes = seeking->causes;
	struct scaling scalings[CAUSES_MAX];
	size_t count = 0;
	for (size_t i = 0; i < 2 * causes->count; i++) {
		struct cause *cause = &causes->rows[i % causes->count];
		bool is_free = true, is_there = false;
		if (cause->row->new_class->is_within != (i >= causes->count))
			continue;
		for (size_t k = 0; k < count; k++) {
			is_there = is_there || scalings[k].class == cause->hypothesis;
			is_free =
				is_free && !overlaps(seeking, cause->hypothesis, scalings[k].class);
		}
		cause->is_together = is_there || is_free;
		if (is_free)
			scalings[count++] = (struct scaling){ cause->hypothesis, cause->factor };
	}
	causes->together = effect_of(seeking, scalings, count);
}

/* --- all of it --- */

static bool is_withheld(struct causes *causes, const struct analysis *analysis, bool has_requests)
{
	const struct checks *checks = &analysis->checks;
	causes->is_withheld = !analysis->has_script || checks->is_withheld ||
			      (has_requests && checks->are_requests_withheld);
	if (!causes->is_withheld)
		return false;
	enum check_id gravest = checks->gravest < CHECK_COUNT ? checks->gravest : CHECK_LATENCY;
	snprintf(causes->reason, sizeof(causes->reason), "%s",
		 !analysis->has_script ? "NEW names no threads" : checks->rows[gravest].line);
	return true;
}

static void measured_fill(struct causes *causes, const struct comparison *comparison)
{
	bool has_requests = comparison->new_costs->unit == UNIT_REQUEST;
	causes->measured.p50_ns = comparison->rows[has_requests ? FIGURE_P50 : FIGURE_MEAN].delta;
	causes->measured.p99_ns = has_requests ? comparison->rows[FIGURE_P99].delta : 0;
}

void causes_build(struct causes *causes, const struct comparison *comparison,
		  const struct analysis *analysis)
{
	struct seeking_causes seeking = { .causes = causes,
					  .comparison = comparison,
					  .analysis = analysis,
					  .baseline = analysis->whatif.baseline };
	*causes = (struct causes){ 0 };
	measured_fill(causes, comparison);
	if (is_withheld(causes, analysis, comparison->new_costs->unit == UNIT_REQUEST))
		return;
	causes->rows = memory_new(CAUSES_MAX, sizeof(*causes->rows));
	reach_build(&seeking.reach, &analysis->script);
	seeking.replayer = simulate_replayer(&analysis->script, &analysis->machine);
	seeking.scratch = seeking.replayer.scratch_new(&seeking.replayer);
	causes_find(&seeking);
	if (causes->count > 0) {
		qsort(causes->rows, causes->count, sizeof(*causes->rows), compare_causes);
		put_back_together(&seeking);
	}
	seeking.replayer.scratch_free(seeking.scratch);
	reach_free(&seeking.reach);
}

void causes_free(struct causes *causes)
{
	free(causes->rows);
	*causes = (struct causes){ 0 };
}

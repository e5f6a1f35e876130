/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gates: which there are, and whether the new build is worse by each.
 *
 * A gate fails if the new build's figure is higher by more than chance, and by as much as is
 * wanted. Chance is that of signed ranks of the pairs' differences, with Holm's correction for the
 * number of gates. A gate passes only if its interval lies below that, or so much would have been
 * seen. An increase as large as the width of the interval lies above 0 in 19 of 20 trials.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ci.h"
#include "cmd.h"

static const double CHANCE_MOST = 0.05; /* of a false alarm of any gate, in a round */
/* For one unit. Rarer calls belong to the start, or to timers; --metric asks for them by name. */
static const double COUNT_LEAST = 0.01;

/* --- Which there are -------------------------------------------------------------------------- */

static bool add(struct ci_plan *plan, const struct ci_figure *figure, bool is_gate, bool is_asked)
{
	void *grown = realloc(plan->gates, (plan->gate_count + 1) * sizeof(*plan->gates));

	if (!grown)
		return false;
	plan->gates = grown;
	plan->gates[plan->gate_count++] = (struct ci_gate){
		.figure = *figure,
		.is_gate = is_gate,
		.is_asked = is_asked,
		.state = CI_GATE_SHOWN,
	};
	return true;
}

static bool has(const struct ci_plan *plan, const struct ci_figure *figure)
{
	for (size_t i = 0; i < plan->gate_count; i++) {
		const struct ci_figure *of = &plan->gates[i].figure;

		if (of->what == figure->what && !of->name == !figure->name &&
		    (!of->name || strcmp(of->name, figure->name) == 0))
			return true;
	}
	return false;
}

/* Holds by the lock, other ops by the call. */
static bool add_counts_of(struct ci_plan *plan, const struct ci_run *run)
{
	for (size_t i = 0; i < run->class_count; i++) {
		const struct ci_class *class = &run->classes[i];
		bool is_hold = strcmp(class->kind, "hold") == 0;
		struct ci_figure figure = { .what = CI_COUNT };

		figure.name = (char *)(is_hold ? "lock" : ci_call_name(class->name));
		if (!ci_class_is_counted(class) || has(plan, &figure))
			continue;
		figure.name = strdup(figure.name);
		if (!figure.name || !add(plan, &figure, true, false))
			return false;
	}
	return true;
}

static bool add_usual(struct ci_plan *plan)
{
	const struct ci_figure cpu = { .what = CI_CPU };
	bool is_added = add(plan, &cpu, true, false);

	for (int side = 0; side < CI_SIDES && is_added; side++)
		for (size_t i = 0; i < plan->runs.pairs && is_added; i++)
			is_added = add_counts_of(plan, &plan->runs.runs[side][i]);
	return is_added;
}

static bool add_asked(struct ci_plan *plan)
{
	const struct ci_texts *metrics = &plan->options.metrics;
	struct ci_figure figure;

	for (size_t i = 0; i < metrics->count; i++)
		if (!ci_figure_parse(metrics->texts[i], &figure) || !add(plan, &figure, true, true))
			return false;
	return true;
}

bool ci_gates_choose(struct ci_plan *plan)
{
	static const enum ci_what shown[] = { CI_MAKESPAN, CI_P50, CI_P99 };
	size_t count = plan->runs.are_requests ? 3 : 1;
	bool is_chosen = plan->options.metrics.count > 0 ? add_asked(plan) : add_usual(plan);

	for (size_t i = 0; i < count && is_chosen; i++) {
		const struct ci_figure figure = { .what = shown[i] };

		is_chosen = has(plan, &figure) || add(plan, &figure, false, false);
	}
	return is_chosen;
}

/* --- One gate --------------------------------------------------------------------------------- */

double ci_gate_share(const struct ci_gate *gate, double change)
{
	if (gate->base == 0)
		return change > 0 ? INFINITY : 0;
	return change / gate->base;
}

/* By how much it has to be higher, for one unit. */
static double needed(const struct ci_plan *plan, const struct ci_gate *gate)
{
	double share = plan->fail_over * gate->base;
	double least = ci_figure_is_time(&gate->figure) ? plan->min_effect_ns
		       : gate->is_asked                 ? 0
							: COUNT_LEAST;

	return fmax(share, least);
}

/* False: no memory. */
static bool measure(struct ci_plan *plan, struct ci_gate *gate, size_t first, size_t count)
{
	double values[CI_SIDES][SIGNED_RANK_PAIRS_MAX], differences[SIGNED_RANK_PAIRS_MAX];

	for (size_t i = 0; i < count; i++) {
		for (int side = 0; side < CI_SIDES; side++)
			values[side][i] =
				ci_figure_of(&gate->figure, &plan->runs.runs[side][first + i]);
		differences[i] = values[CI_NEW][i] - values[CI_BASE][i];
		if (isnan(differences[i])) {
			gate->state = CI_GATE_UNTOLD;
			gate->base = gate->new = NAN;
			gate->test = (struct signed_rank){ .p = 1 };
			snprintf(gate->why, sizeof(gate->why), "pair %zu does not have it",
				 first + i + 1);
			return true;
		}
	}
	gate->base = ci_median(values[CI_BASE], count);
	gate->new = ci_median(values[CI_NEW], count);
	return signed_rank_test(differences, count, &gate->test);
}

static void untold(struct ci_gate *gate, enum ci_state state, const char *why)
{
	gate->state = state;
	snprintf(gate->why, sizeof(gate->why), "%s", why);
}

/* Counts that vary from run to run by themselves, and that nobody has asked for, are no gates. */
static enum ci_state state_of_noisy(const struct ci_gate *gate)
{
	bool is_left_out = !gate->is_asked && !ci_figure_is_time(&gate->figure);

	return is_left_out ? CI_GATE_NOISY : CI_GATE_UNTOLD;
}

/* In percent of the base, if that has any. */
static void format_increase(const struct ci_gate *gate, double increase, char to[40])
{
	if (gate->base == 0)
		(void)ci_value(to, increase, ci_figure_is_time(&gate->figure), false);
	else
		snprintf(to, 40, "%.1f%%", 100 * ci_gate_share(gate, increase));
}

static void judge(const struct ci_plan *plan, struct ci_gate *gate, bool is_significant)
{
	double wanted = needed(plan, gate), width = gate->test.high - gate->test.low;
	bool is_large = gate->test.change > 0 && gate->test.change >= wanted;
	char why[CI_WHY_BYTES], seen[40];

	format_increase(gate, width, seen);
	gate->why[0] = '\0';
	gate->wants_more = false;
	if (gate->figure.what == CI_CPU && gate->base == 0) {
		untold(gate, CI_GATE_UNTOLD, "the recordings have no CPU time");
	} else if (!ci_figure_is_seen(&gate->figure, &plan->runs)) {
		snprintf(why, sizeof(why), "no run has a call, lock or class %.80s",
			 gate->figure.name);
		untold(gate, CI_GATE_UNTOLD, why);
	} else if (is_large && is_significant) {
		gate->state = CI_GATE_FAILED;
		gate->wants_more = width > 0;
	} else if (width > wanted && gate->test.high >= wanted) {
		snprintf(why, sizeof(why),
			 "noise hides increases below %s; take more pairs, or longer runs", seen);
		untold(gate, state_of_noisy(gate), why);
		gate->wants_more = gate->state == CI_GATE_UNTOLD;
	} else if (is_large) {
		snprintf(why, sizeof(why),
			 "higher, which may be chance (p = %.3f); take more pairs", gate->test.p);
		untold(gate, CI_GATE_UNTOLD, why);
		gate->wants_more = true;
	} else {
		gate->state = CI_GATE_PASSED;
	}
}

/* --- All of them ------------------------------------------------------------------------------ */

static bool takes_part(const struct ci_gate *gate, bool is_second)
{
	return gate->is_gate && (!is_second || gate->wants_more);
}

/* All pairs have the same difference: it has no part in the chance of the others. */
static bool is_exact(const struct ci_gate *gate)
{
	return gate->test.low == gate->test.high;
}

/* Holm: the smallest chance is held against a part of what is allowed for all, the next one
 * against a part for one less. Those that never differ cannot be a false alarm. */
static double largest_significant(const struct ci_gate **gates, size_t count)
{
	double last = -1;

	for (size_t left = count; left > 0; left--) {
		double next = INFINITY;
		size_t ties = 0;

		for (size_t i = 0; i < count; i++)
			if (gates[i]->test.p > last)
				next = fmin(next, gates[i]->test.p);
		for (size_t i = 0; i < count; i++)
			ties += gates[i]->test.p == next;
		if (next > CHANCE_MOST / (double)left)
			break;
		last = next;
		left -= ties - 1;
	}
	return last;
}

/* A gate that has failed is judged by the second round alone, as the first one chose it. All others
 * have both. */
static bool measure_of_round(struct ci_plan *plan, struct ci_gate *gate, size_t round, size_t count)
{
	bool is_alone = gate->is_gate && gate->state == CI_GATE_FAILED;

	return measure(plan, gate, is_alone ? round * count : 0,
		       is_alone ? count : (round + 1) * count);
}

static bool measure_all(struct ci_plan *plan, size_t round, size_t count, double *significant)
{
	const struct ci_gate **tested = calloc(plan->gate_count, sizeof(const struct ci_gate *));
	size_t used = 0;
	bool has_memory = tested != NULL;

	for (size_t i = 0; i < plan->gate_count && has_memory; i++) {
		struct ci_gate *gate = &plan->gates[i];

		if (gate->is_gate && !takes_part(gate, round > 0))
			continue;
		has_memory = measure_of_round(plan, gate, round, count);
		if (gate->is_gate && gate->test.p < 1 && !is_exact(gate))
			tested[used++] = gate;
	}
	if (has_memory)
		*significant = largest_significant(tested, used);
	free(tested);
	return has_memory;
}

bool ci_gates_judge(struct ci_plan *plan, size_t round, size_t count)
{
	double significant = -1;

	if (!measure_all(plan, round, count, &significant))
		return false;
	for (size_t i = 0; i < plan->gate_count; i++) {
		struct ci_gate *gate = &plan->gates[i];
		bool had_failed = gate->state == CI_GATE_FAILED;

		if (!takes_part(gate, round > 0) || isnan(gate->base))
			continue;
		judge(plan, gate, gate->test.p <= (is_exact(gate) ? CHANCE_MOST : significant));
		gate->is_confirmed = had_failed && gate->state == CI_GATE_FAILED;
	}
	return true;
}

size_t ci_gates_count(const struct ci_plan *plan, enum ci_state state)
{
	size_t count = 0;

	for (size_t i = 0; i < plan->gate_count; i++)
		count += plan->gates[i].is_gate && plan->gates[i].state == state;
	return count;
}

bool ci_gates_want_more(const struct ci_plan *plan)
{
	for (size_t i = 0; i < plan->gate_count; i++)
		if (plan->gates[i].wants_more)
			return true;
	return false;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the worth of classes by variation and by replay; variation.h has the contract.
 *
 * The variation gives a slope: ops took a little longer than usual, and the run with them. The
 * replay is asked for several: from a class a little faster to one that takes no time. Where a
 * program changes its regime on the way they differ, and the slope is to be among them.
 */
#include "variation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis.h"
#include "base/memory.h"
#include "format.h"

static const double factors[] = { 0, 0.5, 0.9 };
static const double ERRORS = 3;         /* standard errors: chance is hardly ever farther off */
static const double KNOWN_WITHIN = 0.1; /* of the makespan: a larger error tells nothing */

/* It is one of a row of which another thread decides how long it is. */
static bool is_looking(const struct analysis *analysis, uint32_t op)
{
	const struct look_row *row = looks_of(&analysis->script.looks, analysis->recording, op);
	return row && row->sort >= LOOK_SURE;
}

/* A call that takes as long as another thread lets it: what it is worth is that thread's. */
static bool waits_for_others(const struct analysis *analysis, uint32_t op)
{
	const struct recording *recording = analysis->recording;
	const struct flows *flows = &analysis->script.flows;
	const struct rec_op *call = &recording->ops[op];
	const char *ident = recording->strings[call->ident];
	if (is_looking(analysis, op))
		return true;
	if (call->kind != KIND_IO)
		return false;
	if (flows->transfer_of[op] != NO_INDEX || flows->other_of[op] != NO_INDEX)
		return true;
	return ident[0] && strncmp(ident, "file ", strlen("file ")) != 0 &&
	       flow_direction_of(recording->strings[call->name]) != FLOW_WRITE;
}

static void find_variation(struct variation *variation, const struct analysis *analysis)
{
	const struct recording *recording = analysis->recording;
	bool *is_left_out = memory_new(recording->op_count, sizeof(*is_left_out));
	for (uint32_t i = 0; i < recording->op_count; i++)
		is_left_out[i] = waits_for_others(analysis, i);
	const struct sensitivity_of of = { recording, &analysis->classes,
					   analysis->selftime.self_ns, is_left_out,
					   analysis->actual_makespan_ns };
	sensitivity_build(&variation->sensitivity, &of);
	free(is_left_out);
}

static void stretch_to(struct variation_row *row, double saved_ns)
{
	row->replay_least_ns = fmin(row->replay_least_ns, saved_ns);
	row->replay_most_ns = fmax(row->replay_most_ns, saved_ns);
}

static void take_answers(struct variation_row *row, const struct whatif_row *answered,
			 const struct factor_list *list)
{
	for (size_t f = 0; f < list->count; f++) {
		if (!(list->factors[f] < 1))
			continue;
		stretch_to(row, answered->estimates[f].least_ns / (1 - list->factors[f]));
		stretch_to(row, answered->estimates[f].most_ns / (1 - list->factors[f]));
	}
}

/* From the table, if it has them: a large recording's replay takes long. */
static void ask_replay(struct variation_row *row, const struct analysis *analysis,
		       const struct replayer *replayer)
{
	const struct whatif *whatif = &analysis->whatif;
	row->replay_least_ns = INFINITY;
	row->replay_most_ns = -INFINITY;
	for (size_t i = 0; i < whatif->row_count; i++)
		if (whatif->rows[i].class == row->class)
			take_answers(row, &whatif->rows[i], &analysis->options->factors);
	if (row->replay_least_ns <= row->replay_most_ns)
		return;
	for (size_t i = 0; i < sizeof(factors) / sizeof(factors[0]); i++) {
		const struct scaling scaling = { row->class, factors[i] };
		const struct trial trial = { .scalings = &scaling, .count = 1 };
		double saved_ns =
			whatif->baseline.makespan_ns - replayer_try(replayer, &trial).makespan_ns;
		stretch_to(row, saved_ns / (1 - factors[i]));
	}
}

/* Nothing makes the run longer by taking less time, but for an order that happens to be better.
 * Stretches that say so by far differ in more than the class. */
static bool tells(const struct sensitivity_row *found, double makespan_ns)
{
	double known_ns = KNOWN_WITHIN * makespan_ns;
	return found->error_ns < known_ns && found->saved_ns + ERRORS * found->error_ns > -known_ns;
}

static double apart_ns(const struct variation_row *row)
{
	double off_ns =
		fmax(row->saved_ns - row->replay_most_ns, row->replay_least_ns - row->saved_ns);
	return fmax(off_ns - ERRORS * row->error_ns, 0);
}

void variation_build(struct variation *variation, const struct analysis *analysis,
		     const struct replayer *replayer)
{
	*variation = (struct variation){ .worst = NO_INDEX };
	find_variation(variation, analysis);
	const struct sensitivity *sensitivity = &variation->sensitivity;
	variation->rows = memory_new(sensitivity->count, sizeof(*variation->rows));
	for (size_t i = 0; i < sensitivity->count; i++) {
		const struct sensitivity_row *found = &sensitivity->rows[i];
		if (!tells(found, (double)analysis->actual_makespan_ns))
			continue;
		struct variation_row *row = &variation->rows[variation->row_count];
		*row = (struct variation_row){ .class = found->class,
					       .saved_ns = fmax(found->saved_ns, 0),
					       .error_ns = found->error_ns };
		ask_replay(row, analysis, replayer);
		row->apart_ns = apart_ns(row);
		if (row->apart_ns > 0 &&
		    (variation->worst == NO_INDEX ||
		     row->apart_ns > variation->rows[variation->worst].apart_ns))
			variation->worst = (uint32_t)variation->row_count;
		variation->row_count++;
	}
}

void variation_free(struct variation *variation)
{
	sensitivity_free(&variation->sensitivity);
	free(variation->rows);
	*variation = (struct variation){ .worst = NO_INDEX };
}

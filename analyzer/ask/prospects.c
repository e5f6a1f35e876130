/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks into the best answers; prospects.h has the contract.
 *
 * Where a gain stops: what is saved grows with every bit that a class gets faster, until something
 * else takes as long. Halving an interval finds the factor below which nothing more is saved. What
 * the limit is then: with the class gone, each of the heaviest others is made to take half as long,
 * and the one that saves most is it.
 *
 * How sure an answer is: locks are handed over in another order in one more replay a factor, and
 * CPUs are shared equally in another; of functions, samples that fell elsewhere by chance are
 * allowed for. An interval covers 95% of what chance does.
 *
 * Replays that go beyond a budget are not made, so that large recordings do not take twice as long.
 * Where hypotheses are replayed in batches, which is much cheaper, the budget is smaller too.
 * Several threads work side by side. A row is two tasks, which write to different parts of it:
 * where it stops, and how sure it is.
 */
#include "prospects.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/workers.h"
#include "jitter.h"
#include "recording/recording.h"

enum {
	HALVINGS = 5,
	LIMITS_MAX = 12,             /* classes that are tried as the next limit */
	STEPS_MAX = 300000000,       /* of all replays together */
	BATCHED_STEPS_MAX = 80000000 /* likewise, where there are batches */
};

static const double WORTH_A_LOOK = 0.01;  /* of the makespan: less needs no explanation */
static const double NEARLY_ALL = 0.98;    /* of what is saved in the end */
static const double STOPS_AT_LEAST = 0.1; /* a gain that goes on to there does not stop */
static const double ORDER_MATTERS = 0.02; /* of the makespan */

struct looking {
	struct whatif *whatif;
	const struct replayer *replayer;
	const struct whatif_options *options;
	size_t smallest;
	size_t row_count;   /* that are looked into */
	size_t limit_count; /* heaviest classes */
	uint32_t limits[LIMITS_MAX];
	double fair_baseline_ns;
	double sharing_baseline_ns;
	size_t runs_left; /* of each row */
	void *scratches[WORKERS_MAX];
};

static double smallest_factor(const struct looking *looking)
{
	return looking->options->factors[looking->smallest];
}

/* What a replay saves against the unchanged one, with locks handed over as glibc does. */
static double saved_by(const struct looking *looking, const struct scaling *scalings, size_t count,
		       void *scratch)
{
	const struct trial trial = { .scalings = scalings, .count = count };
	struct replay_answer answer;
	looking->replayer->run(looking->replayer, &trial, 1, scratch, &answer);
	return looking->whatif->baseline.makespan_ns - answer.makespan_ns;
}

static bool is_worth_a_look(const struct looking *looking, double saved_ns)
{
	return saved_ns > WORTH_A_LOOK * looking->whatif->baseline.makespan_ns;
}

/* --- where it stops --- */

static bool saves_nearly_all(const struct looking *looking, const struct whatif_row *row,
			     double factor, void *scratch)
{
	const struct scaling scaling = { row->class, factor };
	return saved_by(looking, &scaling, 1, scratch) >=
	       NEARLY_ALL * row->saved_ns[looking->smallest];
}

static void find_stop(const struct looking *looking, struct whatif_row *row, void *scratch)
{
	double low = fmax(STOPS_AT_LEAST, 2 * smallest_factor(looking)), high = 1;
	if (low >= high || !saves_nearly_all(looking, row, low, scratch))
		return;
	for (int i = 0; i < HALVINGS; i++) {
		double middle = (low + high) / 2;
		if (saves_nearly_all(looking, row, middle, scratch))
			low = middle;
		else
			high = middle;
	}
	row->stops_at = low;
}

static void find_limit(const struct looking *looking, struct whatif_row *row, void *scratch)
{
	double most_ns = WORTH_A_LOOK * looking->whatif->baseline.makespan_ns;
	for (size_t i = 0; i < looking->limit_count; i++) {
		const struct scaling both[] = { { row->class, smallest_factor(looking) },
						{ looking->limits[i], 0.5 } };
		/* halved, it hardly saves more than half of what it weighs */
		if (looking->limits[i] == row->class ||
		    (looking->options->weight_ns &&
		     (double)looking->options->weight_ns[looking->limits[i]] / 2 <= most_ns))
			continue;
		double more_ns =
			saved_by(looking, both, 2, scratch) - row->saved_ns[looking->smallest];
		if (more_ns <= most_ns)
			continue;
		most_ns = more_ns;
		row->next_class = looking->limits[i];
	}
}

/* --- how sure it is --- */

static void range_widen(struct whatif_row *row, size_t f, double saved_ns)
{
	row->least_ns[f] = fmin(row->least_ns[f], saved_ns);
	row->most_ns[f] = fmax(row->most_ns[f], saved_ns);
}

/* Replays with each factor; returns whether the savings differ much from the row's. */
static bool try_otherwise(const struct looking *looking, struct whatif_row *row, void *scratch,
			  struct trial trial, double baseline_ns)
{
	bool differs = false;
	for (size_t f = 0; f < looking->options->factor_count; f++) {
		const struct scaling scaling = { row->class, looking->options->factors[f] };
		struct replay_answer answer;
		trial.scalings = &scaling;
		trial.count = 1;
		looking->replayer->run(looking->replayer, &trial, 1, scratch, &answer);
		double saved_ns = baseline_ns - answer.makespan_ns;
		range_widen(row, f, saved_ns);
		differs = differs || fabs(saved_ns - row->saved_ns[f]) >
					     ORDER_MATTERS * looking->whatif->baseline.makespan_ns;
	}
	return differs;
}

static void allow_for_chance(const struct whatif_options *options, struct whatif_row *row)
{
	for (size_t f = 0; options->noise && f < options->factor_count; f++) {
		double noise_ns =
			fabs(row->saved_ns[f]) * CONFIDENCE_WIDTH * options->noise[row->class];
		row->least_ns[f] -= noise_ns;
		row->most_ns[f] += noise_ns;
	}
}

/* --- all rows --- */

static size_t order_runs(const struct looking *looking)
{
	return looking->options->has_orders ? looking->options->factor_count : 0;
}

static size_t other_runs(const struct looking *looking)
{
	return order_runs(looking) +
	       (looking->options->is_crowded ? looking->options->factor_count : 0);
}

static void look_how_sure(const struct looking *looking, struct whatif_row *row, void *scratch)
{
	if (order_runs(looking) && order_runs(looking) <= looking->runs_left)
		row->depends_on_order |=
			try_otherwise(looking, row, scratch, (struct trial){ .is_fair = true },
				      looking->fair_baseline_ns);
	if (looking->options->is_crowded && other_runs(looking) <= looking->runs_left)
		row->depends_on_cpus =
			try_otherwise(looking, row, scratch, (struct trial){ .shares_cpus = true },
				      looking->sharing_baseline_ns);
}

static void look_where_it_stops(const struct looking *looking, struct whatif_row *row,
				void *scratch)
{
	size_t runs = other_runs(looking) + 1 + HALVINGS;
	if (!is_worth_a_look(looking, row->saved_ns[looking->smallest]) ||
	    runs > looking->runs_left)
		return;
	find_stop(looking, row, scratch);
	if (row->stops_at > 0 && runs + LIMITS_MAX <= looking->runs_left)
		find_limit(looking, row, scratch);
}

/* Tasks: first where each row stops, which takes longest, then how sure each is. */
static void look(void *context, size_t task, size_t worker)
{
	struct looking *looking = context;
	struct whatif_row *row = &looking->whatif->rows[task % looking->row_count];
	if (looking->options->progress && worker == 0)
		looking->options->progress("looking into answers", task, 2 * looking->row_count);
	if (!looking->scratches[worker])
		looking->scratches[worker] = looking->replayer->scratch_new(looking->replayer);
	if (task < looking->row_count)
		look_where_it_stops(looking, row, looking->scratches[worker]);
	else
		look_how_sure(looking, row, looking->scratches[worker]);
}

static void look_side_by_side(struct looking *looking)
{
	workers_run(looking->options->thread_count, 2 * looking->row_count, look, looking);
	for (size_t i = 0; i < WORKERS_MAX; i++)
		if (looking->scratches[i])
			looking->replayer->scratch_free(looking->scratches[i]);
}

/* The rows with most to save in theory, which need not be those that save most. */
static void limits_find(struct looking *looking)
{
	const struct whatif *whatif = looking->whatif;
	const struct whatif_options *options = looking->options;
	for (size_t i = 0; i < whatif->row_count; i++) {
		uint32_t class = whatif->rows[i].class;
		uint64_t weight_ns = options->weight_ns ? options->weight_ns[class] : 0;
		size_t at = looking->limit_count;
		if (at < LIMITS_MAX)
			looking->limit_count++;
		for (; at > 0 && options->weight_ns &&
		       weight_ns > options->weight_ns[looking->limits[at - 1]];
		     at--)
			if (at < LIMITS_MAX)
				looking->limits[at] = looking->limits[at - 1];
		if (at < LIMITS_MAX)
			looking->limits[at] = class;
	}
}

static double baseline_ns(const struct looking *looking, struct trial trial)
{
	return replayer_try(looking->replayer, &trial).makespan_ns;
}

void prospects_build(struct whatif *whatif, const struct replayer *replayer,
		     const struct whatif_options *options, size_t smallest)
{
	struct looking looking = { .whatif = whatif,
				   .replayer = replayer,
				   .options = options,
				   .smallest = smallest,
				   .row_count = whatif->row_count < PROSPECT_ROWS
							? whatif->row_count
							: PROSPECT_ROWS };
	if (!looking.row_count)
		return;
	size_t steps_max = replayer->classes_at_once > 1 ? BATCHED_STEPS_MAX : STEPS_MAX;
	looking.runs_left = steps_max / (replayer->cost + 1) / looking.row_count;
	limits_find(&looking);
	if (options->has_orders && options->factor_count <= looking.runs_left)
		looking.fair_baseline_ns = baseline_ns(&looking, (struct trial){ .is_fair = true });
	if (options->is_crowded && options->factor_count <= looking.runs_left)
		looking.sharing_baseline_ns =
			baseline_ns(&looking, (struct trial){ .shares_cpus = true });
	if (looking.runs_left)
		look_side_by_side(&looking);
	for (size_t i = 0; i < whatif->row_count; i++)
		allow_for_chance(options, &whatif->rows[i]);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks into the best answers; prospects.h has the contract.
 *
 * Where a gain stops: a saving grows with every bit that a class gets faster, until something else
 * takes as long. Halving an interval finds the factor below which nothing more is saved. The limit
 * then: with the class gone, each of the heaviest other classes is made to take half as long. The
 * limit is the class that saves most.
 *
 * Replays that go beyond a budget are not made, so that large recordings do not take twice as long.
 * Workers share the rows.
 */
#include "prospects.h"

#include <assert.h>
#include <math.h>

#include "recording/recording.h"

enum {
	HALVINGS = 5,
	LIMITS_MAX = 12,      /* classes that are tried as the next limit */
	STEPS_MAX = 300000000 /* of all replays together */
};

static const double WORTH_A_LOOK = 0.01;  /* of the makespan: less needs no explanation */
static const double NEARLY_ALL = 0.98;    /* of what is saved in the end */
static const double STOPS_AT_LEAST = 0.1; /* a gain that goes on to there does not stop */

struct prospect {
	struct whatif *whatif;
	struct estimator *estimator;
	const struct whatif_options *options;
	size_t smallest;
	size_t row_count;   /* that are looked into */
	size_t limit_count; /* heaviest classes */
	uint32_t limits[LIMITS_MAX];
	size_t runs_left; /* of each row */
};

static double smallest_factor(const struct prospect *prospect)
{
	return prospect->options->factors[prospect->smallest];
}

/* The saving of a replay against the unchanged one, with locks handed over as glibc does. */
static double saved_by(const struct prospect *prospect, const struct scaling *scalings,
		       size_t count, void *scratch)
{
	const struct replayer *replayer = prospect->estimator->replayer;
	const struct trial trial = { .scalings = scalings, .count = count };
	struct replay_answer answer;
	replayer->run(replayer, &trial, 1, scratch, &answer);
	return prospect->whatif->baseline.makespan_ns - answer.makespan_ns;
}

/* At the smallest factor. */
static double row_saved_ns(const struct prospect *prospect, const struct whatif_row *row)
{
	return row->estimates[prospect->smallest].saved_ns;
}

static bool saves_nearly_all(const struct prospect *prospect, const struct whatif_row *row,
			     double factor, void *scratch)
{
	const struct scaling scaling = { row->class, factor };
	return saved_by(prospect, &scaling, 1, scratch) >= NEARLY_ALL * row_saved_ns(prospect, row);
}

static void find_stop(const struct prospect *prospect, struct whatif_row *row, void *scratch)
{
	double low = fmax(STOPS_AT_LEAST, 2 * smallest_factor(prospect)), high = 1;
	if (low >= high || !saves_nearly_all(prospect, row, low, scratch))
		return;
	for (int i = 0; i < HALVINGS; i++) {
		double middle = (low + high) / 2;
		if (saves_nearly_all(prospect, row, middle, scratch))
			low = middle;
		else
			high = middle;
	}
	row->stops_at = low;
}

static void find_limit(const struct prospect *prospect, struct whatif_row *row, void *scratch)
{
	double most_ns = WORTH_A_LOOK * prospect->whatif->baseline.makespan_ns;
	for (size_t i = 0; i < prospect->limit_count; i++) {
		const struct scaling both[] = { { row->class, smallest_factor(prospect) },
						{ prospect->limits[i], 0.5 } };
		/* halved, it hardly saves more than half of what it weighs */
		if (prospect->limits[i] == row->class ||
		    (prospect->options->weight_ns &&
		     (double)prospect->options->weight_ns[prospect->limits[i]] / 2 <= most_ns))
			continue;
		double more_ns = saved_by(prospect, both, 2, scratch) - row_saved_ns(prospect, row);
		if (more_ns <= most_ns)
			continue;
		most_ns = more_ns;
		row->next_class = prospect->limits[i];
	}
}

/* Those that made the row's estimates sure count too. */
static size_t runs_to_find_stop(const struct prospect *prospect)
{
	const struct replayer *replayer = prospect->estimator->replayer;
	size_t ways = (size_t)replayer->has_locks + replayer->has_timeouts + replayer->feeds_pools +
		      replayer->has_rests + replayer->has_unruly + replayer->has_unsure_rounds +
		      replayer->is_crowded;
	return ways * prospect->options->factor_count + 1 + HALVINGS;
}

static void look_into(void *context, size_t task, size_t worker)
{
	struct prospect *prospect = context;
	struct whatif_row *row = &prospect->whatif->rows[task];
	double least_ns = WORTH_A_LOOK * prospect->whatif->baseline.makespan_ns;
	size_t runs = runs_to_find_stop(prospect);
	void *scratch = estimator_scratch(prospect->estimator, worker);
	assert(task < prospect->row_count);
	if (prospect->options->progress && worker == 0)
		prospect->options->progress("looking into answers", task, prospect->row_count);
	if (!(row_saved_ns(prospect, row) > least_ns) || runs > prospect->runs_left ||
	    row->same_as != NO_INDEX)
		return;
	find_stop(prospect, row, scratch);
	if (row->stops_at > 0 && runs + LIMITS_MAX <= prospect->runs_left)
		find_limit(prospect, row, scratch);
}

/* The rows with most to save in theory, which need not be those that save most. A function that
 * has one of them in it says less than that one. */
static void limits_find(struct prospect *prospect)
{
	const struct whatif *whatif = prospect->whatif;
	const struct whatif_options *options = prospect->options;
	for (size_t i = 0; i < whatif->row_count; i++) {
		uint32_t class = whatif->rows[i].class;
		if (whatif->rows[i].within != NO_INDEX || whatif->rows[i].same_as != NO_INDEX)
			continue;
		uint64_t weight_ns = options->weight_ns ? options->weight_ns[class] : 0;
		size_t at = prospect->limit_count;
		if (at < LIMITS_MAX)
			prospect->limit_count++;
		for (; at > 0 && options->weight_ns &&
		       weight_ns > options->weight_ns[prospect->limits[at - 1]];
		     at--)
			if (at < LIMITS_MAX)
				prospect->limits[at] = prospect->limits[at - 1];
		if (at < LIMITS_MAX)
			prospect->limits[at] = class;
	}
}

void prospects_build(struct whatif *whatif, struct estimator *estimator,
		     const struct whatif_options *options, size_t smallest)
{
	struct prospect prospect = { .whatif = whatif,
				     .estimator = estimator,
				     .options = options,
				     .smallest = smallest,
				     .row_count = whatif->row_count < WHATIF_BEST_ROWS
							  ? whatif->row_count
							  : WHATIF_BEST_ROWS };
	assert(smallest < options->factor_count && options->factors[smallest] >= 0);
	if (!prospect.row_count)
		return;
	prospect.runs_left = STEPS_MAX / (estimator->replayer->cost + 1) / prospect.row_count;
	limits_find(&prospect);
	workers_run(options->thread_count, prospect.row_count, look_into, &prospect);
}

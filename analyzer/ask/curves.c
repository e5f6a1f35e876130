/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills in the points between the factors of the what-if; curves.h has the contract.
 *
 * Workers share the points. A recording so large that there is no time for other assumptions has
 * points of the plain replay alone.
 */
#include "curves.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"

enum { TIMES_AS_DEAR = 2 }; /* so that curves take at most half the time of the table */

struct curve_job {
	struct curves *curves;
	struct estimator *estimator;
	const struct whatif *whatif;
	const struct whatif_options *options;
	bool is_sure;
};

/* The estimate of the class's row at the point's factor; NULL = it has none. */
static const struct estimate *known_estimate(const struct curve_job *job,
					     const struct curve_point *point)
{
	const struct whatif_row *row = whatif_find(job->whatif, point->class);
	for (size_t f = 0; row && f < job->options->factor_count; f++)
		if (job->options->factors[f] == point->factor)
			return &row->estimates[f];
	return NULL;
}

static void curve_work(void *context, size_t task, size_t worker)
{
	struct curve_job *job = context;
	struct curve_point *point = &job->curves->points[task];
	const struct estimate *known = known_estimate(job, point);
	if (job->options->progress && worker == 0)
		job->options->progress("drawing curves", task, job->curves->count);
	if (known || point->factor == 1) {
		point->estimate = known ? *known : (struct estimate){ 0 };
		return;
	}
	void *scratch = estimator_scratch(job->estimator, worker);
	const struct replayer *replayer = job->estimator->replayer;
	const struct scaling scaling = { point->class, point->factor };
	const struct trial trial = { .scalings = &scaling, .count = 1 };
	struct replay_answer answer;
	if (job->is_sure) {
		point->estimate = estimate_make(job->estimator, replayer, &trial, NULL, scratch);
		return;
	}
	replayer->run(replayer, &trial, 1, scratch, &answer);
	point->estimate = estimate_first(job->estimator, &trial, &answer);
}

void curves_build(struct curves *curves, const struct whatif *whatif, struct estimator *estimator,
		  const struct whatif_options *options)
{
	struct curve_job job = { curves, estimator, whatif, options, false };
	*curves = (struct curves){ 0 };
	curves->points = memory_new((size_t)CURVES_MOST * CURVE_POINTS, sizeof(*curves->points));
	for (size_t i = 0; i < whatif->row_count && curves->count < CURVES_MOST * CURVE_POINTS; i++)
		for (int p = 0; whatif->rows[i].same_as == NO_INDEX && p < CURVE_POINTS; p++)
			curves->points[curves->count++] = (struct curve_point){
				.class = whatif->rows[i].class,
				.factor = (double)(CURVE_POINTS - 1 - p) / (CURVE_POINTS - 1),
			};
	job.is_sure = estimator_afford(estimator, TIMES_AS_DEAR * curves->count);
	workers_run(options->thread_count, curves->count, curve_work, &job);
	size_t kept = 0;
	for (size_t i = 0; i < curves->count; i++)
		if (!curves->points[i].estimate.is_none)
			curves->points[kept++] = curves->points[i];
	curves->count = kept;
}

void curves_free(struct curves *curves)
{
	free(curves->points);
	*curves = (struct curves){ 0 };
}

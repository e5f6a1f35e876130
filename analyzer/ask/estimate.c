/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays a trial under several assumptions; estimate.h has the contract.
 *
 * Replays that go beyond a budget are not made, so that a large recording does not take twice as
 * long. Jitter takes most replays, so it is the first cause to be left out.
 */
#include "estimate.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/assumptions.h"
#include "base/memory.h"

enum {
	WAY_STEPS_MAX = 300000000,  /* of all replays under other assumptions */
	JITTER_STEPS_MAX = 60000000 /* of all replays with jitter */
};

static const double MATTERS = 0.02; /* of the makespan: what depends on more is said */

/* Standard deviations to either side of a saving: 95% of what sampling gives. */
static const double CONFIDENCE_WIDTH = 1.96;

bool estimate_is_valid(const struct estimate *estimate)
{
	return isfinite(estimate->least_ns) && isfinite(estimate->most_ns) &&
	       estimate->least_ns <= estimate->saved_ns && estimate->saved_ns <= estimate->most_ns;
}

static struct trial trial_in_way(struct trial trial, enum estimate_way way)
{
	trial.is_fair = way == ESTIMATE_FAIR;
	trial.keeps_timeouts = way == ESTIMATE_TIMEOUTS;
	trial.takes_latest = way == ESTIMATE_LATEST;
	trial.wakes_clients = way == ESTIMATE_WOKEN;
	trial.drops_waits = way == ESTIMATE_DROPPED;
	trial.shares_all = way == ESTIMATE_PIECES;
	trial.shares_cpus = way == ESTIMATE_SHARING;
	trial.crossing = way == ESTIMATE_FREE     ? CROSSING_FREE
			 : way == ESTIMATE_DEAR   ? CROSSING_DEAR
			 : way == ESTIMATE_PULLED ? CROSSING_PULLED
						  : CROSSING_USUAL;
	trial.finish_ns = NULL;
	return trial;
}

static bool way_matters(const struct replayer *replayer, enum estimate_way way)
{
	const bool matters[] = {
		[ESTIMATE_FAIR] = replayer->has_locks,
		[ESTIMATE_TIMEOUTS] = replayer->has_timeouts,
		[ESTIMATE_LATEST] = replayer->feeds_pools,
		[ESTIMATE_WOKEN] = replayer->has_rests,
		[ESTIMATE_DROPPED] = replayer->has_unruly,
		[ESTIMATE_PIECES] = replayer->has_unsure_rounds,
		[ESTIMATE_SHARING] = replayer->is_crowded,
		[ESTIMATE_FREE] = replayer->may_cross,
		[ESTIMATE_DEAR] = replayer->may_cross,
		[ESTIMATE_PULLED] = replayer->may_cross && assume.pulls,
	};
	return matters[way];
}

/* --- the unchanged run --- */

static int compare_starts(const void *left, const void *right, void *context)
{
	const struct request_time *times = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	if (times[a].start_ns != times[b].start_ns)
		return times[a].start_ns < times[b].start_ns ? -1 : 1;
	return (a > b) - (a < b);
}

static void order_requests(struct estimator *estimator)
{
	size_t count = estimator->replayer->request_count;
	estimator->request_order = memory_new(count, sizeof(*estimator->request_order));
	for (size_t i = 0; i < count; i++)
		estimator->request_order[i] = (uint32_t)i;
	if (count > 1)
		qsort_r(estimator->request_order, count, sizeof(*estimator->request_order),
			compare_starts, estimator->baseline_requests);
}

void estimator_begin(struct estimator *estimator, const struct replayer *replayer,
		     const double *sampling_error)
{
	assert(replayer->classes_at_once > 0);
	*estimator = (struct estimator){ .replayer = replayer, .sampling_error = sampling_error };
	estimator->baseline_finish_ns =
		memory_new(replayer->finish_count, sizeof(*estimator->baseline_finish_ns));
	estimator->baseline_requests =
		memory_new(replayer->request_count, sizeof(*estimator->baseline_requests));
	const struct trial recorded = { .as_recorded = true,
					.finish_ns = estimator->baseline_finish_ns,
					.requests = estimator->baseline_requests };
	const struct trial unchanged = { .requests = estimator->baseline_requests };
	replayer->run(replayer, &recorded, 1, estimator_scratch(estimator, 0),
		      &estimator->recorded);
	estimator->baseline = estimator->recorded;
	if (replayer->has_recorder)
		replayer->run(replayer, &unchanged, 1, estimator_scratch(estimator, 0),
			      &estimator->baseline);
	order_requests(estimator);
}

void estimator_compare(struct estimator *estimator, const double recorded_ns[REQUEST_FIGURES])
{
	for (size_t i = 0; i < REQUEST_FIGURES; i++) {
		double off_ns = fabs(recorded_ns[i] - estimator->recorded.requests_ns[i]);
		estimator->request_off_ns[i] = isnan(off_ns) ? 0 : off_ns;
	}
}

void estimator_end(struct estimator *estimator)
{
	for (size_t i = 0; i < WORKERS_MAX; i++)
		if (estimator->scratches[i])
			estimator->replayer->scratch_free(estimator->scratches[i]);
	free(estimator->baseline_finish_ns);
	free(estimator->baseline_requests);
	free(estimator->request_order);
	*estimator = (struct estimator){ 0 };
}

void *estimator_scratch(struct estimator *estimator, size_t worker)
{
	assert(worker < WORKERS_MAX);
	if (!estimator->scratches[worker])
		estimator->scratches[worker] =
			estimator->replayer->scratch_new(estimator->replayer);
	return estimator->scratches[worker];
}

static bool has_ended(struct estimator *estimator, const struct replay_answer *unchanged)
{
	if (unchanged->ran_away && !estimator->is_endless)
		estimator->endless_place = unchanged->stuck;
	estimator->is_endless = estimator->is_endless || unchanged->ran_away;
	return !unchanged->ran_away;
}

static void way_begin(struct estimator *estimator, enum estimate_way way)
{
	const struct trial unchanged = trial_in_way((struct trial){ 0 }, way);
	struct replay_answer answer = estimator->baseline;
	if (estimator->knows_way[way])
		return;
	/* other than the rest, this one also changes a run on the recorded CPUs */
	if (way_matters(estimator->replayer, way) ||
	    (way == ESTIMATE_PULLED && estimator->replayer->is_crowded))
		estimator->replayer->run(estimator->replayer, &unchanged, 1,
					 estimator_scratch(estimator, 0), &answer);
	estimator->way_baseline[way] = answer;
	estimator->way_is_endless[way] = !has_ended(estimator, &answer);
	estimator->knows_way[way] = true;
}

bool estimator_afford(struct estimator *estimator, size_t estimate_count)
{
	const struct replayer *replayer = estimator->replayer;
	size_t steps = estimate_count * (replayer->cost + 1), way_steps = 0;
	bool is_any = false;
	for (enum estimate_way way = 0; way < ESTIMATE_WAYS; way++) {
		bool matters = way_matters(replayer, way);
		way_steps += matters ? steps : 0;
		estimator->tries_way[way] = way_steps <= WAY_STEPS_MAX;
		is_any = is_any || (matters && estimator->tries_way[way]);
		if (estimator->tries_way[way])
			way_begin(estimator, way);
		estimator->tries_way[way] &= !estimator->way_is_endless[way];
	}
	estimator->tries_jitter = replayer->has_jitter && JITTERS * steps <= JITTER_STEPS_MAX;
	if (estimator->tries_jitter && !estimator->knows_jitter)
		jitter_begin(&estimator->jitter, replayer, &estimator->baseline,
			     estimator_scratch(estimator, 0));
	estimator->knows_jitter = estimator->knows_jitter || estimator->tries_jitter;
	for (size_t i = 1; estimator->tries_jitter && i <= JITTERS; i++)
		estimator->tries_jitter = has_ended(estimator, &estimator->jitter.baselines[i]);
	return is_any || estimator->tries_jitter;
}

/* --- a change --- */

static void estimate_widen(struct estimate *estimate, double saved_ns)
{
	estimate->least_ns = fmin(estimate->least_ns, saved_ns);
	estimate->most_ns = fmax(estimate->most_ns, saved_ns);
}

/* The range of requests comes to hold another saving. */
static void requests_widen(struct estimate *estimate, const struct replay_answer *before,
			   const struct replay_answer *after)
{
	for (size_t i = 0; i < REQUEST_FIGURES; i++) {
		struct shortened *figure = &estimate->requests[i];
		double saved_ns = before->requests_ns[i] - after->requests_ns[i];
		figure->least_ns = fmin(figure->least_ns, saved_ns);
		figure->most_ns = fmax(figure->most_ns, saved_ns);
	}
}

/* As a single replay has it. */
static struct estimate estimate_of(const struct estimator *estimator,
				   const struct replay_answer *answer)
{
	double saved_ns = estimator->baseline.makespan_ns - answer->makespan_ns;
	struct estimate estimate = {
		.saved_ns = saved_ns,
		.least_ns = saved_ns,
		.most_ns = saved_ns,
		.forced_steps = answer->forced_steps,
		.is_none =
			answer->ran_away ||
			(saved_ns < 0 && answer->forced_steps > estimator->baseline.forced_steps),
	};
	for (size_t i = 0; i < REQUEST_FIGURES; i++) {
		double request_ns = estimator->baseline.requests_ns[i] - answer->requests_ns[i];
		estimate.requests[i] =
			(struct shortened){ request_ns, request_ns, request_ns, false };
	}
	return estimate;
}

/* The saving of several scalings together is at most as sure as that of each. */
static void allow_for_sampling(const struct estimator *estimator, const struct trial *trial,
			       struct estimate *estimate)
{
	double variance = 0;
	for (size_t i = 0; estimator->sampling_error && i < trial->count; i++) {
		double error = estimator->sampling_error[trial->scalings[i].class];
		variance += error * error;
	}
	double error_ns = fabs(estimate->saved_ns) * CONFIDENCE_WIDTH * sqrt(variance);
	estimate->least_ns -= error_ns;
	estimate->most_ns += error_ns;
}

static void allow_for_jitter(const struct estimator *estimator, const struct replayer *replayer,
			     const struct trial *trial, void *scratch, struct replay_answer *answer,
			     struct estimate *estimate)
{
	double baseline_ns = estimator->baseline.makespan_ns;
	struct jitter_range range;
	bool differs = jitter_settle(&estimator->jitter, replayer, trial, scratch, answer, &range);
	if (differs) {
		*estimate = estimate_of(estimator, answer);
		estimate->is_none = estimate->is_none || range.ran_away;
	}
	for (size_t i = 0; i < REQUEST_FIGURES; i++) {
		double request_ns = estimator->baseline.requests_ns[i];
		estimate->requests[i] = (struct shortened){ request_ns - range.median_ns[i],
							    request_ns - range.most_ns[i],
							    request_ns - range.least_ns[i], false };
	}
	if (!differs)
		return;
	estimate_widen(estimate, baseline_ns - range.longest_ns);
	estimate_widen(estimate, baseline_ns - range.shortest_ns);
	estimate->depends_on_order = estimate->most_ns - estimate->least_ns > MATTERS * baseline_ns;
}

static void allow_for_way(const struct estimator *estimator, const struct replayer *replayer,
			  const struct trial *trial, enum estimate_way way, void *scratch,
			  struct estimate *estimate)
{
	const struct trial otherwise = trial_in_way(*trial, way);
	struct replay_answer answer;
	replayer->run(replayer, &otherwise, 1, scratch, &answer);
	if (answer.ran_away) { /* under these assumptions anything may happen */
		estimate->depends_on_order |= way == ESTIMATE_FAIR || way == ESTIMATE_DROPPED;
		estimate->depends_on_timeouts |= way == ESTIMATE_TIMEOUTS;
		estimate->depends_on_jobs |= way == ESTIMATE_LATEST || way == ESTIMATE_PIECES;
		estimate->depends_on_cpus |= way == ESTIMATE_SHARING;
		return;
	}
	double saved_ns = estimator->way_baseline[way].makespan_ns - answer.makespan_ns;
	double off_ns = fabs(saved_ns - estimate->saved_ns);
	if (way >= ESTIMATE_FREE)
		estimate->crossing_ns = fmax(estimate->crossing_ns, off_ns);
	if (way == ESTIMATE_DROPPED)
		estimate->waits_ns = off_ns;
	bool differs = off_ns > MATTERS * estimator->baseline.makespan_ns;
	estimate_widen(estimate, saved_ns);
	requests_widen(estimate, &estimator->way_baseline[way], &answer);
	if (answer.forced_steps > estimate->forced_steps)
		estimate->forced_steps = answer.forced_steps;
	estimate->depends_on_order |= differs && (way == ESTIMATE_FAIR || way == ESTIMATE_DROPPED);
	estimate->depends_on_timeouts |= differs && way == ESTIMATE_TIMEOUTS;
	estimate->depends_on_jobs |= differs && (way == ESTIMATE_LATEST || way == ESTIMATE_PIECES);
	estimate->depends_on_cpus |= differs && way == ESTIMATE_SHARING;
}

/* Of other requests of the same sort the figures are others. */
static void allow_for_requests(const struct estimator *estimator,
			       const struct request_time *requests, struct estimate *estimate)
{
	struct shortened sides[REQUEST_FIGURES];
	shortened_find(sides, estimator->baseline_requests, requests, estimator->request_order,
		       estimator->replayer->request_count);
	for (size_t i = 0; i < REQUEST_FIGURES; i++) {
		struct shortened *figure = &estimate->requests[i];
		figure->is_known = sides[i].is_known;
		if (!figure->is_known)
			continue;
		double off_ns = estimator->request_off_ns[i];
		figure->least_ns -= sides[i].saved_ns - sides[i].least_ns + off_ns;
		figure->most_ns += sides[i].most_ns - sides[i].saved_ns + off_ns;
	}
}

struct estimate estimate_first(const struct estimator *estimator, const struct trial *trial,
			       const struct replay_answer *answer)
{
	struct estimate estimate = estimate_of(estimator, answer);
	allow_for_sampling(estimator, trial, &estimate);
	assert(estimate_is_valid(&estimate));
	return estimate;
}

struct estimate estimate_make(const struct estimator *estimator, const struct replayer *replayer,
			      const struct trial *trial, const struct replay_answer *known,
			      void *scratch)
{
	struct replay_answer answer;
	struct trial plain = *trial, others = *trial;
	size_t request_count = replayer->request_count;
	struct request_time *own = NULL;
	assert(!trial->is_fair && !trial->shares_cpus && !trial->jitter);
	others.requests = NULL;
	if (!trial->requests)
		plain.requests = own = memory_new(request_count, sizeof(*own));
	if (known && (trial->requests || !request_count))
		answer = *known;
	else
		replayer->run(replayer, &plain, 1, scratch, &answer);
	struct estimate estimate = estimate_of(estimator, &answer);
	if (estimate.is_none) {
		free(own);
		return estimate;
	}
	if (estimator->tries_jitter)
		allow_for_jitter(estimator, replayer, &others, scratch, &answer, &estimate);
	if (replayer->may_cross && !estimator->tries_way[ESTIMATE_PULLED])
		estimate.crossing_ns = estimator->baseline.makespan_ns; /* nobody has looked */
	for (enum estimate_way way = 0; way < ESTIMATE_WAYS; way++)
		if (estimator->tries_way[way] &&
		    (way_matters(estimator->replayer, way) || way_matters(replayer, way)))
			allow_for_way(estimator, replayer, &others, way, scratch, &estimate);
	if (request_count && request_count == estimator->replayer->request_count)
		allow_for_requests(estimator, plain.requests, &estimate);
	free(own);
	allow_for_sampling(estimator, trial, &estimate);
	assert(estimate_is_valid(&estimate));
	return estimate;
}

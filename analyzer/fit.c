/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the CPUs that were left for the recorded processes, by halving an interval: with fewer CPUs
 * a run never gets shorter by more than a lock's luck, so that some value between gives the
 * recorded makespan. Whole ones that others had for themselves are gone already (leftover.c): what
 * is fitted is how slow the rest were, all alike, or, if the rest would not do, how many there were
 * after all. Else a replay that is too long has other reasons. One that is too short may have, too,
 * as a call that took longer once: fewer CPUs are taken for the cause only if threads then end
 * closer to where they did, all in all.
 *
 * One thread.
 */
#include "fit.h"

#include <math.h>
#include <stdlib.h>

#include "memory.h"
#include "simulate.h"

static const double CLOSE_ENOUGH = 0.005; /* of the makespan */
static const double NOT_ENOUGH = 0.05;    /* of the makespan: others did not have a whole CPU */
static const double CPUS_LEAST = 0.1;     /* with less than that nothing can be said */

enum { HALVINGS_MAX = 9 };

struct fit {
	struct script *script;
	uint64_t *finish_ns;
};

/* The makespan with so many CPUs; the threads' ends are in fit->finish_ns then. */
static double baseline_ns(struct fit *fit, double cpus)
{
	const struct trial trial = { .finish_ns = fit->finish_ns };
	struct replay_answer answer;
	fit->script->cpus = cpus;
	struct replayer replayer = simulate_replayer(fit->script);
	void *scratch = replayer.scratch_new(&replayer);
	replayer.run_trial(&replayer, &trial, scratch, &answer);
	replayer.scratch_free(scratch);
	return answer.makespan_ns;
}

/* How far from where they did all threads ended in the last replay. */
static double misses_ns(const struct fit *fit)
{
	const struct script *script = fit->script;
	double sum_ns = 0;
	for (size_t i = 0; i < script->actor_count; i++) {
		const struct actor *actor = &script->actors[i];
		if (actor->finish_ns > script->start_ns)
			sum_ns += fabs((double)fit->finish_ns[i] -
				       (double)(actor->finish_ns - script->start_ns));
	}
	return sum_ns;
}

/* Between these; those that give the recorded makespan, or nearly. */
static double halve(struct fit *fit, double low, double high)
{
	double actual_ns = (double)fit->script->actual_ns;
	for (int i = 0; i < HALVINGS_MAX; i++) {
		double middle = (low + high) / 2, replayed_ns = baseline_ns(fit, middle);
		if (fabs(replayed_ns - actual_ns) <= actual_ns * CLOSE_ENOUGH)
			return middle;
		if (replayed_ns < actual_ns)
			high = middle;
		else
			low = middle;
	}
	return high;
}

void fit_cpus(struct script *script)
{
	double all = script->cpus, actual_ns = (double)script->actual_ns;
	if (!script->was_crowded || all != script->left_cpus || isinf(all))
		return;
	struct fit fit = { .script = script };
	fit.finish_ns = memory_new(script->actor_count, sizeof(*fit.finish_ns));
	if (baseline_ns(&fit, all) < actual_ns * (1 - CLOSE_ENOUGH)) {
		double misses_with_all_ns = misses_ns(&fit), fewer = halve(&fit, CPUS_LEAST, all);
		baseline_ns(&fit, fewer);
		script->cpus = misses_ns(&fit) < misses_with_all_ns ? fewer : all;
	} else if (all < script->recorded_cpus &&
		   baseline_ns(&fit, all) > actual_ns * (1 + NOT_ENOUGH)) {
		script->cpus = halve(&fit, all, script->recorded_cpus);
	}
	free(fit.finish_ns);
}

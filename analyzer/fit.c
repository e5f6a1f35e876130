/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the CPUs that were left for the recorded processes, by halving an interval: with fewer CPUs
 * a run never gets shorter by more than a lock's luck, so that some value between gives the
 * recorded makespan. A replay that is too long has other reasons: there were never more CPUs than
 * there were.
 *
 * One thread.
 */
#include "fit.h"

#include <math.h>

#include "simulate.h"

static const double CLOSE_ENOUGH = 0.005; /* of the makespan */
static const double CPUS_LEAST = 0.1;     /* with less than that nothing can be said */

enum { HALVINGS_MAX = 9 };

static double baseline_ns(struct script *script, double cpus)
{
	const double as_recorded = 1;
	struct replay_answer answer;
	script->cpus = cpus;
	struct replayer replayer = simulate_replayer(script);
	void *scratch = replayer.scratch_new(&replayer);
	replayer.run(&replayer, NO_INDEX, &as_recorded, 1, scratch, &answer);
	replayer.scratch_free(scratch);
	return answer.makespan_ns;
}

void fit_cpus(struct script *script)
{
	double all = script->cpus, actual_ns = (double)script->actual_ns;
	if (!script->was_crowded || all != script->recorded_cpus || isinf(all))
		return;
	double with_all_ns = baseline_ns(script, all);
	if (with_all_ns >= actual_ns * (1 - CLOSE_ENOUGH))
		return;
	double low = CPUS_LEAST, high = all;
	for (int i = 0; i < HALVINGS_MAX; i++) {
		double middle = (low + high) / 2, replayed_ns = baseline_ns(script, middle);
		if (fabs(replayed_ns - actual_ns) <= actual_ns * CLOSE_ENOUGH)
			return;
		if (replayed_ns < actual_ns)
			high = middle;
		else
			low = middle;
	}
	script->cpus = high;
}

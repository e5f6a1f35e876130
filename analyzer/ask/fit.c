/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what other programs took of the CPUs, by replays of the unchanged run. There are two
 * explanations, tried in this order:
 *
 *   CPUs left   whole CPUs that other programs had for themselves are gone already (leftover.c),
 *               unless the replay is too long without them
 *   slower      if the replay is too short, all CPUs are slower alike; halving an interval finds
 *               how much gives the makespan, since with less of the CPUs a run hardly ever gets
 *               shorter
 *
 * A replay may be too short for other reasons, as a call that took longer once. So other programs
 * are the cause only if threads then end closer to where they did, all in all. A replay that is too
 * long has other reasons: there were never more CPUs than there were.
 *
 * One thread.
 */
#include "fit.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/assumptions.h"
#include "base/memory.h"
#include "replay/simulate.h"

enum { HALVINGS_MAX = 9 };

struct fit {
	const struct script *script;
	struct machine *machine;
	uint64_t *finish_ns;
};

/* The makespan with so many CPUs; the threads' ends are in fit->finish_ns then. */
static double baseline_ns(struct fit *fit, double cpus)
{
	const struct trial trial = { .finish_ns = fit->finish_ns };
	fit->machine->cpus = cpus;
	struct replayer replayer = simulate_replayer(fit->script, fit->machine);
	return replayer_try(&replayer, &trial).makespan_ns;
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

/* The CPUs, of so many, that give the recorded makespan, or nearly. */
static double halve(struct fit *fit, double all)
{
	double low = MACHINE_CPUS_LEAST, high = all, actual_ns = (double)fit->script->actual_ns;
	assert(low <= high && isfinite(high));
	for (int i = 0; i < HALVINGS_MAX; i++) {
		double middle = (low + high) / 2, replayed_ns = baseline_ns(fit, middle);
		if (fabs(replayed_ns - actual_ns) <= actual_ns * assume.fit_close)
			return middle;
		if (replayed_ns < actual_ns)
			high = middle;
		else
			low = middle;
	}
	return high;
}

/* Slower CPUs, of those that are left. The last replay had them all at full speed. */
static void fit_others(struct fit *fit, double all)
{
	double misses_with_all_ns = misses_ns(fit);
	if (!assume.slower_cpus)
		return;
	double fewer = halve(fit, all);
	baseline_ns(fit, fewer);
	fit->machine->cpus = misses_ns(fit) < misses_with_all_ns ? fewer : all;
}

void fit_cpus(struct machine *machine, const struct script *script)
{
	double actual_ns = (double)script->actual_ns;
	if (!script->was_crowded || machine->cpus != machine->left_cpus || isinf(machine->cpus))
		return;
	struct fit fit = { .script = script, .machine = machine };
	fit.finish_ns = memory_new(script->actor_count, sizeof(*fit.finish_ns));
	double all = machine->left_cpus, replayed_ns = baseline_ns(&fit, all);
	if (all < machine->recorded_cpus && replayed_ns > actual_ns * (1 + assume.fit_too_long)) {
		all = machine->left_cpus = machine->recorded_cpus;
		replayed_ns = baseline_ns(&fit, all);
	}
	if (replayed_ns < actual_ns * (1 - assume.fit_close))
		fit_others(&fit, all);
	free(fit.finish_ns);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Derives the machine of a replay from the recorded one.
 *
 * On one CPU, to wake a thread takes next to nothing: it has to go on sleeping until it gets the
 * CPU. With another CPU there is an interrupt to send, and a CPU that has to come back from idling.
 * That takes a few microseconds on a machine that polls meanwhile, and up to 60 on one that lets
 * its host have an idle CPU. The assumption `crossing` is between these. It applies to locks, and
 * to signals of conditions: there the hand-over is all that happens.
 *
 * A recording does not say how many of its wake-ups would be on another CPU, nor what those would
 * cost. The range of an answer about CPUs has both ends of that: nothing, and the most for each.
 *
 * A thread that writes to a pipe or socket tells the kernel that it is about to sleep. The kernel
 * may then let the reader run on the writer's CPU, though another one is idle. The range covers
 * that, too.
 *
 * One thread.
 */
#include "machine.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/assumptions.h"
#include "base/memory.h"

/* That number was asked for of each kernel; 0: as many as there were. */
static void ask_for(struct machine *machine, const struct script *script, double asked_cpus)
{
	double cpus = asked_cpus * (double)(script->kernel_count ? script->kernel_count : 1);
	bool is_known = asked_cpus > 0 && !isinf(machine->recorded_cpus);

	machine->asked_cpus = asked_cpus;
	if (asked_cpus > 0)
		machine->cpus = cpus;
	machine->has_more = is_known && cpus > machine->recorded_cpus;
	machine->has_fewer = is_known && cpus < machine->recorded_cpus;
}

void machine_begin(struct machine *machine, const struct script *script, double asked_cpus)
{
	assert(script->recording && asked_cpus >= 0);
	*machine = (struct machine){
		.recorded_cpus = script->recorded_cpus,
		.tick_ns = script->recorded_tick_ns ? script->recorded_tick_ns : assume.tick,
		.cache_cpus = assume.near_cpus > 0 ? script->recorded_cache_cpus : 0,
		.cpus = script->recorded_cpus,
		.has_others = !(asked_cpus > 0)
	};
	if (!script->recording->sample_count)
		machine->cpus = INFINITY; /* no sample tells when a thread ran */
	machine->crosses = machine_crosses(machine, asked_cpus);
	ask_for(machine, script, asked_cpus);
}

struct machine machine_with_cpus(const struct machine *machine, const struct script *script,
				 double cpus)
{
	struct machine other = *machine;

	assert(cpus > 0);
	other.crosses = machine->crosses || machine_crosses(machine, cpus);
	ask_for(&other, script, cpus);
	return other;
}

double machine_cpus_of(const struct machine *machine, const struct script *script, size_t kernel)
{
	if (script->kernel_count < 2 || isinf(machine->cpus))
		return machine->cpus;
	return machine->asked_cpus > 0 ? machine->asked_cpus : script->kernel_cpus[kernel];
}

double machine_spare_cpus(const struct machine *machine, const struct script *script,
			  bool with_others)
{
	size_t kernels = script->kernel_count ? script->kernel_count : 1;
	double *spare = memory_new(kernels, sizeof(*spare)), least = INFINITY;

	for (size_t i = 0; script->kernel_count > 1 && i < script->actor_count; i++)
		spare[script->actors[i].kernel]--;
	if (script->kernel_count < 2)
		spare[0] = -(double)script->actor_count;
	for (size_t i = 0; with_others && i < script->others.kernel_count; i++)
		spare[i] -= script->others.there[i].stranger_count;
	for (size_t i = 0; i < kernels; i++)
		least = fmin(least, spare[i] + machine_cpus_of(machine, script, i));
	free(spare);
	return least;
}

bool machine_is_crowded(const struct machine *machine, const struct script *script)
{
	return machine->has_more || machine_spare_cpus(machine, script, machine->has_others) < 0;
}

struct crossing_cost machine_crossing(const struct machine *machine, enum crossing crossing)
{
	struct crossing_cost cost = { .most_ns = UINT64_MAX, .pulls = crossing == CROSSING_PULLED };

	if (crossing == CROSSING_FREE && machine->has_fewer) {
		cost.most_ns = 0;
		cost.run_ns = -(int64_t)assume.crossing_run_most;
		cost.is_of_all = true;
	} else if (crossing == CROSSING_DEAR && machine->has_more) {
		cost.least_ns = assume.crossing_most;
		cost.run_ns = (int64_t)assume.crossing_run_most;
		cost.is_of_all = true;
	} else if (crossing != CROSSING_FREE && machine->crosses) {
		cost.least_ns = assume.crossing;
		cost.signal_run_ns = assume.crossing_run;
	}
	return cost;
}

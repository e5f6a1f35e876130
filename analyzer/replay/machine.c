/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Derives the machine of a replay from the recorded one.
 *
 * On one CPU, to wake a thread takes next to nothing: it has to go on sleeping until it gets the
 * CPU. With another CPU there is an interrupt to send, and a CPU that has to come back from idling.
 * That takes a few microseconds on a machine that polls meanwhile, and up to 60 on one that lets
 * its host have an idle CPU. The assumption `crossing` is between these. It applies to locks, and
 * to signals of conditions: there the hand-over is all that happens. A call on a pipe or socket
 * takes longer than that, anyway.
 *
 * One thread.
 */
#include "machine.h"

#include <assert.h>
#include <math.h>

void machine_begin(struct machine *machine, const struct script *script, double asked_cpus)
{
	assert(script->recording && asked_cpus >= 0);
	*machine = (struct machine){ .recorded_cpus = script->recorded_cpus,
				     .cpus = script->recorded_cpus,
				     .has_others = !(asked_cpus > 0) };
	if (asked_cpus > 0)
		machine->cpus = asked_cpus;
	else if (!script->recording->sample_count)
		machine->cpus = INFINITY; /* no sample tells when a thread ran */
	machine->crosses = machine_crosses(machine, asked_cpus);
}

struct machine machine_with_cpus(const struct machine *machine, double cpus)
{
	struct machine other = *machine;

	assert(cpus > 0);
	other.cpus = cpus;
	other.crosses = machine->crosses || machine_crosses(machine, cpus);
	return other;
}

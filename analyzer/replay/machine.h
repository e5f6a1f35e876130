/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPUs that a replay has. A script says what threads do, a machine what they do it on.
 *
 * A value: whoever assumes another machine copies one and changes the copy. Read-only in a replay.
 */
#ifndef WCPROF_MACHINE_H
#define WCPROF_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "script/script.h"

struct machine {
	double recorded_cpus; /* that the processes could use; infinite: not known */
	double cpus;          /* that all actors share; infinite: as many as actors */
	bool has_others;      /* other programs use them as in the recording */
	bool crosses;         /* machine_crosses() for these CPUs, or for those asked for before */
};

/* As recorded (asked_cpus 0), or with as many CPUs as were asked for; nobody else uses those. */
void machine_begin(struct machine *, const struct script *, double asked_cpus);

/* The same machine with another number of CPUs: other programs go on wanting as much of them. */
struct machine machine_with_cpus(const struct machine *, double cpus);

/* The recorded run had one CPU, and so many are more. The cost of waking a thread on
 * another CPU is not in the recording then. */
static inline bool machine_crosses(const struct machine *machine, double cpus)
{
	return machine->recorded_cpus < 2 && cpus > machine->recorded_cpus;
}

/* Whether one of the actors may have to wait for a CPU. */
static inline bool machine_is_crowded(const struct machine *machine, const struct script *script)
{
	uint32_t strangers = machine->has_others ? script->others.stranger_count : 0;

	return machine->cpus < (double)script->actor_count + strangers;
}

#endif

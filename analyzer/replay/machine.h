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

#include "replayer.h"
#include "script/script.h"

struct machine {
	double recorded_cpus; /* that the processes could use; infinite: not known */
	uint64_t tick_ns;     /* of their schedulers */
	uint32_t cache_cpus;  /* CPUs of one cache; 0: all share it */
	double cpus;          /* of all kernels; infinite: as many as actors */
	double asked_cpus;    /* of each kernel; 0: as recorded */
	bool has_others;      /* other programs use them as in the recording */
	bool crosses;         /* machine_crosses() for these CPUs, or for those asked for before */
	bool has_more;        /* CPUs than were recorded; */
	bool has_fewer;       /* fewer */
};

/* The cost of waking a thread that may be on another CPU, beside that in the recording. */
struct crossing_cost {
	uint64_t least_ns; /* a wake-up takes at least that, and */
	uint64_t most_ns;  /* at most that */
	/* CPU time of the waker; negative: the recording has so much too much */
	int64_t run_ns;
	uint64_t signal_run_ns; /* the same of signals to conditions alone */
	bool is_of_all;         /* run_ns and these bounds; else the bounds are those of locks */
	bool pulls;             /* a thread that is woken by bytes goes to its waker's CPU */
};

struct crossing_cost machine_crossing(const struct machine *, enum crossing);

/* As recorded (asked_cpus 0), or with as many CPUs of each kernel as were asked for; nobody else
 * uses those. */
void machine_begin(struct machine *, const struct script *, double asked_cpus);

/* The same machine with another number of CPUs of each kernel: other programs go on wanting as much
 * of them. */
struct machine machine_with_cpus(const struct machine *, const struct script *, double cpus);

/* Those that a kernel's actors share; infinite: as many as there are of them. */
double machine_cpus_of(const struct machine *, const struct script *, size_t kernel);

/* The recorded run had one CPU, and so many are more. The cost of waking a thread on
 * another CPU is not in the recording then. */
static inline bool machine_crosses(const struct machine *machine, double cpus)
{
	return machine->recorded_cpus < 2 && cpus > machine->recorded_cpus;
}

/* Those of the kernel with the fewest CPUs that are left over if each of its actors has one, and
 * with others each stranger. Negative: that many are missing. */
double machine_spare_cpus(const struct machine *, const struct script *, bool with_others);

/* Whether one of the actors may have to wait for a CPU. With more CPUs than were recorded two
 * actors may still share one. */
bool machine_is_crowded(const struct machine *, const struct script *);

#endif

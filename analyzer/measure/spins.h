/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU time that threads spent waiting: in code that only looks whether another thread has written
 * something, as far as samples show it. The replay takes it for work.
 */
#ifndef WCPROF_SPINS_H
#define WCPROF_SPINS_H

#include "names/symbols.h"
#include "recording/recording.h"

struct spins {
	uint64_t looked_ns; /* CPU time of samples whose code was here to be looked at */
	uint64_t total_ns;  /* CPU time that the samples stand for; 0 = none was seen */
	uint64_t thread_ns; /* of that: of the one thread with most of it */
	uint64_t most_ns;   /* of the one function and thread with most of it */
	uint32_t function;  /* string id, 0 = it has no name */
	uint32_t thread;    /* index into threads, of that function; NO_INDEX = none was seen */
};

/* While symbols are there; adds strings to the recording. */
void spins_build(struct spins *spins, struct recording *recording, struct symbols *symbols);

#endif

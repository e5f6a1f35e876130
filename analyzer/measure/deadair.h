/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dead air: stretches of the recording in which no op was running at all.
 *
 * Times are relative to the start of the first op. Read-only after deadair_build.
 */
#ifndef WCPROF_DEADAIR_H
#define WCPROF_DEADAIR_H

#include "recording/graph.h"

struct gap {
	uint64_t start_ns;
	uint64_t end_ns;
};

struct deadair {
	struct gap *gaps; /* by start */
	size_t gap_count;
	uint64_t total_ns;
};

/* Gaps of at least min_ns, and never empty ones. */
void deadair_build(struct deadair *deadair, const struct graph *graph, uint64_t min_ns);
void deadair_free(struct deadair *deadair);

#endif

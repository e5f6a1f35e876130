/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All time of all threads as parts of paths: on a CPU, waiting for one, in calls, in waits.
 *
 * A lane a thread, from its first event to its last. Built once, read-only afterwards.
 */
#ifndef WCPROF_TIMEPARTS_H
#define WCPROF_TIMEPARTS_H

#include "lanes.h"
#include "requestpaths.h"

/* The keys of the lanes are numbers of parts. */
void time_parts_build(struct lanes *lanes, struct path_parts *parts,
		      const struct request_paths_of *of);

#endif

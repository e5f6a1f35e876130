/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The critical path of a run as recorded: what its end waited for, back to its begin.
 *
 * From the thread that ran last it goes back in time. Where another thread ended a wait, it goes on
 * with that one, at the moment at which it did. Where a thread begins, it goes on with the one that
 * started it. No replay: it is the recording's word alone. Where no thread is known to have run,
 * the one that ended last is the begin. One thread.
 */
#ifndef WCPROF_RUNPATH_H
#define WCPROF_RUNPATH_H

#include "joints.h"

struct path_piece {
	uint64_t start_ns;
	uint64_t end_ns; /* later than start_ns */
	uint32_t thread;
};

struct run_path {
	/* The last one first, without overlap. A gap: the next one's thread had not begun. */
	struct path_piece *pieces;
	size_t count, room;
};

/* Empty for a recording that names no threads. `wakers` may be empty. */
void run_path_build(struct run_path *path, const struct recording *recording,
		    const struct timeline *timeline, const struct wakers *wakers);
void run_path_free(struct run_path *path);

#endif

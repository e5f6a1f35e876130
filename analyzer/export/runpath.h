/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The path that the end of a run waited for, as recorded.
 *
 * It goes back in time from the thread that ran last, at each wait to the thread that put an end to
 * that.
 *
 * No replay is asked: these are the threads that were ahead in this run. The walk goes through all
 * threads meanwhile. One thread.
 */
#ifndef WCPROF_RUNPATH_H
#define WCPROF_RUNPATH_H

#include "walk.h"

enum { RUN_PATH_PIECES_MAX = 20000 };

struct path_piece {
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t thread;
};

struct run_path {
	struct path_piece *pieces; /* the last one first */
	size_t count, room;
};

void run_path_build(struct run_path *path, struct walk *walk);
void run_path_free(struct run_path *path);

#endif

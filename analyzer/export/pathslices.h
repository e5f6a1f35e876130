/* SPDX-License-Identifier: Apache-2.0 */
/* The slices of threads that the critical path of a run goes through. One thread. */
#ifndef WCPROF_PATHSLICES_H
#define WCPROF_PATHSLICES_H

#include "paths/runpath.h"
#include "walk.h"

struct path_slices {
	/* In order of time, without overlap; their first and last ones are cut where the path comes
	 * and goes. */
	struct walk_slice *slices;
	size_t count, room;
};

/* The walk is one that has begun; it is at no thread afterwards. */
void path_slices_build(struct path_slices *slices, struct walk *walk);
void path_slices_free(struct path_slices *slices);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel has counted of this process since it has an arena: CPU time, and how often its
 * threads gave up a CPU or lost it. Beside what was recorded, this says what was not.
 *
 * Any thread of the process, one at a time (who makes the arena, then its drainers); a reader from
 * outside sees what was saved last.
 */
#ifndef WCPROF_USAGE_H
#define WCPROF_USAGE_H

#include "arena.h"

/* When the arena is made. */
void usage_begin(struct arena *) HIDDEN;
void usage_save(struct arena *) HIDDEN;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's counts for this process since it has an arena: CPU time, and how often its threads
 * gave up a CPU or lost it. Beside the recording, this says how much is not in it.
 *
 * Any thread of the process, one at a time: the one that makes the arena, then its drainers. A
 * reader from outside sees the values saved last.
 */
#ifndef WCPROF_USAGE_H
#define WCPROF_USAGE_H

#include "arena.h"

/* When the arena is made. */
void usage_begin(struct arena *) HIDDEN;
void usage_save(struct arena *) HIDDEN;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much other programs were in the way of the recorded threads.
 *
 * The kernel says how long recorded threads waited in the queues of CPUs. It does not say which of
 * the other programs were nice, slept often, or had a share of their own. So strangers that want as
 * much of the CPUs may hold recorded threads up for longer than the others did, or for less.
 */
#ifndef WCPROF_PRESSURE_H
#define WCPROF_PRESSURE_H

#include "replay/machine.h"
#include "script/script.h"

/* Sets that of the script's strangers. Before a replayer is made of it for anything else. */
void pressure_find(struct script *, const struct machine *);

#endif

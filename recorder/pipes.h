/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pipes that this process can write to as it ends: reads of the other ends wait for that.
 */
#ifndef WCPROF_PIPES_H
#define WCPROF_PIPES_H

#include "gate.h"

/* A link for each of them, from this thread's op, if recording is on. */
void pipes_end(void) HIDDEN;

#endif

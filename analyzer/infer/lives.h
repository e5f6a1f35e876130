/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Semaphores that were made where another one had been.
 *
 * Called once, before anything else is inferred. One thread.
 */
#ifndef WCPROF_LIVES_H
#define WCPROF_LIVES_H

#include "recording/recording.h"

/* From the first on that a program makes at an address, each has an address of its own: no program
 * has such addresses. */
void lives_tell_apart(struct recording *);

#endif

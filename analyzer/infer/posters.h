/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose permit a wait for a semaphore got.
 *
 * Called once, before anything is selected or analyzed. One thread.
 */
#ifndef WCPROF_POSTERS_H
#define WCPROF_POSTERS_H

#include "recording/recording.h"

void posters_find(struct recording *);

#endif

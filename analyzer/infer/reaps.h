/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the calls that a child's end put an end to: they are waits for that child.
 *
 * To be called before anything is built on the recording: waits are added to it.
 */
#ifndef WCPROF_REAPS_H
#define WCPROF_REAPS_H

#include "recording/recording.h"

void reaps_find(struct recording *);

#endif

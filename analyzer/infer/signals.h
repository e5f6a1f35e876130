/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the calls that a recorded signal put an end to: they are waits for it.
 *
 * To be called after reaps_find(), and before anything is built on the recording: waits are added
 * to it. Their address is the number of the link that sent the signal.
 */
#ifndef WCPROF_SIGNALS_H
#define WCPROF_SIGNALS_H

#include "recording/recording.h"

void signals_find(struct recording *);

#endif

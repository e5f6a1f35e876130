/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits that only the clock ends are sleeps, and become ops of that kind.
 *
 * Called once, when it is known what signals and the ends of children put an end to. One thread.
 */
#ifndef WCPROF_TIMERS_H
#define WCPROF_TIMERS_H

#include "recording/recording.h"

void timers_find(struct recording *recording);

#endif

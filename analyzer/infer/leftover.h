/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many CPUs other programs left to the recorded ones. A program of another
 * container, service or session that keeps a CPU busy all the time has it for itself. The recorded
 * threads gather on the others.
 */
#ifndef WCPROF_LEFTOVER_H
#define WCPROF_LEFTOVER_H

#include "recording/recording.h"

/*
 * Of `all` CPUs, how many the recorded threads used at a time: one after the other may have been
 * these, but the others hardly ever. At least 1; `all` if that is infinite, or the recording does
 * not say where its threads ran. Says nothing of why: they may have had no use for more.
 */
double leftover_cpus(const struct recording *, double all);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of the CPUs a recorded run really had: other programs' use of them is not in the
 * recording.
 *
 * One thread.
 */
#ifndef WCPROF_FIT_H
#define WCPROF_FIT_H

#include "replay/machine.h"
#include "script/script.h"

/*
 * Sets the machine's cpus so that the replay of the unchanged run is as long as it was, if any
 * number does that. Only of a crowded recording; a number of CPUs that was asked for stays.
 */
void fit_cpus(struct machine *, const struct script *);

#endif

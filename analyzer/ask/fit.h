/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of the CPUs a recorded run really had: what others used meanwhile is not in the
 * recording.
 */
#ifndef WCPROF_FIT_H
#define WCPROF_FIT_H

#include "replay/machine.h"
#include "script/script.h"

/*
 * Sets the machine's cpus and strangers, if the recording was crowded, to what makes the replay of
 * the unchanged run as long as it was, if anything does. A number of CPUs that was asked for stays.
 */
void fit_cpus(struct machine *, const struct script *);

#endif

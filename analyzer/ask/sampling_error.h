/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampling error of an answer. Samples say how much of a stretch of time ran a function, or ran
 * at all, and where they fell is chance.
 *
 * One thread.
 */
#ifndef WCPROF_SAMPLING_ERROR_H
#define WCPROF_SAMPLING_ERROR_H

#include "replay/machine.h"
#include "script/script.h"

/* By hypothesis, classes and then functions: a standard deviation, as a part of what is saved. To
 * be freed. */
double *sampling_error_build(const struct script *, const struct machine *);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What part of an answer is chance, because samples say how much of a stretch of time ran what, or
 * ran at all.
 */
#ifndef WCPROF_NOISE_H
#define WCPROF_NOISE_H

#include "script/script.h"

/* By hypothesis, classes and then functions: a standard deviation, as a part of what is saved. To
 * be freed. */
double *noise_build(const struct script *);

#endif

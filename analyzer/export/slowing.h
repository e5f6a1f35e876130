/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output of --slow-rules: the classes that a trial slows (wcprof try), with their rules.
 *
 * One thread.
 */
#ifndef WCPROF_SLOWING_H
#define WCPROF_SLOWING_H

#include <stdio.h>

#include "report/analysis.h"

/* 0, or -EINVAL with a line in `error`: a name that no class has. */
int slowing_write(FILE *file, const struct recording *recording, const struct options *options,
		  const struct labels *labels, char error[OPTIONS_ERROR_BYTES]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes what recordings cost, each by itself, as lines of JSON: for programs that compare many.
 *
 * The figures are those that --diff compares (costs.h), summed over all stretches. One thread.
 */
#ifndef WCPROF_COSTLINES_H
#define WCPROF_COSTLINES_H

#include <stdio.h>

#include "sides.h"

/* A line for each path of the options. 0, or -errno with a line in `error`: the lines before that
 * recording's are written. */
int cost_lines_write(FILE *file, const struct options *options, char error[SIDES_ERROR_BYTES]);

#endif

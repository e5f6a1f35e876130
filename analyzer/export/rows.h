/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows for a database: an analysis as tables, whose columns rows.def lists.
 *
 * A file for each table, of lines of JSON, compressed. Sums of a window are those of --json. One
 * thread.
 */
#ifndef WCPROF_ROWS_H
#define WCPROF_ROWS_H

#include "report/eachwindow.h"

/* 0, or -EINVAL with a line in `error`: tags that are none. */
int rows_check(const struct options *options, char error[EACH_WINDOW_ERROR_BYTES]);

/* Each window of the dumps into files in the folder that the options name, which is made. 0, or
 * -errno with a line in `error`. */
int rows_write(const struct options *options, char error[EACH_WINDOW_ERROR_BYTES]);

#endif

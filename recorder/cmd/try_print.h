/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The results of a trial: a table with a sentence on each row, or an object of JSON for each.
 */
#ifndef WCPROF_TRY_PRINT_H
#define WCPROF_TRY_PRINT_H

#include "try.h"

/* CMD_DONE, or CMD_DISAGREES: some row disagrees with its prediction, or has none. A row that
 * cannot be slowed says nothing. */
int try_print(const struct try_plan *plan);

#endif

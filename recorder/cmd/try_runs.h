/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trial of a program by whole runs: some in which a class takes longer, beside others in which it
 * does not.
 */
#ifndef WCPROF_TRY_RUNS_H
#define WCPROF_TRY_RUNS_H

#include "try.h"

/* Fills in what was measured and predicted: CMD_DONE, or CMD_FAILED when it was complained of. */
int try_runs(struct try_plan *plan);

#endif

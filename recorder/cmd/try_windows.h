/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trial of running processes: windows of time in which a class takes longer, beside windows in
 * which it does not.
 */
#ifndef WCPROF_TRY_WINDOWS_H
#define WCPROF_TRY_WINDOWS_H

#include "try.h"

/* Fills in what was measured and predicted: CMD_DONE, or CMD_FAILED when it was complained of. */
int try_windows(struct try_plan *plan);

#endif

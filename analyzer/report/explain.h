/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps that threads are replayed by, in words: they tell why a replay says what it says.
 *
 * One thread.
 */
#ifndef WCPROF_EXPLAIN_H
#define WCPROF_EXPLAIN_H

#include "labels.h"

#include <stdio.h>

/*
 * The threads that --explain names, step by step; a list of all if it names none. 0, or -EINVAL
 * with a line in `error`: there is no such thread, or there are no steps.
 */
int explain_write(FILE *, const struct recording *, const struct options *, const struct labels *,
		  char error[OPTIONS_ERROR_BYTES]);

#endif

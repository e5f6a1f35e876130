/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes slow requests against usual ones as folded stacks with two counts, which difffolded.pl
 * takes: of the body, of the tail, in nanoseconds per request.
 *
 * Frames are the sort of time, its name, and who held it: "lock;table_lock;store 1200 950000".
 */
#ifndef WCPROF_FOLDEDTAIL_H
#define WCPROF_FOLDEDTAIL_H

#include <stdbool.h>
#include <stdio.h>

struct analysis;

/* False: there is no tail, and nothing is written. */
bool folded_tail_write(FILE *file, const struct analysis *analysis);

#endif

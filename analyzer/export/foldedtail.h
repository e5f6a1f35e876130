/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes slow requests against usual ones as folded stacks with two counts, which difffolded.pl
 * takes: of the body, of the tail, in nanoseconds per request.
 *
 * Frames are the sort of time, its name, and who held it: "lock;table_lock;store 1200 950000". Or
 * they are those of folded.h, of the slow requests' own threads, or of the calls of a class.
 */
#ifndef WCPROF_FOLDEDTAIL_H
#define WCPROF_FOLDEDTAIL_H

#include <stdbool.h>
#include <stdio.h>

#include "folded.h"

struct analysis;

/* False: there is no tail, and nothing is written. */
bool folded_tail_write(FILE *file, const struct analysis *analysis);

/* Stacks, as --tail asks for them; `said` tells of how many, or why there are none: then false. */
enum { FOLDED_TAIL_BYTES = 256 };
bool folded_tail_write_stacks(FILE *file, enum folded_of of, const struct analysis *analysis,
			      char said[FOLDED_TAIL_BYTES]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a recording as folded stacks, which flamegraph.pl and speedscope draw: one line for each
 * stack, frames from the outermost inwards with ; between, then microseconds.
 *
 * The first frame is the thread's name. The last one of a stack that was blocked is what blocked
 * it, such as "mutex table_lock" or "io read". It is "idle: io accept" while there was no work.
 */
#ifndef WCPROF_FOLDED_H
#define WCPROF_FOLDED_H

#include <stdio.h>

#include "slowspans.h"
#include "walk.h"

enum folded_of {
	FOLDED_WAIT, /* blocked time */
	FOLDED_CPU,  /* CPU time */
	FOLDED_WALL, /* both, and what is unexplained */
	FOLDED_LOCK  /* time spent waiting for locks */
};

/* The word for --folded; false when it is none. */
bool folded_parse(const char *word, enum folded_of *of);

/* A frame's text; what would end a frame or a line is replaced. */
void folded_put_text(FILE *file, const char *text);

/* Of a recording that is not analyzed. */
void folded_print(FILE *file, enum folded_of of, const struct recording *recording,
		  const struct labels *labels);

/* The same with two counts, for difffolded.pl: nanoseconds in a usual request, in a slow one. */
void folded_print_tail(FILE *file, enum folded_of of, struct walk *walk,
		       const struct slow_spans *spans);

#endif

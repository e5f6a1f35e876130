/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a recording as folded stacks, which flamegraph.pl and speedscope draw: one line for each
 * stack, frames from the outermost inwards with ; between, then microseconds.
 *
 * The first frame is the thread's name. The last one of a stack that was blocked is what blocked
 * it, such as "mutex table_lock" or "io read".
 */
#ifndef WCPROF_FOLDED_H
#define WCPROF_FOLDED_H

#include <stdio.h>

#include "measure/threadtime.h"
#include "names/framenames.h"
#include "recording/recording.h"

enum folded_of {
	FOLDED_WAIT, /* blocked time */
	FOLDED_CPU,  /* CPU time */
	FOLDED_WALL, /* both, and what is unexplained */
	FOLDED_LOCK  /* time spent waiting for locks */
};

/* The word for --folded; false when it is none. */
bool folded_parse(const char *word, enum folded_of *of);

/* `wait_name` has a string id per wait; NULL takes each wait's own ident. */
void folded_write(FILE *file, enum folded_of of, const struct recording *recording,
		  const struct thread_table *threads, const struct frame_names *names,
		  const uint32_t *wait_name);

#endif

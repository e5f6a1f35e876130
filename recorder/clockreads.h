/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that ask what time it is: from which places a thread does that, how often, and when last.
 *
 * Programs ask for the time more often than for anything else, and most of it means nothing. So a
 * call costs a look at the clock, and no record. A few places are remembered in each thread's slot.
 * When the thread ends, each place gives links to its first call, its last but one and its last.
 * From these an analyzer sees that a loop ended when it did because of the time.
 */
#ifndef WCPROF_CLOCKREADS_H
#define WCPROF_CLOCKREADS_H

#include <stdint.h>

#include "recorder.h"

/* This thread ends, and is not inside the recorder. */
void clock_reads_end(void) HIDDEN;

#endif

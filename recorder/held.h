/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals that a write of ours may bring, held back from the calling thread: the program would not
 * have got them without us.
 */
#ifndef WCPROF_HELD_H
#define WCPROF_HELD_H

#include "recorder.h"

struct held_signals {
	uint64_t mask;    /* as it was */
	uint64_t pending; /* the program's own */
};

/* Around the write, on one thread. */
void held_begin(struct held_signals *) HIDDEN;
void held_end(const struct held_signals *) HIDDEN;

#endif

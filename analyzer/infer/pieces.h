/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces of work that threads share out among themselves by a counter in memory, or by stealing.
 *
 * Nothing is recorded of how a thread comes by a piece. In a replay whichever thread is free has
 * the next one. Built once, read-only afterwards.
 */
#ifndef WCPROF_PIECES_H
#define WCPROF_PIECES_H

#include "recording/classes.h"
#include "recording/timeline.h"

/* The work that threads have to do between two meetings. */
struct round {
	uint32_t family; /* rounds of one family have the same sort of pieces */
	uint32_t first;  /* of its pieces, in the order in which they were begun */
	uint32_t count;
	bool is_sure; /* else they may have been given out beforehand */
};

/* A piece begins, or the thread's last one has ended. */
struct piece_mark {
	uint64_t at_ns; /* it was free to begin the piece */
	size_t moment;  /* of the timeline */
	uint32_t round;
	uint32_t piece; /* among those of all rounds; NO_INDEX = the last one has ended */
	bool is_first;  /* of its thread: before that moment; else behind it */
};

struct pieces {
	struct round *rounds;
	size_t round_count;
	struct piece_mark *marks; /* by moment; each thread of a round has two or more of it */
	size_t mark_count;
	size_t piece_count;
};

/* Of the first `thread_count` threads. */
void pieces_build(struct pieces *, const struct recording *, const struct class_table *,
		  const struct timeline *, size_t thread_count);
void pieces_free(struct pieces *);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dump: an arena as JSON lines. The same code serves the socket, the exit of the process and
 * recovery.
 *
 * 	struct dump dump;
 * 	if (dump_begin(&dump, arena, buffer, sizeof(buffer), DUMP_RUNNING) == 0) {
 * 		while (dump_fill(&dump))
 * 			write(dump.text.bytes, dump.text.used);
 * 		dump_end(&dump, everything was written);
 * 	}
 *
 * From begin to end the caller is the arena's drainer. Nothing here waits for the program, or
 * allocates.
 */
#ifndef WCPROF_DUMP_H
#define WCPROF_DUMP_H

#include "clock.h"
#include "owncost.h"
#include "snapshot.h"
#include "text.h"

enum {
	/* The longest single piece that is written at once (argv, all of it escaped), and some. */
	DUMP_PIECE_BYTES_MAX = 32768,
	DUMP_BUFFER_BYTES = 262144
};

struct dump {
	struct arena *arena;
	struct snapshot snapshot;
	struct text text;
	uint32_t phase;   /* which part of the dump comes next */
	uint32_t index;   /* which element of that part */
	uint32_t word;    /* events: where the next record of chunk `index` begins */
	uint32_t written; /* elements of the list so far: whether a comma is due */
	uint32_t module_hint;
	struct idle_entry last_idle; /* that was written */
	struct owncost_reading cost;
	uint64_t limit_ticks; /* of the chunk that is being written: older ones are left out */
};

static inline uint64_t dump_ns(const struct dump *dump, uint64_t ticks)
{
	return clock_to_ns(&dump->snapshot.clock, ticks);
}

/* 0, -EBUSY, -ENOMEM as snapshot_take(). The buffer holds at least two pieces. */
int dump_begin(struct dump *, struct arena *, char *buffer, size_t bytes, enum dump_of of) HIDDEN;
/* The same without what ended longer ago than that; 0 = all. */
int dump_begin_last(struct dump *, struct arena *, char *buffer, size_t bytes, enum dump_of of,
		    uint64_t last_ns) HIDDEN;
/* Fills the buffer anew; false when the dump is complete. */
bool dump_fill(struct dump *) HIDDEN;
/* `done`: what was filled in reached its reader, all of it. */
void dump_end(struct dump *, bool done) HIDDEN;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of a living process, as they come: read in its arena from outside. Nothing is written
 * there, and the process does nothing for it.
 *
 * Nothing in an arena is believed: it may change while it is read. Events that were overwritten, or
 * given to a dump, before they were read are counted as missed. One thread.
 */
#ifndef WCPROF_TOP_READ_H
#define WCPROF_TOP_READ_H

#include "remains.h"
#include "snapshot.h"

/* How far a chunk was read, and which of its contents that was. */
struct top_cursor {
	uint64_t first[2]; /* words of its first record */
	uint32_t lap;
	uint32_t words; /* 0: no part of what comes next */
};

struct top_reader {
	struct remains remains;
	struct top_cursor *cursors; /* by chunk */
	uint32_t cursor_count;
	struct record *records; /* that are new, by their end */
	size_t count;
	size_t room;
	uint64_t missed;  /* chunks that were not, or not all, read, so far */
	uint64_t strange; /* events that cannot be */
	uint64_t rate;    /* of the arena's clock */
	struct snapshot_open *opens;
	uint64_t open_room;
};

/* 0, or -errno as remains_open(). Events that ended before are passed over. */
int top_reader_open(struct top_reader *, const char *arena);
void top_reader_close(struct top_reader *);

/* Events that ended since the last call: `records` and `count`, with start and end in nanoseconds
 * of the arena's clock. False: there is no memory for them. */
bool top_reader_next(struct top_reader *);
/* All that has begun and not ended, with its start in nanoseconds, until the next call. An op that
 * ends just now may be there, too. NULL: there is no memory. */
const struct snapshot_open *top_reader_opens(struct top_reader *, uint32_t *count);
/* Now, by the same clock. */
uint64_t top_reader_now_ns(const struct top_reader *);
/* The number that events have for a living thread; 0 = none. */
uint32_t top_reader_thread(const struct top_reader *, pid_t tid);
/* A string or a stack of the arena; "" and 0 frames where there is none. The string is a copy. */
void top_reader_string(const struct top_reader *, uint32_t id, char *to, size_t size);
size_t top_reader_stack(const struct top_reader *, uint32_t id, uint64_t *frames, size_t most);

#endif

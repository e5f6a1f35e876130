/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads dumps (JSON lines) into one `struct recording`.
 *
 * Everything is checked here: whoever works on a recording afterwards may trust it. Every index is
 * in range or NO_INDEX, no op or wait ends before it starts, no op is its own ancestor, no id
 * occurs twice. Nothing is printed: errors are values, and what was odd but harmless is counted in
 * the recording.
 *
 * A file may hold several dumps one after the other. Dumps of one process (same pid and start)
 * share one space of ids; all dumps that name no process count as one process. An op or wait that
 * is open in one of them and finished in another is kept once, finished. Dumps of one boot are put
 * on one time axis by the monotonic clock, others by the wall clock.
 *
 * Threads: one recording is read by one thread.
 */
#ifndef WCPROF_READ_H
#define WCPROF_READ_H

#include "recording/recording.h"

#include <stddef.h>
#include <stdint.h>

/* A line is a few hundred bytes; a header holds all strings and stacks of its dump. */
enum { READ_EVENT_BYTES_MAX = 1 << 20 };
enum { READ_HEADER_BYTES_MAX = 1 << 30 };

struct read_error {
	const char *file; /* one of the paths given */
	uint64_t line;    /* from 1; 0 = the file as a whole */
	char text[512];   /* the error; the next thing to do */
};

/* Told about each block of the file that is being read. */
struct read_progress {
	void (*report)(void *context, uint64_t bytes_done,
		       uint64_t bytes_total); /* total 0 = unknown */
	void *context;
};

/*
 * `-` is standard input. 0, or -errno and `error` filled (-EBADMSG: what was read is no good dump).
 * The recording is the caller's to free in either case.
 */
int recording_read(struct recording *recording, char *const *paths, size_t path_count,
		   struct read_error *error, const struct read_progress *progress);

/* The times in which a dump's process was recorded, by its header. */
struct read_head {
	uint64_t pid; /* these three: of the process; equal in all its dumps */
	uint64_t start_unix_ns;
	uint64_t epoch_unix_ns;
	size_t window_count; /* that have a length */
	bool was_off;        /* so there is none */
	uint64_t from_ns;    /* of the first window, since its epoch */
	uint64_t to_ns;      /* of the last one */
};

/* Of the first dump in a file, without its events. 0, or as recording_read(). */
int read_head(struct read_head *head, const char *path, struct read_error *error);

/* As recording_read(), from memory, handed out `step_bytes` at a time as a pipe might; `name` is
 * for errors. */
int recording_read_memory(struct recording *recording, const char *name, const void *bytes,
			  size_t byte_count, size_t step_bytes, struct read_error *error);

void recording_free(struct recording *recording);

#endif

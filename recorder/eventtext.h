/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records as JSON: what a dump says of an event, in a line of its own or, while it is open, in its
 * header.
 *
 * Plain functions of what they are given: the drainer's thread only.
 */
#ifndef WCPROF_EVENTTEXT_H
#define WCPROF_EVENTTEXT_H

#include "dump.h"

/* The longest event's line, and some. */
enum { EVENT_BYTES_MAX = 640 };

/* A line. Into the dump's text or another; of the dump, times and the process are known. */
void eventtext_put(struct text *, const struct dump *, const struct record *) HIDDEN;
/* An object of the header's open_ops or open_waits. */
void eventtext_put_open_op(struct text *, const struct dump *, const struct record *,
			   uint64_t cut_ticks) HIDDEN;
void eventtext_put_open_wait(struct text *, const struct dump *, const struct record *,
			     uint64_t cut_ticks) HIDDEN;

/* How much CPU time a thread has used by the dump, if that is known. */
void eventtext_put_mark(struct text *, const struct dump *, const struct snapshot_thread *) HIDDEN;

#endif

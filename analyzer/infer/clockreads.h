/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places from which a thread asks for the time, and loops that end by the clock.
 *
 * "For ten seconds do this": such a loop is over when it was, however fast its turns are. It makes
 * more of them then. The recording has three calls of each place: the first, the last but one and
 * the last.
 */
#ifndef WCPROF_CLOCKREADS_H
#define WCPROF_CLOCKREADS_H

#include "recording/classes.h"
#include "recording/recording.h"

struct read_place {
	uint32_t thread;
	uint32_t stack;
	uint32_t count; /* of its calls */
	uint32_t first; /* links */
	uint32_t previous;
	uint32_t last;
};

/* A thread goes on until so long after a moment of its own, or of another thread. */
struct timed_loop {
	uint32_t place;
	uint32_t begins; /* link: the time was asked for, and the end computed from that */
	uint32_t ends;   /* link: it was too late for another turn */
	uint64_t length_ns;
};

/* The time of a loop begins here, or ends. */
struct clock_mark {
	uint64_t at_ns;
	uint32_t thread;
	uint32_t loop;
	bool is_end;
};

struct clock_reads {
	struct read_place *places; /* by stack, then thread */
	size_t place_count;
	uint32_t *places_of; /* by thread */
	size_t *first_of;    /* thread t has places_of[first_of[t]] up to that of t + 1 */
	struct timed_loop *loops;
	size_t loop_count;
	struct timed_loop *doubts; /* loops that may end by the clock, or then by chance */
	size_t doubt_count;
	struct clock_mark *marks; /* by thread, then time */
	size_t mark_count;
};

void clock_reads_build(struct clock_reads *reads, const struct recording *recording,
		       const struct class_table *classes);
void clock_reads_free(struct clock_reads *reads);

#endif

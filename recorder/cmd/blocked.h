/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the threads of a living process are blocked on at the moment, and who holds it.
 *
 * Read from outside, without stopping anything: what is open comes from the arena, who owns a
 * lock from the lock itself, the rest from /proc. Threads go on meanwhile, so that two lines of
 * the result may belong to moments some microseconds apart; what is said of a thread that stays
 * blocked is right.
 */
#ifndef WCPROF_BLOCKED_H
#define WCPROF_BLOCKED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "format.h"
#include "remains.h"

struct blocked_thread {
	pid_t tid;
	char name[20];
	char state; /* as in /proc: R runs or wants to, S sleeps, D sleeps deeply, T stopped */
	struct record on; /* the innermost wait or call that is open; type RECORD_NONE: none */
	char call[64];    /* "pthread_mutex_lock" */
	char what[256];   /* "mutex server+0x40c0"; empty when it has no name */
	uint64_t wait_ns;
	pid_t holder;           /* thread that has what it waits for, 0 = nobody or nobody knows */
	uint64_t held_ns;       /* for so long, 0 = not known */
	const uint64_t *frames; /* in the arena: return addresses, innermost first */
	uint32_t frame_count;
};

/* All threads of the arena's process, in order of tid; the caller frees the list. NULL: it has
 * ended. */
struct blocked_thread *blocked_read(const struct remains *remains, size_t *count);

/*
 * Who waits for whom in a circle, from thread `first` on: indexes into the list, as many as are
 * returned; 0 if there is no circle, or if it has been found from a thread before `first`.
 */
size_t blocked_circle(const struct blocked_thread *threads, size_t count, size_t first,
		      size_t *members);

#endif

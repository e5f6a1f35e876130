/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The moments of each thread in order: its ops and waits begin and end, its links happen.
 *
 * Built once from a recording that names threads, read-only afterwards.
 */
#ifndef WCPROF_TIMELINE_H
#define WCPROF_TIMELINE_H

#include "recording.h"

/* In the order in which moments of one nanosecond happen. An interval of no length is one
 * moment. */
enum moment_type {
	MOMENT_OP_END, /* the inner op's before the outer op's */
	MOMENT_WAIT_END,
	MOMENT_LINK,
	MOMENT_WAIT_POINT, /* a wait that took no time: a permit that was there */
	MOMENT_OP_POINT,
	MOMENT_OP_BEGIN, /* the outer op's before the inner op's */
	MOMENT_WAIT_BEGIN
};

enum { MOMENT_TYPE_SHIFT = 28 };

struct moment {
	uint64_t at_ns;
	uint32_t index; /* of the op, wait or link */
	/* among moments of one time: enum moment_type << MOMENT_TYPE_SHIFT, then nesting */
	uint32_t order;
};

static inline enum moment_type moment_type(const struct moment *moment)
{
	return (enum moment_type)(moment->order >> MOMENT_TYPE_SHIFT);
}

struct timeline {
	struct moment *moments; /* thread by thread, each in order of time */
	size_t *first;          /* thread t owns moments [first[t], first[t + 1]) */
	size_t thread_count;
};

/* Containers (ops of kind process, thread, exec) have no moments, nor has asking for the time: that
 * is nothing to others. */
void timeline_build(struct timeline *, const struct recording *);
void timeline_free(struct timeline *);
bool timeline_is_valid(const struct timeline *, const struct recording *);
/* The first moment of a thread that is not before this time; first[thread + 1] = there is none. */
size_t timeline_at(const struct timeline *, uint32_t thread, uint64_t at_ns);

#endif

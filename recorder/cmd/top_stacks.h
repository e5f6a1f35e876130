/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time by call stack, of the last seconds: running and queued as samples tell, blocked as calls and
 * waits do. The time of slow requests is added up beside that, and of the others.
 *
 * One thread.
 */
#ifndef WCPROF_TOP_STACKS_H
#define WCPROF_TOP_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format.h"

enum { TOP_SECONDS = 60, TOP_STACKS_MAX = 16384 };

/* The sorts of time of a thread, and of a request. Parts are known of each call, the other two
 * where samples are taken. */
enum top_part {
	TOP_IO,
	TOP_POLL,
	TOP_SLEEP,
	TOP_LOCK,
	TOP_OTHER,
	TOP_PARTS,
	TOP_RUNNING = TOP_PARTS,
	TOP_QUEUED,
	TOP_ACTIVITIES
};

/* Whose time. */
enum top_share { TOP_OF_ALL, TOP_OF_SLOW, TOP_OF_REST, TOP_SHARES };

struct top_stack {
	uint64_t address; /* of the lock that was waited for, else 0 */
	uint32_t stack;
	uint32_t name;  /* string: the call; 0 = none, as of samples */
	uint32_t ident; /* string: the lock's */
	enum top_part activity;
	float ns[TOP_SHARES][TOP_SECONDS];
};

struct top_stacks {
	struct top_stack *stacks;
	size_t count;
	uint32_t *places;    /* by hash: stack + 1 */
	uint64_t generation; /* how often stacks got other numbers */
	uint64_t left_out;   /* events whose stack found no room */
};

/* False: there is no memory. */
bool top_stacks_begin(struct top_stacks *);
void top_stacks_end(struct top_stacks *);
/* Its number + 1; 0: there is no room for another. */
uint32_t top_stacks_find(struct top_stacks *, enum top_part activity, const struct record *);
void top_stacks_add(struct top_stacks *, uint32_t number, enum top_share, uint64_t second,
		    double ns);
/* Nothing is of requests any more, slow or not. */
void top_stacks_forget_requests(struct top_stacks *);
/* That second begins anew. If there is no room, stacks of which nothing is left go. */
void top_stacks_clear(struct top_stacks *, uint64_t second);

#endif

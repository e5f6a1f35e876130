/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops that the program declares, and calls of probed functions: how long each took, and what it got
 * and returned. One thread.
 */
#ifndef WCPROF_TOP_CALLS_H
#define WCPROF_TOP_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format.h"

enum {
	TOP_CALLS_MAX = 65536, /* the last ones, of all names */
	TOP_NAMES_MAX = 256    /* of which there are tables */
};

struct top_call {
	uint64_t end_ns;
	uint64_t taken_ns;
	uint64_t op;
	uint64_t last_piece; /* of its thread's time, as top_pieces.h has them */
	uint32_t name;       /* string */
	uint32_t thread;
};

/* A value of the call `op`. */
struct top_value {
	uint64_t op;
	uint64_t bits;
	uint32_t name; /* string: the argument's */
	uint32_t type; /* enum probe_type */
};

struct top_calls {
	struct top_call *ring;
	struct top_value *values; /* a ring, too */
	uint64_t count;           /* all that ever ended */
	uint64_t value_count;
};

/* The calls of one name. */
struct top_call_sum {
	uint32_t name;
	size_t count;
	uint64_t p50_ns, p95_ns, p99_ns, most_ns;
	uint64_t slowest; /* op */
};

/* False: there is no memory. */
bool top_calls_begin(struct top_calls *);
void top_calls_end(struct top_calls *);
/* By a thread, whose last piece of time that was. */
void top_calls_add(struct top_calls *, const struct record *, uint32_t thread, uint64_t last_piece);
/* Those are here that ended later; 0 = all. */
uint64_t top_calls_since_ns(const struct top_calls *);
/* Of those that ended since then, those that took the most time in all first; the caller frees the
 * list. */
struct top_call_sum *top_calls_list(const struct top_calls *, uint64_t since_ns, size_t *count);
/* Those of one name that took some time, the fastest first. Calls within another one of the name
 * are left out. The caller frees the list. */
struct top_call *top_calls_outermost(const struct top_calls *, uint32_t name, uint64_t since_ns,
				     size_t *count);
/* Of calls in that order; 95 of 100 took no longer. */
uint64_t top_calls_p95_ns(const struct top_call *, size_t count);
/* The next name, or the one before, of calls that took some time and ended since then. 0 is before
 * all names, and behind them; 0: there is no other. */
uint32_t top_calls_next(const struct top_calls *, uint64_t since_ns, uint32_t name, bool is_back);
/* The values of a call, in the order of its arguments; how many. */
size_t top_calls_values(const struct top_calls *, uint64_t op, struct top_value *to, size_t most);

#endif

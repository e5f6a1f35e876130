/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which request each thread works for, moment by moment.
 *
 * A thread turns to a request with each read or write on its connection. It is at it until it
 * turns to another one, polls, or has answered, and between two turns to the same one. A thread may
 * only answer what another one has read. Then it has worked for that since its first wait that
 * ended after the request had come, or since it did something else. A request that the thread
 * itself asks of somebody is part of the one that it works for. Built once, read-only afterwards.
 */
#ifndef WCPROF_OWNERS_H
#define WCPROF_OWNERS_H

#include "base/buckets.h"
#include "lanes.h"
#include "requestpaths.h"

/* In place of a request. */
enum { OWNER_IDLE = NO_INDEX - 1 /* in a poll, or before a request had come */ };

/* Where a request ends, and whom it belongs to. */
struct owned {
	uint32_t end_op;     /* NO_INDEX = it has not ended */
	uint32_t end_thread; /* that of its begin if it has not ended */
	uint32_t of;         /* the request that asked for it, NO_INDEX = none */
	uint32_t chain;      /* requests of one end of a connection; NO_INDEX = it has none */
};

struct owners {
	struct lanes lanes;    /* a lane a thread; all keys are 0 */
	uint32_t *request;     /* by stretch: NO_INDEX = none */
	uint32_t *thread;      /* by stretch */
	struct owned *owned;   /* by request */
	struct buckets chains; /* stretches by chain, in order of time */
	size_t chain_count;
};

void owners_build(struct owners *owners, const struct request_paths_of *of);
void owners_free(struct owners *owners);

/* The request that a thread works for then; NO_INDEX or OWNER_IDLE. */
uint32_t owners_at(const struct owners *owners, uint32_t thread, uint64_t at_ns);

/* When the last poll of a thread between these times ended; the later one, if there was none. */
uint64_t owners_poll_between(const struct owners *owners, uint32_t thread, uint64_t from_ns,
			     uint64_t at_ns);

/* The last of a chain's stretches that begins before then: its place in chains.items;
 * SIZE_MAX = none. */
size_t owners_before(const struct owners *owners, uint32_t chain, uint64_t at_ns);

#endif

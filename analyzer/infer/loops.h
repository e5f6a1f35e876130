/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event loops: what a thread does for each of its connections between polls.
 *
 * A visit is what a loop does for one connection, up to where it turns to another one. Visits of
 * one connection keep their order. A barrier keeps all visits before it: a poll that ended in a way
 * that is not known, or the end of the loop. Some loops put answers off until they have read from
 * all connections that a poll found. Before these they may do work once a turn.
 *
 * A bell is a source by which other threads of the process call the loop. It tells that something
 * is done, and not what.
 *
 * Built once, read-only afterwards.
 */
#ifndef WCPROF_LOOPS_H
#define WCPROF_LOOPS_H

#include "flows.h"
#include "recording/timeline.h"

#define VISIT_HAS_NOT_WAITED UINT64_MAX

enum visit_sort {
	VISIT_EVENT,   /* a poll found the connection: it had data, or room */
	VISIT_PUT_OFF, /* of one that was visited before in this turn, from a poll to the next */
	VISIT_TIMER,   /* an answer to it, for which a timer of the loop had to run first */
	VISIT_ANSWER,  /* an answer to it, as other threads have called the loop by a bell */
	VISIT_MORE,    /* more work is put for other threads, as they have called by a bell */
	VISIT_TURN,    /* work done once a turn, behind all events; none, if it has no op */
	VISIT_TICK,    /* a poll found nothing in time; the rest concerns nobody else */
	VISIT_BARRIER
};

struct visit {
	uint32_t op; /* with which it begins; NO_INDEX = with none */
	uint32_t thread;
	uint32_t flow;       /* from the connection; NO_INDEX = of none */
	uint32_t transfer;   /* the read whose bytes it needs; NO_INDEX = none */
	uint64_t latency_ns; /* of a poll: from the write that ended it to its return */
	uint64_t timer_ns;   /* of a timer: from the visit of its connection before it */
	uint32_t timer;      /* op: a poll that ended with one of the loop's timers */
	enum visit_sort sort;
};

struct loops {
	struct visit *visits; /* thread by thread, in order */
	size_t visit_count;
	uint32_t *visit_of; /* by op, NO_INDEX = it begins none */
	bool *is_bell;      /* by flow: several other threads call a loop by it */
	size_t flow_count;  /* that the recording has: a script may have more */
	/* By thread: the visit that is the loop's end, and the call behind which that is. NO_INDEX:
	 * the thread is no loop, or its loop lasts as long as itself. */
	uint32_t *end_visit;
	uint32_t *end_op;
	uint32_t *loop_of_thread; /* threads that read from the same connections; NO_INDEX = none */
	size_t loop_count;
	uint64_t latency_ns; /* of all reads and polls that waited, the median */
};

/* `puts`: by op, a hold in which something is put for other threads to take. */
void loops_build(struct loops *, const struct recording *, const struct timeline *,
		 const struct flows *, const bool *puts);
void loops_free(struct loops *);

/* False of flows that a script has beyond the recording's. */
static inline bool loops_is_bell(const struct loops *loops, uint32_t flow)
{
	return flow < loops->flow_count && loops->is_bell[flow];
}

#endif

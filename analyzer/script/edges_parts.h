/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files that build the graph of moments (edges.h), and private to them.
 *
 * edges.c walks through the recording, and edges_causes.c finds what ended a wait. One thread.
 */
#ifndef WCPROF_EDGES_PARTS_H
#define WCPROF_EDGES_PARTS_H

#include "edges.h"
#include "infer/flows.h"
#include "infer/monitors.h"
#include "recording/addresses.h"
#include "script_parts.h"

/* A thread begins, something happens to it, it ends. */
struct event {
	uint64_t at_ns;
	uint32_t thread;
	uint32_t at; /* place among the thread's events: 0 = it begins; the last = it ends */
};

struct walker {
	uint32_t open[OPEN_OPS_MAX];
	size_t open_count;
	size_t wait_count; /* waits that have begun and not ended */
	uint64_t last_ns;
	uint32_t last;  /* moment of the graph */
	uint32_t begun; /* the last that is the begin of an op or a wait */
};

struct edging {
	struct edges *edges;
	const struct recording *rec;
	const struct class_table *classes;
	struct timeline timeline;
	struct releases releases;
	struct monitors monitors;
	struct flows flows;
	struct walker *walkers;  /* by thread */
	struct addresses places; /* of semaphores and barriers */
	/* moments of the graph, NO_INDEX = not there */
	uint32_t *of_link;
	uint32_t *op_begin;
	uint32_t *op_end;
	uint32_t *post_by;     /* by op: its last post */
	uint32_t *at_place;    /* by place: the last post or arrival */
	uint32_t *last_read;   /* by flow: end of the last read */
	uint32_t *start_cause; /* by thread: what started it */
	uint64_t *moment_ns;   /* by moment of the graph: when it was */
	uint32_t *writes;      /* ops that write, by flow, then time */
	size_t write_count;
};

static inline uint32_t edges_process(const struct edging *edging, const struct event *event)
{
	return edging->rec->threads[event->thread].process;
}

/* edges_causes.c: before anything is asked. */
void edges_find_writes(struct edging *);
/* The moment that ended a call or a wait, which ends with this event; NO_INDEX = none, or not
 * known. */
uint32_t edges_cause_of_call(const struct edging *, const struct event *, uint32_t op);
uint32_t edges_cause_of_wait(const struct edging *, const struct event *, uint32_t wait);

#endif

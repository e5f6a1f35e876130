/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace of one replay: the time that each actor spent, and which actor let it go on. The way back
 * from the end of the run to its begin is in it.
 *
 * A trial without a trace pays nothing for it. One thread a trace.
 */
#ifndef WCPROF_TRACE_H
#define WCPROF_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Time of an actor: in a step, or from another actor's wake-up to its own next step. */
struct trace_event {
	uint64_t from_ns;
	uint64_t to_ns;
	uint32_t step;
	uint32_t by;       /* actor: itself, or the one that woke or started it; NO_INDEX = none */
	uint32_t previous; /* event of the same actor, NO_INDEX = none */
	uint32_t by_event; /* the last one of the actor that woke it */
};

struct trace {
	struct trace_event *events;
	size_t count;
	size_t capacity;
	uint32_t *last; /* by actor: its latest event, NO_INDEX = none */
	size_t actor_count;
	uint32_t end_actor; /* that ended last, of those that count; NO_INDEX = none */
	uint64_t end_ns;
};

enum trace_part {
	TRACE_STEP,    /* the step took it */
	TRACE_WAKE_UP, /* from the other actor's doing until the step's end */
	TRACE_CPU,     /* on a CPU, or on the way to one */
	TRACE_START    /* before the actor from which all the rest came */
};

/* A part of the way from the end of the run to its begin. */
struct trace_piece {
	enum trace_part part;
	uint32_t actor;
	uint32_t step; /* TRACE_STEP, TRACE_WAKE_UP */
	uint64_t from_ns;
	uint64_t to_ns;
};

void trace_begin(struct trace *, size_t actor_count);
void trace_free(struct trace *);

void trace_passed(struct trace *, uint32_t actor, uint32_t step, uint64_t from_ns, uint64_t to_ns);
/* `by` is NO_INDEX for an actor that starts by itself. */
void trace_woken(struct trace *, uint32_t actor, uint32_t step, uint32_t by, uint64_t from_ns,
		 uint64_t to_ns);

/* The pieces of the critical path, the last one first: together the whole run. */
void trace_walk(const struct trace *, uint64_t start_ns,
		void (*visit)(void *context, const struct trace_piece *), void *context);

#endif

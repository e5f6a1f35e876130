/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread knows about itself: the guard against entering the recorder twice, its place in the
 * arena, the clock hand of its ids.
 *
 * Lives in thread-local storage (initial-exec: no allocation, no call to find it) and is touched by
 * its thread only, also in signal handlers, which find `busy` set when they interrupted the
 * recorder.
 */
#ifndef WCPROF_SELF_H
#define WCPROF_SELF_H

#include <errno.h>

#include "arena.h"

/*
 * `busy`: inside the recorder; or libunwind is at work there, with all signals blocked, and what it
 * calls is no event of the program's, nor a loss.
 */
enum { SELF_INSIDE = 1, SELF_LEARNING = 2 };

struct self {
	uint8_t busy;         /* 0, SELF_INSIDE or SELF_LEARNING */
	uint8_t retired;      /* has ended, or is the recorder's own thread: never records */
	uint8_t muted;        /* out of scope, as of `period` */
	uint16_t flows;       /* marked by the program, nested */
	uint16_t refusals;    /* calls to go before it asks for a slot again */
	uint32_t serves_port; /* see scope.c */
	uint32_t period;      /* of self_period, when it was last inside */
	uint32_t thread;      /* index; 0 = not registered */
	uint32_t sequence;    /* of its ids */
	uint32_t depth;       /* open entries in use */
	uint32_t position;    /* in chunk: next record to write */
	int saved_errno;
	struct slot *slot;
	struct chunk *chunk;
	const void *busy_frame; /* where it entered */
	const void *stack_top;
	const void *routine;   /* start routine */
	uint64_t marked_ticks; /* when its CPU time was recorded last */
	uint64_t announced;    /* op id that its creator gave it */
	uint64_t announced_parent;
};

extern __thread struct self self_of_thread HIDDEN __attribute__((tls_model("initial-exec")));

/* Grows whenever recording is turned on, in a forked child, and when the scope changes. */
extern uint32_t self_period HIDDEN;

static inline void self_begin_period(void)
{
	add_relaxed(&self_period, 1);
}

/* Adds to a counter of this thread's. */
static inline void self_count(struct self *self, enum counter counter)
{
	add_relaxed(&self->slot->counters[counter], 1);
}

/* From here on a thread gets another index as soon as nothing is open on it: its ids are used
 * up. */
#define SELF_SEQUENCE_LAST UINT32_C(0xffff0000)

static inline uint64_t self_next_id(struct self *self)
{
	if (UNLIKELY(++self->sequence >= SELF_SEQUENCE_LAST))
		self->period = 0;
	return (uint64_t)self->thread << 32 | self->sequence;
}

/*
 * For ends of what began while recording was on: also when it is off, and for threads that are out
 * of scope or retired. The slot may be missing. NULL only inside the recorder.
 */
struct self *self_enter_late(void) HIDDEN;

/* In a forked child: the thread that lives on begins anew. */
void self_forget(void) HIDDEN;
/* This thread is the recorder's own. */
void self_retire(void) HIDDEN;

#endif

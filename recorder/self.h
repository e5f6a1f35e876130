/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread's knowledge of itself: the guard against entering the recorder twice, its place in the
 * arena, the clock hand of its ids.
 *
 * Lives in thread-local storage (initial-exec: no allocation, no call to find it) and is touched by
 * its thread only. Signal handlers on it find `busy` set when they interrupted the recorder.
 */
#ifndef WCPROF_SELF_H
#define WCPROF_SELF_H

#include <errno.h>

#include "arena.h"

/*
 * `busy`: inside the recorder; or libunwind is at work there, with all signals blocked. Then a call
 * of libunwind's is no event of the program's, nor a loss.
 */
enum { SELF_INSIDE = 1, SELF_LEARNING = 2 };

/* `retired`: has ended, or is the recorder's own thread; or is a vfork child behind a filter. */
enum { SELF_ENDED = 1, SELF_CONFINED = 2 };

struct self {
	uint8_t busy;         /* 0, SELF_INSIDE or SELF_LEARNING */
	uint8_t retired;      /* never records: SELF_ENDED, SELF_CONFINED */
	uint8_t muted;        /* out of scope, as of `period` */
	uint8_t is_slow;      /* in a slow path (meter.h) */
	uint16_t flows;       /* marked by the program, nested */
	uint16_t refusals;    /* calls to go before it asks for a slot again */
	uint32_t serves_port; /* see scope.c */
	uint32_t period;      /* of self_period, when it was last inside */
	uint32_t opening;     /* of its entries, as in its slot */
	uint32_t thread;      /* index; 0 = not registered */
	uint32_t sequence;    /* of its ids */
	uint32_t depth;       /* open entries in use */
	uint32_t position;    /* in chunk: extent of what is written */
	int saved_errno;
	int *errno_at; /* where libc has this thread's errno; NULL = not known, or metered */
	struct slot *slot;
	struct chunk *chunk;
	const void *busy_frame; /* where it entered */
	const void *stack_top;
	const void *routine;   /* start routine */
	const void *asked_pc;  /* it asked for the time before it had a slot (clockreads.h) */
	uint64_t asked_ticks;  /* when; 0 = it did not */
	uint64_t marked_ticks; /* when its CPU time was recorded last */
	uint64_t announced;    /* op id that its creator gave it */
	uint64_t announced_parent;
	bool is_told;            /* joins are told of it by its creator */
	uint64_t meter_begun;    /* ticks: the metered call under way began; 0 = there is none */
	uint16_t meter_position; /* records in its chunk by then */
	uint16_t meter_end;      /* it runs until there are as many; 0 = it does not */
	uint32_t request_fd;     /* the connection that it is at (requests.h) */
};

extern __thread struct self self_of_thread HIDDEN __attribute__((tls_model("initial-exec")));

/* Grows whenever recording is turned on, in a forked child, and when the scope changes. */
extern uint32_t self_period HIDDEN;

/* A thread records the first time since recording was turned on, and has a slot. Written by the
 * control thread; NULL: nothing is to be done. */
extern void (*self_comes_back)(struct self *) HIDDEN;

static inline void self_begin_period(void)
{
	add_relaxed(&self_period, 1);
}

/* Adds to a counter of this thread's, which nobody else writes. */
static inline void self_count_many(struct self *self, enum counter counter, uint64_t count)
{
	uint64_t *at = &self->slot->counters[counter];

	store_relaxed(at, load_relaxed(at) + count);
}

static inline void self_count(struct self *self, enum counter counter)
{
	self_count_many(self, counter, 1);
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

/* The rare cases of self_begin(): the thread, or its scope, is not settled; it was busy, retired or
 * out of scope. Or its errno is not known yet, or the call is metered (meter.h). */
struct self *self_settle(struct self *) HIDDEN;
bool self_heals(struct self *, const void *frame) HIDDEN;
int *meter_enter(struct self *) HIDDEN;
int *meter_leave(struct self *) HIDDEN;

static inline __attribute__((always_inline)) int *self_errno(struct self *self,
							     int *(*find)(struct self *))
{
	return LIKELY(self->errno_at) ? self->errno_at : find(self);
}

static inline struct self *self_become_busy(const void *frame)
{
	struct self *self = &self_of_thread;

	self->busy_frame = frame;
	self->busy = SELF_INSIDE;
	order_for_handlers();
	self->saved_errno = *self_errno(self, meter_enter);
	return self;
}

/* self_enter() and self_leave() without the call, for where each nanosecond counts. */
static inline __attribute__((always_inline)) struct self *self_begin(const void *frame)
{
	struct self *self = &self_of_thread;

	if (UNLIKELY(self->busy | self->retired | self->muted) && !self_heals(self, frame))
		return NULL;
	/* Pairs with the store that turns recording on: the arena is there. */
	if (UNLIKELY(load_acquire(&recorder_gate.mode) != GATE_ON))
		return NULL;
	self = self_become_busy(frame);
	if (UNLIKELY(self->period != load_relaxed(&self_period)))
		return self_settle(self);
	return self;
}

static inline void self_end(struct self *self)
{
	*self_errno(self, meter_leave) = self->saved_errno;
	order_for_handlers();
	self->busy = 0;
}

/*
 * For ends of what began while recording was on: also when it is off, and for threads that are out
 * of scope or retired. The slot may be missing. NULL only inside the recorder.
 */
struct self *self_enter_late(void) HIDDEN;

/* The thread ends: whether it is in a flow, which its caller ends now; and then itself. */
bool self_take_flow(void) HIDDEN;
void self_finish(void) HIDDEN;

/* Whether the thread has a slot, now if not before: it is to write what another one began. */
bool self_has_place(struct self *) HIDDEN;
/* Ends what the thread, which has a slot, had open when recording was turned off. Writes what it
 * was inside of when recording was turned on. */
void self_come_back(struct self *) HIDDEN;

/* In a forked child: the thread that lives on begins anew. */
void self_forget(void) HIDDEN;
/* This thread is the recorder's own. */
void self_retire(void) HIDDEN;
/* This thread runs as a vfork child that filters its system calls, or does no more. */
void self_confine(bool is_confined) HIDDEN;

#endif

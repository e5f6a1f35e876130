/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trace contexts: for which request of a tracing system a thread works, by the trace's and the
 * span's id.
 *
 * A tracer that follows OpenTelemetry keeps them in a record. A pointer in thread-local storage
 * leads to that (`otel_thread_ctx_v1`). A program may say them itself (wcprof_trace()). They are
 * looked at when an op, a wait or a hold begins, and when a sample is taken. If they have changed,
 * an event says so. A change that is undone between two of those looks is not seen.
 *
 * The pointer is found without any lock of the loader's. The hooks' side reads its place from the
 * tables of its object (struct context_place). The thread itself reads where its own copy of that
 * object's storage is, from libc's table of them. A thread that has never touched its copy has no
 * context.
 */
#ifndef WCPROF_CONTEXT_H
#define WCPROF_CONTEXT_H

#include "self.h"

/* Where ids come from in this process: 0 = from nowhere so far. */
enum { CONTEXT_PUBLISHED = 1, CONTEXT_SAID = 2 };
extern uint32_t context_sources HIDDEN;

/* Writes a record if the thread's ids are not those of its last one: as of then; 0 = now. */
void context_look(struct self *, uint64_t since_ticks) HIDDEN;

/* Off, and in a program that publishes none, this is all there is. */
static inline void context_follow_since(struct self *self, uint64_t since_ticks)
{
	if (UNLIKELY(load_relaxed(&context_sources) != 0))
		context_look(self, since_ticks);
}

static inline void context_follow(struct self *self)
{
	context_follow_since(self, 0);
}

/* The program says them itself; zeros: it works for none. From then on its thread's record is not
 * looked at any more. */
void context_say(struct self *, const uint8_t trace_id[16], const uint8_t span_id[8]) HIDDEN;

#endif

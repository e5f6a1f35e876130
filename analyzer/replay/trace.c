/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The critical path of a replay, from its events; trace.h has the contract.
 *
 * Method. From the actor that ended last backwards through its own events. At the event in which
 * another actor woke it the walk goes on with that one, from its latest event before the wake-up.
 * Time between two events of an actor was spent on a CPU, or in a queue for one.
 */
#include "trace.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"

void trace_begin(struct trace *trace, size_t actor_count)
{
	*trace = (struct trace){ .last = memory_new(actor_count, sizeof(*trace->last)),
				 .actor_count = actor_count,
				 .end_actor = NO_INDEX };
	for (size_t i = 0; i < actor_count; i++)
		trace->last[i] = NO_INDEX;
}

void trace_free(struct trace *trace)
{
	free(trace->events);
	free(trace->last);
	*trace = (struct trace){ 0 };
}

static void add(struct trace *trace, uint32_t actor, const struct trace_event *event)
{
	assert(actor < trace->actor_count && event->from_ns <= event->to_ns);
	trace->events = memory_grow(trace->events, &trace->capacity, trace->count + 1,
				    sizeof(*trace->events));
	trace->events[trace->count] = *event;
	trace->events[trace->count].previous = trace->last[actor];
	trace->last[actor] = (uint32_t)trace->count++;
}

void trace_passed(struct trace *trace, uint32_t actor, uint32_t step, uint64_t from_ns,
		  uint64_t to_ns)
{
	const struct trace_event event = { from_ns, to_ns, step, actor, NO_INDEX, NO_INDEX };
	if (to_ns > from_ns)
		add(trace, actor, &event);
}

void trace_woken(struct trace *trace, uint32_t actor, uint32_t step, uint32_t by, uint64_t from_ns,
		 uint64_t to_ns)
{
	const struct trace_event event = {
		from_ns, to_ns, step, by, NO_INDEX, by == NO_INDEX ? by : trace->last[by]
	};
	add(trace, actor, &event);
}

struct walk {
	uint32_t actor;
	uint64_t at_ns; /* all after this was visited */
	void (*visit)(void *context, const struct trace_piece *);
	void *context;
};

static void visit(struct walk *walk, enum trace_part part, uint32_t step, uint64_t from_ns)
{
	const struct trace_piece piece = { part, walk->actor, step, from_ns, walk->at_ns };
	if (from_ns >= walk->at_ns)
		return;
	walk->visit(walk->context, &piece);
	walk->at_ns = from_ns;
}

void trace_walk(const struct trace *trace, uint64_t start_ns,
		void (*visitor)(void *context, const struct trace_piece *), void *context)
{
	struct walk walk = { trace->end_actor, trace->end_ns, visitor, context };
	uint32_t at = trace->end_actor == NO_INDEX ? NO_INDEX : trace->last[trace->end_actor];
	while (at != NO_INDEX) {
		const struct trace_event *event = &trace->events[at];
		bool is_own = event->by == walk.actor;
		at = event->previous;
		if (event->from_ns > walk.at_ns)
			continue;
		visit(&walk, TRACE_CPU, NO_INDEX, event->to_ns);
		visit(&walk, is_own ? TRACE_STEP : TRACE_WAKE_UP, event->step, event->from_ns);
		if (is_own)
			continue;
		if (event->by == NO_INDEX)
			break;
		walk.actor = event->by;
		at = event->by_event;
	}
	visit(&walk, TRACE_START, NO_INDEX, start_ns);
}

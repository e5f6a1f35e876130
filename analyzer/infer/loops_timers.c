/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds answers that an event loop has put off until a timer of its own; loops.c has the method.
 *
 * Method. A poll that found nothing in time ended with the loop's earliest timer. If the loop then
 * writes to a connection, that timer was for it. The timer began when the loop left the connection.
 * A loop with such timers has others, too, that ran while it was busy. It then writes to a
 * connection from which it has not read in this turn. The timer ran out between two turns: the last
 * one in which it was not due, and that of the write. It is taken to be as long as is usual.
 *
 * A loop may open a connection in place of one that it has closed. It does so at once, or, if that
 * is more often so, when a timer has run. The one that was closed first is followed first.
 *
 * A loop with timers must have no bell, which would explain these writes as well.
 *
 * One thread.
 */
#include "loops_parts.h"

#include "base/memory.h"
#include "base/percentile.h"

#include <stdlib.h>
#include <string.h>

/* Possible times of a timer: from where its connection was left. */
struct timed_write {
	size_t event;
	uint64_t least_ns;
	uint64_t most_ns;
	uint32_t thread;
	bool is_exact; /* the most: it ended a poll */
};

static void write_add(struct finding *finding, const struct timed_write *write)
{
	finding->timed_writes =
		memory_grow(finding->timed_writes, &finding->timed_write_capacity,
			    finding->timed_write_count + 1, sizeof(*finding->timed_writes));
	finding->timed_writes[finding->timed_write_count++] = *write;
}

/* Where the loop leaves its connection, as it turns to another one or polls. */
static void leave(struct finding *finding, struct habits *habits, uint64_t at_ns)
{
	if (habits->visited != NO_INDEX)
		finding->of_flow[habits->visited].left_ns = at_ns;
	habits->visited = NO_INDEX;
}

/* --- connections that are opened when a timer has run --- */

static bool is_close(const struct finding *finding, const struct loop_event *event)
{
	return (event->sort == EVENT_CALL || event->sort == EVENT_TRANSFER) &&
	       strncmp(finding->rec->strings[finding->rec->ops[event->op].name], "close", 5) == 0;
}

/* The source that the event closes; NO_INDEX = none, or one that is closed. */
static uint32_t closed_by(const struct finding *finding, const struct loop_event *event)
{
	if (!is_close(finding, event))
		return NO_INDEX;
	uint32_t source = finding->source_of[finding->rec->ops[event->op].ident];

	return source == NO_INDEX || finding->of_flow[source].is_ended ? NO_INDEX : source;
}

static void turn_count_connects(struct finding *finding, size_t from, size_t to)
{
	struct habits *habits = &finding->habits[thread_of(finding, from)];
	bool is_timer = finding->rec->extras[finding->events[from].op].timer, closes = false;

	for (size_t i = from + 1; i < to; i++) {
		bool connects = finding->events[i].sort == EVENT_CONNECT;

		closes = closes || is_close(finding, &finding->events[i]);
		habits->timed_connects += connects && is_timer && !closes;
		habits->prompt_connects += connects && closes;
	}
}

static void ended_add(struct finding *finding, struct habits *habits, uint32_t source)
{
	struct loop_flow *flow = &finding->of_flow[source];

	flow->is_ended = true;
	flow->next_ended = NO_INDEX;
	if (habits->first_ended == NO_INDEX)
		habits->first_ended = source;
	else
		finding->of_flow[habits->last_ended].next_ended = source;
	habits->last_ended = source;
}

/* In place of which connection the event opens one, by a timer; NO_INDEX = it does not. */
static uint32_t connection_before(struct finding *finding, const struct loop_event *event,
				  size_t from)
{
	struct habits *habits = &finding->habits[thread_of(finding, from)];
	uint32_t source = habits->first_ended;

	if (event->sort != EVENT_CONNECT || event->is_held || source == NO_INDEX ||
	    habits->timed_connects <= habits->prompt_connects ||
	    finding->of_flow[source].turn == from || !finding->of_flow[source].left_ns)
		return NO_INDEX;
	habits->first_ended = finding->of_flow[source].next_ended;
	return source;
}

/* --- all that a timer lets go --- */

static void turn_look_for_timers(struct finding *finding, size_t from, size_t to)
{
	const struct rec_op *ops = finding->rec->ops, *poll = &ops[finding->events[from].op];
	struct habits *habits = &finding->habits[poll->thread];
	bool is_timer = finding->rec->extras[finding->events[from].op].timer;

	if (finding->loops->loop_of_thread[poll->thread] == NO_INDEX || habits->has_bell)
		return;
	leave(finding, habits, poll->start_ns);
	for (size_t i = from + 1; i < to; i++) {
		const struct loop_event *event = &finding->events[i];
		uint32_t before = connection_before(finding, event, from);
		uint32_t source = before == NO_INDEX ? loops_source_of(finding, event) : before;
		uint32_t closed = closed_by(finding, event);
		const struct rec_op *op = &ops[event->op];

		if (closed != NO_INDEX)
			ended_add(finding, habits, closed);
		if (source == NO_INDEX)
			continue;
		finding->events[i].before = before;
		struct loop_flow *flow = &finding->of_flow[source];
		bool reads = is_read(finding, event);
		uint64_t checked_ns = habits->checked_ns > flow->left_ns ? habits->checked_ns : 0;

		if (source != habits->visited && !reads && flow->left_ns && flow->turn != from &&
		    (before != NO_INDEX || source == flow_of(finding, event)->own))
			write_add(finding,
				  &(const struct timed_write){
					  .event = i,
					  .least_ns = checked_ns ? checked_ns - flow->left_ns : 0,
					  .most_ns = (is_timer ? poll->end_ns : op->start_ns) -
						     flow->left_ns,
					  .thread = poll->thread,
					  .is_exact = is_timer && habits->visited == NO_INDEX });
		if (source != habits->visited)
			leave(finding, habits, op->start_ns);
		habits->visited = source;
		if (reads)
			flow->turn = (uint32_t)from;
	}
	habits->checked_ns = poll->end_ns;
	if (is_timer)
		habits->timer_poll = finding->events[from].op;
}

/* Of the timers of a loop's thread that are known; 0 = none is. */
static uint64_t usual_ns(const struct timed_write *writes, size_t count)
{
	uint64_t *known_ns = memory_new(count, sizeof(*known_ns)), ns = 0;
	size_t known = 0;

	for (size_t i = 0; i < count; i++)
		if (writes[i].is_exact)
			known_ns[known++] = writes[i].most_ns;
	if (known)
		ns = percentile_select(known_ns, known, known / 2);
	free(known_ns);
	return ns;
}

static void time_writes(struct finding *finding, const struct timed_write *writes, size_t count)
{
	uint64_t ns = usual_ns(writes, count);

	for (size_t i = 0; i < count && ns; i++) {
		const struct timed_write *write = &writes[i];
		uint64_t most_ns = write->is_exact || ns > write->most_ns ? write->most_ns : ns;

		finding->events[write->event].timer_ns =
			most_ns > write->least_ns ? most_ns : write->least_ns;
	}
}

void loops_timers_find(struct finding *finding)
{
	const struct timed_write *writes;

	loops_turns_do(finding, turn_count_connects);
	loops_turns_do(finding, turn_look_for_timers);
	for (size_t t = 0; t < finding->rec->thread_count; t++)
		finding->habits[t].visited = NO_INDEX;
	writes = finding->timed_writes;
	for (size_t first = 0, end; first < finding->timed_write_count; first = end) {
		for (end = first + 1; end < finding->timed_write_count &&
				      writes[end].thread == writes[first].thread;)
			end++;
		time_writes(finding, &writes[first], end - first);
	}
	free(finding->timed_writes);
}

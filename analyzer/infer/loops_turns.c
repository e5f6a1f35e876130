/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuts a loop's turns, from one poll to the next, into visits; loops.c has the method.
 *
 * A loop that puts answers off reads from all connections that a poll found. Then it does its work
 * of the turn, as writing a log, and answers. That work begins at the first call behind the events
 * that is never made between two of them. It is told apart only where all of it concerns nobody
 * else: a replay may have more turns, or fewer.
 *
 * Behind a bell come the answers to whoever's work is done, and more work that follows from that.
 * Each of these is a visit of its own, with all that the loop did since the one before.
 *
 * One thread.
 */
#include "loops_parts.h"

#include "base/assumptions.h"
#include "base/memory.h"

void loops_turns_do(struct finding *finding, void (*act)(struct finding *, size_t, size_t))
{
	for (size_t i = 0; i < finding->flows->flow_count; i++)
		finding->of_flow[i].turn = NO_INDEX;
	for (size_t t = 0; t < finding->rec->thread_count; t++) {
		size_t end = finding->first[t + 1];

		for (size_t i = finding->first[t]; i < end; i = turn_end(finding, i, end))
			if (finding->events[i].sort == EVENT_POLL)
				act(finding, i, turn_end(finding, i, end));
	}
}

uint32_t loops_visit_add(struct finding *finding, const struct visit *visit)
{
	struct loops *loops = finding->loops;

	loops->visits = memory_grow(loops->visits, &finding->visit_capacity, loops->visit_count + 1,
				    sizeof(*loops->visits));
	loops->visits[loops->visit_count] = *visit;
	if (visit->op != NO_INDEX)
		loops->visit_of[visit->op] = (uint32_t)loops->visit_count;
	return (uint32_t)loops->visit_count++;
}

uint32_t loops_source_of(const struct finding *finding, const struct loop_event *event)
{
	if (event->is_held)
		return NO_INDEX;
	if (event->sort == EVENT_CONNECT && event->timer_ns)
		return event->before;
	if (event->sort != EVENT_TRANSFER)
		return NO_INDEX;
	const struct loop_flow *flow = flow_of(finding, event);
	if (is_read(finding, event))
		return is_source(finding, flow) ? (uint32_t)(flow - finding->of_flow) : NO_INDEX;
	return flow->owner;
}

static bool is_bell(const struct finding *finding, uint32_t source)
{
	return source != NO_INDEX && finding->loops->is_bell[source];
}

/* Where the loop turns to a source from another one, or reads again. A bell is not written to. */
static uint32_t source_begun(const struct finding *finding, const struct loop_event *event,
			     uint32_t current)
{
	uint32_t source = loops_source_of(finding, event);

	if (is_read(finding, event))
		return source;
	return source == current || is_bell(finding, source) ? NO_INDEX : source;
}

/* A write to a source, in the turn that begins at `from`: others have done its work. `read`: the
 * source that was read last. */
static bool is_called_for(const struct finding *finding, const struct loop_event *event,
			  uint32_t source, uint32_t read, size_t from)
{
	return !is_read(finding, event) &&
	       (is_bell(finding, read) || (finding->habits[thread_of(finding, from)].has_bell &&
					   finding->of_flow[source].turn != from));
}

/* When the first data that a poll found were written; UINT64_MAX = it found none. */
static uint64_t found_ns(const struct finding *finding, size_t from, size_t to)
{
	uint32_t poll = finding->events[from].op;
	uint64_t end_ns = finding->rec->ops[poll].end_ns, ns = UINT64_MAX;

	for (size_t i = from + 1; i < to && finding->rec->extras[poll].amount; i++) {
		const struct loop_event *event = &finding->events[i];

		if (!is_read(finding, event) || !is_source(finding, flow_of(finding, event)))
			continue;
		uint64_t first_ns = finding->flows->transfers[event->transfer].first_ns;
		if (first_ns <= end_ns && first_ns < ns)
			ns = first_ns;
	}
	return ns;
}

/* The first event behind a poll that is for a source, or not known; `to` = there is none. */
static size_t first_transfer(const struct finding *finding, size_t from, size_t to)
{
	for (from++; from < to && finding->events[from].sort != EVENT_TRANSFER &&
		     !finding->events[from].timer_ns;)
		from++;
	return from;
}

/* The poll at `from` found that a connection has come about. The last thing that the loop did for
 * any was to begin one. */
static bool is_connected(const struct finding *finding, size_t from)
{
	bool has_found = finding->rec->extras[finding->events[from].op].amount > 0;

	for (size_t i = from; has_found && i-- > finding->first[thread_of(finding, from)] &&
			      finding->events[i].sort != EVENT_TRANSFER;)
		if (finding->events[i].sort == EVENT_CONNECT)
			return true;
	return false;
}

static uint64_t length_of(const struct finding *finding, size_t from)
{
	const struct rec_op *poll = &finding->rec->ops[finding->events[from].op];

	return poll->end_ns - poll->start_ns;
}

/* The poll at `from` found room to write, as `first` shows. It returns at once where there is room.
 * Where it nearly always does, one that took longer has waited for a CPU. */
static bool found_room(const struct finding *finding, size_t from, size_t first)
{
	const struct habits *habits = &finding->habits[thread_of(finding, from)];
	double late = habits->room_late_count;

	return length_of(finding, from) <= assume.copy ||
	       (!is_read(finding, &finding->events[first]) &&
		length_of(finding, from) <= assume.tick &&
		late <= assume.room_late * habits->room_count);
}

/* A poll is part of the visit after it, if it is known what ended it. That may be data, a timer,
 * room to write, or a connection that has come about. */
static bool poll_is_known(const struct finding *finding, size_t from, size_t to, uint64_t data_ns)
{
	size_t first = first_transfer(finding, from, to);

	if (first == to || finding->events[from].is_held ||
	    loops_source_of(finding, &finding->events[first]) == NO_INDEX)
		return false;
	return data_ns != UINT64_MAX || finding->events[first].timer_ns ||
	       found_room(finding, from, first) || is_connected(finding, from);
}

/* Notes how long polls take behind which the loop writes first. */
static void turn_note_room(struct finding *finding, size_t from, size_t to)
{
	size_t first = first_transfer(finding, from, to);
	struct habits *habits = &finding->habits[thread_of(finding, from)];

	if (first == to || is_read(finding, &finding->events[first]) ||
	    finding->events[first].timer_ns || is_connected(finding, from) ||
	    loops_source_of(finding, &finding->events[first]) == NO_INDEX)
		return;
	habits->room_count++;
	habits->room_late_count += length_of(finding, from) > assume.copy;
}

/* The visits of a turn that come first, and the last of them; up to the first one put off. */
struct turn_events {
	size_t last; /* event with which the last one begins; SIZE_MAX = there is none */
	size_t end;
	size_t count;
};

static struct turn_events turn_events(struct finding *finding, size_t from, size_t to)
{
	struct turn_events found = { SIZE_MAX, to, 0 };
	bool puts_off = finding->habits[thread_of(finding, from)].puts_off;
	uint32_t current = NO_INDEX, read = NO_INDEX;

	for (size_t i = from + 1; i < to; i++) {
		const struct loop_event *event = &finding->events[i];
		uint32_t source = source_begun(finding, event, puts_off ? NO_INDEX : current);

		if (source == NO_INDEX)
			continue;
		struct loop_flow *flow = &finding->of_flow[source];
		bool is_called = is_called_for(finding, event, source, read, from);

		if (!is_called && !is_read(finding, event) && flow->turn == from) {
			found.end = i;
			break;
		}
		if (!is_called)
			flow->turn = (uint32_t)from;
		read = is_read(finding, event) ? source : read;
		current = source;
		found.last = i;
		found.count++;
	}
	return found;
}

/* A loop puts answers off if it more often gives them behind all events than behind each. */
static void turn_note_habit(struct finding *finding, size_t from, size_t to)
{
	struct turn_events events = turn_events(finding, from, to);
	struct habits *habits = &finding->habits[thread_of(finding, from)];
	uint32_t current = NO_INDEX;

	for (size_t i = from + 1; i < to && events.count > 1; i++) {
		uint32_t source = loops_source_of(finding, &finding->events[i]);
		bool is_answer = source != NO_INDEX && !is_read(finding, &finding->events[i]);

		habits->prompt_count += is_answer && i < events.last && source == current;
		habits->put_off_count += is_answer && i >= events.end;
		current = source != NO_INDEX && !is_answer ? source : current;
	}
}

static void habits_decide(struct finding *finding)
{
	for (size_t t = 0; t < finding->rec->thread_count; t++)
		finding->habits[t].puts_off =
			finding->habits[t].put_off_count > finding->habits[t].prompt_count;
}

/* By where an op was called: it is called between two events. */
static bool *is_of_event(struct finding *finding, uint32_t op)
{
	size_t known = finding->sites.count;
	uint32_t site = addresses_add(&finding->sites, finding->rec->ops[op].name,
				      finding->rec->extras[op].stack);

	finding->is_of_event = memory_grow(finding->is_of_event, &finding->site_capacity,
					   finding->sites.count, sizeof(*finding->is_of_event));
	if (finding->sites.count > known)
		finding->is_of_event[site] = false;
	return &finding->is_of_event[site];
}

/* Notes what is called on the way from one event to the next. */
static void turn_note_sites(struct finding *finding, size_t from, size_t to)
{
	struct turn_events events = turn_events(finding, from, to);

	if (events.count > 1)
		finding->habits[thread_of(finding, from)].has_groups = true;
	for (size_t i = from + 1; events.last != SIZE_MAX && i < events.last; i++)
		if (finding->events[i].sort == EVENT_CALL)
			*is_of_event(finding, finding->events[i].op) = true;
}

/* Work that is done once a turn: from the first call behind its events that is never made between
 * two of them. `end`: there is none. */
static size_t turn_work(struct finding *finding, const struct turn_events *events)
{
	size_t i = events->last;

	while (i < events->end && (finding->events[i].sort != EVENT_CALL ||
				   *is_of_event(finding, finding->events[i].op)))
		i++;
	return i;
}

/* It can be done as often as there are turns in a replay only if it is all the thread's own. */
static void turn_check_work(struct finding *finding, size_t from, size_t to)
{
	struct turn_events events = turn_events(finding, from, to);
	struct habits *habits = &finding->habits[thread_of(finding, from)];

	if (events.last == SIZE_MAX)
		return;
	size_t work = turn_work(finding, &events);

	habits->has_own_work = habits->has_own_work || work < events.end;
	if (work < events.end && finding->events[work].is_held)
		habits->has_shared_work = true;
	for (size_t i = work; i < events.end; i++)
		if (finding->events[i].sort != EVENT_CALL)
			habits->has_shared_work = true;
}

void loops_habits_find(struct finding *finding)
{
	loops_turns_do(finding, turn_note_habit);
	loops_turns_do(finding, turn_note_room);
	habits_decide(finding);
	loops_turns_do(finding, turn_note_sites);
	loops_turns_do(finding, turn_check_work);
}

/* Nothing that is known came of a poll that did not wait, or did so for a connection to come about.
 * It goes on from there as it was. */
static bool is_look(const struct finding *finding, size_t from, const struct turn_events *events)
{
	const struct rec_op *poll = &finding->rec->ops[finding->events[from].op];
	const struct loops *loops = finding->loops;
	bool is_in_turn =
		loops->visit_count && loops->visits[loops->visit_count - 1].sort == VISIT_TURN;

	return events->last == SIZE_MAX && !is_in_turn &&
	       (poll->end_ns - poll->start_ns <= assume.copy || is_connected(finding, from));
}

/* Other threads may have had what a poll found. */
static bool is_alone(const struct recording *rec, uint32_t thread)
{
	for (uint32_t i = 0; i < rec->thread_count; i++)
		if (i != thread && rec->threads[i].process == rec->threads[thread].process)
			return false;
	return true;
}

/* It found nothing in time, or something of which nothing came. */
static bool is_tick(const struct finding *finding, size_t from, size_t to)
{
	uint32_t poll = finding->events[from].op;
	bool has_found = finding->rec->extras[poll].amount > 0;

	if (finding->events[from].is_held ||
	    (has_found && (to > from + 1 || !is_alone(finding->rec, thread_of(finding, from)))))
		return false;
	for (size_t i = from + 1; i < to; i++)
		if (finding->events[i].sort != EVENT_CALL && !finding->events[i].is_idle)
			return false;
	return true;
}

static void turn_own_work(struct finding *finding, const struct turn_events *events, bool is_last,
			  struct visit visit)
{
	size_t work = is_last ? events->end : turn_work(finding, events);

	visit.op = work < events->end ? finding->events[work].op : NO_INDEX;
	visit.flow = visit.transfer = NO_INDEX;
	visit.latency_ns = VISIT_HAS_NOT_WAITED;
	visit.sort = VISIT_TURN;
	loops_visit_add(finding, &visit);
}

/* Notes at which source a socket is named first. */
static void socket_note(struct finding *finding, const struct loop_event *event, uint32_t source)
{
	if (event->sort == EVENT_POLL || event->sort == EVENT_SHARED)
		return;
	uint32_t *opener = &finding->opener[finding->rec->ops[event->op].ident];

	if (*opener == NO_INDEX)
		*opener = source;
}

/* In a turn without visits. */
static void sockets_note(struct finding *finding, size_t from, size_t to)
{
	const struct habits *habits = &finding->habits[thread_of(finding, from)];

	for (size_t i = from + 1; i < to; i++)
		socket_note(finding, &finding->events[i], habits->visited);
}

/* The source after whose visits a write comes. A new connection is written to after a visit of the
 * source at which it was opened. */
static uint32_t cause_of_write(struct finding *finding, const struct loop_event *event,
			       uint32_t source)
{
	struct loop_flow *flow = &finding->of_flow[source];
	uint32_t opener = finding->opener[finding->rec->ops[event->op].ident];
	bool is_new = !flow->is_visited;

	return is_new && opener != NO_INDEX ? opener : source;
}

/* Work is put for other threads, as these have called. */
static bool puts_more(const struct finding *finding, const struct loop_event *event, uint32_t read)
{
	return is_bell(finding, read) && event->sort == EVENT_CALL && !event->is_held &&
	       finding->puts[event->op];
}

/* The op with which an answer begins, or more work. It is the first one since bytes were moved or
 * work was put, up to the write or put at `at`. */
static uint32_t answer_begun(const struct finding *finding, size_t moved, size_t at)
{
	size_t i = moved + 1;

	while (i < at && (finding->events[i].is_held || finding->events[i].sort != EVENT_CALL))
		i++;
	return finding->events[i].op;
}

/* `at`: where the work is put. */
static void more_add(struct finding *finding, struct visit *visit, uint32_t bell, size_t moved,
		     size_t at)
{
	visit->op = answer_begun(finding, moved, at);
	visit->flow = bell;
	visit->transfer = NO_INDEX;
	visit->sort = VISIT_MORE;
	loops_visit_add(finding, visit);
	visit->latency_ns = VISIT_HAS_NOT_WAITED;
}

/* Of a poll that ended as is known: from the data that it found to its return. */
static uint64_t latency_of(const struct rec_op *poll, uint64_t data_ns)
{
	if (data_ns != UINT64_MAX)
		return data_ns > poll->start_ns ? poll->end_ns - data_ns : VISIT_HAS_NOT_WAITED;
	return poll->end_ns - poll->start_ns > assume.copy ? 0 : VISIT_HAS_NOT_WAITED;
}

static enum visit_sort sort_of(const struct loop_event *event, bool is_called, bool is_put_off)
{
	if (event->timer_ns)
		return VISIT_TIMER;
	if (is_called)
		return VISIT_ANSWER;
	return is_put_off ? VISIT_PUT_OFF : VISIT_EVENT;
}

void loops_turn_visit(struct finding *finding, size_t from, size_t to)
{
	const struct rec_op *poll = &finding->rec->ops[finding->events[from].op];
	struct habits *habits = &finding->habits[poll->thread];
	bool has_own_work = habits->has_groups && habits->has_own_work && !habits->has_shared_work;
	struct visit visit = { .op = finding->events[from].op,
			       .thread = poll->thread,
			       .flow = NO_INDEX,
			       .transfer = NO_INDEX,
			       .sort = VISIT_BARRIER };

	if (finding->loops->loop_of_thread[poll->thread] == NO_INDEX)
		return;
	uint64_t data_ns = found_ns(finding, from, to);
	bool is_known = poll_is_known(finding, from, to, data_ns);
	struct turn_events events = turn_events(finding, from, to);

	if (!is_known && is_look(finding, from, &events)) {
		sockets_note(finding, from, to);
		return;
	}
	visit.sort = is_tick(finding, from, to) ? VISIT_TICK : VISIT_BARRIER;
	visit.latency_ns = is_known                   ? latency_of(poll, data_ns)
			   : visit.sort == VISIT_TICK ? 0
						      : VISIT_HAS_NOT_WAITED;
	if (!is_known)
		loops_visit_add(finding, &visit);
	uint32_t current = NO_INDEX, read = NO_INDEX;
	size_t moved = from; /* the last event that moved bytes, or put work */

	for (size_t i = from + 1; i <= to; i++) {
		if (i == events.end && has_own_work && events.last != SIZE_MAX)
			turn_own_work(finding, &events, to == finding->first[poll->thread + 1],
				      visit);
		if (i == to)
			break;
		const struct loop_event *event = &finding->events[i];
		bool may_put_off = habits->puts_off && visit.sort != VISIT_PUT_OFF;
		uint32_t source = source_begun(finding, event, may_put_off ? NO_INDEX : current);
		size_t before = moved;

		moved = event->sort == EVENT_TRANSFER ? i : moved;
		if (puts_more(finding, event, read)) {
			more_add(finding, &visit, read, before, i);
			current = read;
			moved = i;
			continue;
		}
		if (source == NO_INDEX) {
			socket_note(finding, event, habits->visited);
			continue;
		}
		bool reads = is_read(finding, event);
		bool is_called = is_called_for(finding, event, source, read, from);
		bool is_put_off =
			i >= events.end && !reads && finding->of_flow[source].turn == from;

		if (current != NO_INDEX || !is_known)
			visit.op = is_called ? answer_begun(finding, before, i) : event->op;
		current = source;
		read = reads ? source : read;
		visit.flow = reads ? source : cause_of_write(finding, event, source);
		habits->visited = visit.flow;
		finding->of_flow[source].is_visited = true;
		socket_note(finding, event, source);
		visit.transfer = reads ? event->transfer : NO_INDEX;
		visit.sort = sort_of(event, is_called, is_put_off);
		visit.timer = habits->timer_poll;
		visit.timer_ns = event->timer_ns;
		loops_visit_add(finding, &visit);
		visit.latency_ns = VISIT_HAS_NOT_WAITED;
	}
}

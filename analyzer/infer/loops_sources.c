/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which threads are event loops, of which connections, and whose answers their writes are; loops.c
 * has the method.
 *
 * One thread.
 */
#include "loops_parts.h"

#include "base/memory.h"
#include "format.h"

#include <stdlib.h>
#include <string.h>

/* A turn with more reads does not show which of them a write belongs to. */
enum { TELLING_READS_MAX = 16 };

/* Calls that poll count their timeouts in these. */
enum { TIMEOUT_LEAST_NS = 1000000 };

/* --- events --- */

/* It found something, or waited in vain. A look without waiting is part of what goes on. */
static bool is_poll(const struct recording *rec, uint32_t op)
{
	const struct rec_op *poll = &rec->ops[op];

	return poll->kind == KIND_POLL && rec_polls_many(rec, op) && !rec->extras[op].open &&
	       (rec->extras[op].amount || poll->end_ns - poll->start_ns >= TIMEOUT_LEAST_NS);
}

static uint32_t transfer_of(const struct flows *flows, uint32_t op)
{
	uint32_t own = flows->transfer_of[op], other = flows->other_of[op];

	if (flows->end_of[op] != NO_INDEX)
		return flows->end_of[op];
	return own == NO_INDEX || (other != NO_INDEX && !flows->transfers[other].is_write) ? other
											   : own;
}

static void event_add(struct finding *finding, const struct loop_event *event)
{
	finding->events = memory_grow(finding->events, &finding->event_capacity,
				      finding->event_count + 1, sizeof(*finding->events));
	finding->events[finding->event_count++] = *event;
}

static bool begins_op(const struct moment *moment)
{
	return moment_type(moment) == MOMENT_OP_BEGIN || moment_type(moment) == MOMENT_OP_POINT;
}

static bool is_hold(const struct recording *rec, const struct moment *moment)
{
	bool is_of_op = begins_op(moment) || moment_type(moment) == MOMENT_OP_END;

	return is_of_op && rec->ops[moment->index].kind == KIND_HOLD &&
	       !rec->extras[moment->index].open;
}

/* It is part of the hold after it. */
static bool is_lock_wait(const struct recording *rec, const struct moment *moment)
{
	enum moment_type type = moment_type(moment);

	if (type != MOMENT_WAIT_BEGIN && type != MOMENT_WAIT_POINT)
		return false;
	uint16_t reason = rec->waits[moment->index].reason;
	return reason == REASON_MUTEX || reason == REASON_RWLOCK_READ ||
	       reason == REASON_RWLOCK_WRITE;
}

static bool connects(const struct flows *flows, uint32_t index)
{
	const struct transfer *transfer = &flows->transfers[index];

	return transfer->is_write && flows->flows[transfer->flow].unit == FLOW_CONNECTIONS;
}

static struct loop_event event_at(const struct finding *finding, const struct moment *moment)
{
	struct loop_event event = { .at_ns = moment->at_ns,
				    .op = moment->index,
				    .transfer = NO_INDEX,
				    .sort = EVENT_SHARED };

	if (!begins_op(moment))
		return event;
	event.transfer = transfer_of(finding->flows, event.op);
	if (is_poll(finding->rec, event.op))
		event.sort = EVENT_POLL;
	else if (event.transfer == NO_INDEX)
		event.sort = EVENT_CALL;
	else
		event.sort =
			connects(finding->flows, event.transfer) ? EVENT_CONNECT : EVENT_TRANSFER;
	return event;
}

/* A signal that nobody waits for, and that puts nothing, as one when a lock is given back. */
static bool is_idle_signal(const struct finding *finding, const struct moment *moment)
{
	if (moment_type(moment) != MOMENT_LINK)
		return false;
	const struct rec_link *link = &finding->rec->links[moment->index];
	return link->kind == LINK_WAKE && !link->count &&
	       !(link->from != NO_INDEX && finding->puts[link->from]);
}

static void events_of_thread(struct finding *finding, const struct timeline *timeline,
			     size_t thread)
{
	size_t from = finding->event_count, holds = 0;
	bool polls = false;

	for (size_t i = timeline->first[thread]; i < timeline->first[thread + 1]; i++) {
		const struct moment *moment = &timeline->moments[i];
		enum moment_type type = moment_type(moment);

		if (type != MOMENT_OP_END && type != MOMENT_WAIT_END &&
		    !is_lock_wait(finding->rec, moment)) {
			struct loop_event event = event_at(finding, moment);

			event.is_held = holds > 0;
			event.is_idle = is_idle_signal(finding, moment);
			polls = polls || event.sort == EVENT_POLL;
			event_add(finding, &event);
		}
		if (is_hold(finding->rec, moment)) {
			holds += type == MOMENT_OP_BEGIN;
			holds -= type == MOMENT_OP_END && holds;
		}
	}
	if (!polls)
		finding->event_count = from;
}

void loops_events_find(struct finding *finding, const struct timeline *timeline)
{
	finding->first = memory_new(finding->rec->thread_count + 1, sizeof(*finding->first));
	for (size_t t = 0; t < finding->rec->thread_count; t++) {
		events_of_thread(finding, timeline, t);
		finding->first[t + 1] = finding->event_count;
	}
}

static bool thread_polls(const struct finding *finding, uint32_t thread)
{
	return finding->first[thread] < finding->first[thread + 1];
}

/* --- sources --- */

/* Marks the flows that a poll found. */
static void turn_look(struct finding *finding, size_t from, size_t to)
{
	const struct loop_event *poll = &finding->events[from];
	uint64_t found = 0, amount = finding->rec->extras[poll->op].amount;

	for (size_t i = from + 1; i < to && found < amount; i++) {
		const struct loop_event *event = &finding->events[i];

		if (!is_read(finding, event))
			continue;
		struct loop_flow *flow = flow_of(finding, event);
		if (flow->turn == from || finding->flows->transfers[event->transfer].first_ns >
						  finding->rec->ops[poll->op].end_ns)
			continue;
		flow->turn = (uint32_t)from;
		flow->is_polled = true;
		found++;
	}
}

static uint32_t root_of(struct finding *finding, uint32_t thread)
{
	while (finding->parent[thread] != thread) {
		finding->parent[thread] = finding->parent[finding->parent[thread]];
		thread = finding->parent[thread];
	}
	return thread;
}

/* The flow that an op reads; NULL = it reads none, or its thread is not known. */
static struct loop_flow *flow_read(const struct finding *finding, uint32_t op)
{
	uint32_t transfer = transfer_of(finding->flows, op);

	return finding->rec->ops[op].thread == NO_INDEX || transfer == NO_INDEX ||
			       finding->flows->transfers[transfer].is_write
		       ? NULL
		       : &finding->of_flow[finding->flows->transfers[transfer].flow];
}

/* Threads that accept from the same listener share nothing else. */
static bool is_listener(const struct finding *finding, const struct loop_flow *flow)
{
	return finding->flows->flows[flow - finding->of_flow].unit == FLOW_CONNECTIONS;
}

static void readers_find(struct finding *finding)
{
	const struct recording *rec = finding->rec;

	for (size_t i = 0; i < finding->flows->flow_count; i++)
		finding->of_flow[i].is_barred = finding->flows->flows[i].is_given_back;
	for (uint32_t op = 0; op < rec->op_count; op++) {
		struct loop_flow *flow = flow_read(finding, op);

		if (!flow)
			continue;
		bool is_pool = finding->flows->flows[flow - finding->of_flow].is_shared &&
			       !is_listener(finding, flow);

		if (is_pool || !thread_polls(finding, rec->ops[op].thread))
			flow->is_barred = true;
		else
			flow->reader = rec->ops[op].thread;
	}
	for (uint32_t op = 0; op < rec->op_count; op++) {
		struct loop_flow *flow = flow_read(finding, op);

		if (flow && flow->is_polled && !flow->is_barred && !is_listener(finding, flow))
			finding->parent[root_of(finding, rec->ops[op].thread)] =
				root_of(finding, flow->reader);
	}
}

/* Loops of several sources get numbers. */
static void loops_number(struct finding *finding)
{
	struct loops *loops = finding->loops;
	uint32_t *sources = memory_new(finding->rec->thread_count, sizeof(*sources));
	uint32_t *number = memory_new(finding->rec->thread_count, sizeof(*number));

	for (size_t i = 0; i < finding->flows->flow_count; i++) {
		struct loop_flow *flow = &finding->of_flow[i];

		flow->is_polled = flow->is_polled && !flow->is_barred && flow->reader != NO_INDEX;
		if (flow->is_polled)
			sources[root_of(finding, flow->reader)]++;
	}
	for (uint32_t t = 0; t < finding->rec->thread_count; t++) {
		uint32_t root = root_of(finding, t);

		loops->loop_of_thread[t] = NO_INDEX;
		if (sources[root] < 2 || !thread_polls(finding, t))
			continue;
		if (!number[root])
			number[root] = (uint32_t)++loops->loop_count;
		loops->loop_of_thread[t] = number[root] - 1;
	}
	free(number);
	free(sources);
}

/* Threads that call the loops of their own process, and are several for one of these. */
static void bells_find(struct finding *finding)
{
	const struct recording *rec = finding->rec;
	const struct flows *flows = finding->flows;
	uint32_t *caller = memory_new(flows->flow_count, sizeof(*caller));

	memset(caller, 0xff, flows->flow_count * sizeof(*caller));
	for (uint32_t op = 0; op < rec->op_count; op++) {
		uint32_t transfer = flows->transfer_of[op], thread = rec->ops[op].thread;

		if (transfer == NO_INDEX || thread == NO_INDEX ||
		    !flows->transfers[transfer].is_write)
			continue;
		uint32_t flow = flows->transfers[transfer].flow;
		const struct loop_flow *called = &finding->of_flow[flow];
		enum flow_unit unit = flows->flows[flow].unit;

		if ((unit != FLOW_SIGNALS && unit != FLOW_BYTES) || !is_source(finding, called) ||
		    thread == called->reader ||
		    rec->threads[thread].process != rec->threads[called->reader].process)
			continue;
		if (caller[flow] == NO_INDEX)
			caller[flow] = thread;
		else if (caller[flow] != thread)
			finding->loops->is_bell[flow] = finding->habits[called->reader].has_bell =
				true;
	}
	free(caller);
}

/* --- which source a write belongs to --- */

static void own_sources_find(struct finding *finding)
{
	const struct recording *rec = finding->rec;
	struct addresses sockets = { 0 };
	uint32_t *source = memory_new(finding->event_count, sizeof(*source));

	for (int writes = 0; writes < 2; writes++)
		for (size_t i = 0; i < finding->event_count; i++) {
			const struct loop_event *event = &finding->events[i];
			const struct rec_op *op = &rec->ops[event->op];

			if (event->sort != EVENT_TRANSFER || is_read(finding, event) == writes)
				continue;
			uint32_t process = rec->threads[op->thread].process;
			struct loop_flow *flow = flow_of(finding, event);
			if (!writes && is_source(finding, flow)) {
				finding->source_of[op->ident] = (uint32_t)(flow - finding->of_flow);
				source[addresses_add(&sockets, process, op->ident)] =
					(uint32_t)(flow - finding->of_flow);
			} else if (writes) {
				uint32_t socket = addresses_find(&sockets, process, op->ident);

				flow->own = socket == NO_INDEX ? NO_INDEX : source[socket];
			}
		}
	free(source);
	addresses_free(&sockets);
}

static void pair_count(struct finding *finding, uint32_t written, uint32_t source)
{
	size_t known = finding->pairs.count;
	uint32_t pair = addresses_add(&finding->pairs, written, source);

	finding->pair_writes = memory_grow(finding->pair_writes, &finding->pair_capacity,
					   finding->pairs.count, sizeof(*finding->pair_writes));
	if (finding->pairs.count > known)
		finding->pair_writes[pair] = 0;
	finding->pair_writes[pair]++;
}

/* In a turn's writes, what was read before each. A bell tells nothing: what is written behind it
 * goes to the connection of its own socket. */
static void turn_pair(struct finding *finding, size_t from, size_t to)
{
	uint32_t reads[TELLING_READS_MAX];
	size_t read_count = 0;
	bool is_called = false;

	for (size_t i = from + 1; i < to; i++) {
		const struct loop_event *event = &finding->events[i];

		if (event->sort != EVENT_TRANSFER)
			continue;
		struct loop_flow *flow = flow_of(finding, event);
		uint32_t index = (uint32_t)(flow - finding->of_flow);
		bool is_again = flow->turn == from, reads_source = false;

		flow->turn = (uint32_t)from;
		if (is_read(finding, event)) {
			reads_source = is_source(finding, flow);
			is_called = reads_source ? finding->loops->is_bell[index] : is_called;
		}
		if (is_again || (is_read(finding, event) && !reads_source))
			continue;
		if (reads_source && is_called)
			continue;
		if (reads_source) {
			if (read_count < TELLING_READS_MAX)
				reads[read_count] = index;
			read_count++;
			continue;
		}
		bool is_own = flow->own != NO_INDEX && (is_called || !read_count ||
							finding->of_flow[flow->own].turn == from);

		flow->own_writes += is_own;
		if (is_called || read_count > TELLING_READS_MAX)
			continue;
		flow->writes++;
		for (size_t k = 0; k < read_count; k++)
			pair_count(finding, index, reads[k]);
	}
}

/* A connection that was written to only once does not show whose answer that was. It is taken to be
 * as most of its loop's are. */
static void owners_guess(struct finding *finding)
{
	for (size_t i = 0; i < finding->flows->flow_count; i++) {
		const struct loop_flow *flow = &finding->of_flow[i];

		if (flow->own == NO_INDEX)
			continue;
		struct habits *habits = &finding->habits[finding->of_flow[flow->own].reader];
		habits->writes += flow->writes;
		habits->own_writes += flow->own_writes;
	}
	for (size_t i = 0; i < finding->flows->flow_count; i++) {
		struct loop_flow *flow = &finding->of_flow[i];

		if (flow->own == NO_INDEX || flow->owner != NO_INDEX || flow->writes > 1)
			continue;
		const struct habits *habits = &finding->habits[finding->of_flow[flow->own].reader];
		if (2 * habits->own_writes > habits->writes)
			flow->owner = flow->own;
	}
}

static void owners_find(struct finding *finding)
{
	for (size_t i = 0; i < finding->flows->flow_count; i++) {
		struct loop_flow *flow = &finding->of_flow[i];

		if (flow->own_writes)
			flow->owner = flow->own;
	}
	for (size_t i = 0; i < finding->pairs.count; i++) {
		struct loop_flow *flow = &finding->of_flow[finding->pairs.keys[i].process];

		uint32_t source = (uint32_t)finding->pairs.keys[i].address;

		if (finding->pair_writes[i] != flow->writes || flow->writes < 2 ||
		    flow->own_writes >= flow->writes)
			continue;
		bool is_answer = finding->loops->is_bell[source] && flow->own != NO_INDEX;
		flow->owner = is_answer ? flow->own : source;
	}
}

void loops_sources_find(struct finding *finding)
{
	loops_turns_do(finding, turn_look);
	readers_find(finding);
	loops_number(finding);
	bells_find(finding);
	own_sources_find(finding);
	loops_turns_do(finding, turn_pair);
	owners_find(finding);
	owners_guess(finding);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the moment that ended a recorded wait; edges_parts.h has the contract.
 *
 * A lock's wait ends with the release that let its hold begin. A read's ends with the write of its
 * bytes, a permit's with the last post by the op that the recorder named. One thread.
 */
#include "edges_parts.h"

#include "base/memory.h"
#include "format.h"

#include <stdlib.h>

static int compare_writes(const void *left, const void *right, void *context)
{
	const struct edging *edging = context;
	const uint32_t *a = left, *b = right;
	const struct flows *flows = &edging->flows;
	uint32_t flow_a = flows->transfers[flows->transfer_of[*a]].flow;
	uint32_t flow_b = flows->transfers[flows->transfer_of[*b]].flow;
	uint64_t at_a = edging->rec->ops[*a].start_ns, at_b = edging->rec->ops[*b].start_ns;

	if (flow_a != flow_b)
		return flow_a < flow_b ? -1 : 1;
	return (at_a > at_b) - (at_a < at_b);
}

void edges_find_writes(struct edging *edging)
{
	size_t capacity = 0;

	for (uint32_t op = 0; op < edging->rec->op_count; op++) {
		uint32_t transfer = edging->flows.transfer_of[op];

		if (transfer == NO_INDEX || !edging->flows.transfers[transfer].is_write)
			continue;
		edging->writes = memory_grow(edging->writes, &capacity, edging->write_count + 1,
					     sizeof(*edging->writes));
		edging->writes[edging->write_count++] = op;
	}
	if (edging->write_count)
		qsort_r(edging->writes, edging->write_count, sizeof(*edging->writes),
			compare_writes, edging);
}

/* The write of a flow that began then, as a moment. */
static uint32_t write_at(const struct edging *edging, uint32_t flow, uint64_t at_ns)
{
	size_t low = 0, high = edging->write_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint32_t op = edging->writes[middle];
		uint32_t other = edging->flows.transfers[edging->flows.transfer_of[op]].flow;

		if (other < flow || (other == flow && edging->rec->ops[op].start_ns < at_ns))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == edging->write_count)
		return NO_INDEX;
	uint32_t op = edging->writes[low];
	bool is_it = edging->flows.transfers[edging->flows.transfer_of[op]].flow == flow &&
		     edging->rec->ops[op].start_ns == at_ns;
	return is_it ? edging->op_begin[op] : NO_INDEX;
}

/* The write that a read waited for; a poll waits for that of the read after it. */
static uint32_t cause_of_read(const struct edging *edging, uint32_t read, uint64_t from_ns)
{
	uint32_t index = edging->flows.transfer_of[read];

	if (index == NO_INDEX)
		return NO_INDEX;
	const struct transfer *transfer = &edging->flows.transfers[index];
	if (transfer->is_write || transfer->first_ns <= from_ns)
		return NO_INDEX;
	return write_at(edging, transfer->flow, transfer->first_ns);
}

static const struct moment *moment_after(const struct edging *edging, const struct event *event)
{
	size_t next = edging->timeline.first[event->thread] + event->at;

	return next < edging->timeline.first[event->thread + 1] ? &edging->timeline.moments[next]
								: NULL;
}

static bool begins_op(const struct moment *moment)
{
	return moment &&
	       (moment_type(moment) == MOMENT_OP_BEGIN || moment_type(moment) == MOMENT_OP_POINT);
}

static bool has_waited_for_room(const struct edging *edging, uint32_t op)
{
	uint32_t index = edging->flows.transfer_of[op];

	return index != NO_INDEX && edging->flows.transfers[index].is_write &&
	       edging->flows.transfers[index].has_waited;
}

uint32_t edges_cause_of_call(const struct edging *edging, const struct event *event, uint32_t op)
{
	const struct rec_op *call = &edging->rec->ops[op];
	const struct moment *next = moment_after(edging, event);

	if (call->kind == KIND_IO && has_waited_for_room(edging, op))
		return edging
			->last_read[edging->flows.transfers[edging->flows.transfer_of[op]].flow];
	if (call->kind == KIND_IO)
		return cause_of_read(edging, op, call->start_ns);
	if (call->kind == KIND_POLL && edging->rec->extras[op].amount && begins_op(next))
		return cause_of_read(edging, next->index, call->start_ns);
	return NO_INDEX;
}

static uint32_t cause_of_lock(const struct edging *edging, const struct event *event,
			      const struct rec_wait *wait)
{
	const struct moment *next = moment_after(edging, event);

	if (!begins_op(next) || edging->rec->ops[next->index].kind != KIND_HOLD ||
	    edging->rec->extras[next->index].address != wait->address)
		return NO_INDEX;
	const struct release *release = releases_granting(
		&edging->releases, edging->rec, edging->releases.lock_of[next->index], next->index,
		wait->start_ns, wait->end_ns, event->thread);
	return release ? edging->op_end[release->hold] : NO_INDEX;
}

static uint32_t cause_of_permit(const struct edging *edging, const struct event *event,
				const struct rec_wait *wait)
{
	uint32_t place =
		addresses_find(&edging->places, edges_process(edging, event), wait->address);

	if (wait->target != NO_INDEX && edging->post_by[wait->target] != NO_INDEX)
		return edging->post_by[wait->target];
	return place == NO_INDEX ? NO_INDEX : edging->at_place[place];
}

/* The link's; of one that is recorded after what it caused, the last one of its thread. */
static uint32_t moment_of(const struct edging *edging, uint32_t link)
{
	if (edging->of_link[link] != NO_INDEX)
		return edging->of_link[link];
	return edging->walkers[edging->rec->links[link].thread].last;
}

uint32_t edges_cause_of_wait(const struct edging *edging, const struct event *event, uint32_t index)
{
	const struct rec_wait *wait = &edging->rec->waits[index];
	uint32_t link = edging->monitors.waking_link[index], actor;

	switch (wait->reason) {
	case REASON_MUTEX:
	case REASON_RWLOCK_READ:
	case REASON_RWLOCK_WRITE:
		return cause_of_lock(edging, event, wait);
	case REASON_JOIN:
	case REASON_EXEC:
		actor = script_joined_actor(edging->rec, wait);
		return actor == NO_INDEX || actor == event->thread ? NO_INDEX
								   : edging->edges->finish[actor];
	case REASON_SEM:
	case REASON_BARRIER:
		return wait->timed_out ? NO_INDEX : cause_of_permit(edging, event, wait);
	default:
		return link == NO_INDEX || wait->timed_out ? NO_INDEX : moment_of(edging, link);
	}
}

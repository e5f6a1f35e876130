/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages: the thread that reads one from a pipe with several readers has the job that was in it.
 *
 * Method. Where all that goes through a pipe has one size, the n-th read gets the n-th write. So
 * each write is told which job of the pipe's list came of it. A change that has the writes come in
 * another order has the jobs done in that order. Jobs of other pipes stay in recorded order.
 *
 * Connections that are asked for at the same time are accepted in an order that nobody recorded.
 * The first bytes of both ends tell: those of a connection are of one flow. The end that connects
 * has them on the same descriptor.
 *
 * One thread.
 */
#include "base/assumptions.h"
#include "base/memory.h"
#include "recording/addresses.h"
#include "script_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Writes that wait for the reads which belong to them. */
struct matching {
	const struct transfer *transfers;
	const uint32_t *job_of_read;
	uint32_t *first_flow; /* by transfer of a connection: that of the first bytes on it */
	uint32_t *next;       /* by write: the next one with the same first flow */
	uint32_t *waiting;    /* by flow: the first write that it is the first flow of */
	bool *is_matched;     /* by transfer */
};

static bool is_connection(const struct script *script, uint32_t transfer)
{
	const struct flows *flows = &script->flows;

	return flows->flows[flows->transfers[transfer].flow].unit == FLOW_CONNECTIONS;
}

/* Connections of which no bytes have been seen yet. */
struct opened {
	struct addresses fds;
	uint32_t *connect_of; /* by fd: the connection that it asked for, or NO_INDEX */
	uint32_t *accepts;    /* of a thread, in order; what it got first is used first */
	size_t first_accept;
	size_t accept_count;
	struct addresses idents; /* of connections whose bytes have been seen, by process */
};

static uint32_t op_of(const struct script *script, size_t step)
{
	const struct step_origin *origin = script_origin(script, (uint32_t)step);

	return origin && origin->sort == ORIGIN_OP ? origin->index : NO_INDEX;
}

static void connection_opens(struct opened *opened, const struct transfer *transfers,
			     uint32_t connection, uint32_t process, int fd)
{
	if (!transfers[connection].is_write)
		opened->accepts[opened->accept_count++] = connection;
	else if (fd >= 0)
		opened->connect_of[addresses_add(&opened->fds, process, (uint64_t)fd)] = connection;
}

/* The connection that bytes are the first of, or NO_INDEX. */
static uint32_t connection_of(struct opened *opened, uint32_t process, int fd, uint32_t ident)
{
	uint32_t at = fd < 0 ? NO_INDEX : addresses_find(&opened->fds, process, (uint64_t)fd);
	uint32_t connection = NO_INDEX;
	bool is_new = addresses_find(&opened->idents, process, ident) == NO_INDEX;

	addresses_add(&opened->idents, process, ident);
	if (at != NO_INDEX && opened->connect_of[at] != NO_INDEX) {
		connection = opened->connect_of[at];
		opened->connect_of[at] = NO_INDEX;
	} else if (is_new && opened->first_accept < opened->accept_count) {
		connection = opened->accepts[opened->first_accept++];
	}
	return connection;
}

/* The first bytes of a descriptor that was connected, and those of a thread that has accepted on a
 * connection which is new. */
static void first_flows_find(struct matching *matching, const struct script *script)
{
	const struct recording *rec = script->recording;
	size_t transfers = script->flows.transfer_count;
	struct opened opened = { .connect_of = memory_new(transfers, sizeof(*opened.connect_of)),
				 .accepts = memory_new(transfers, sizeof(*opened.accepts)) };

	memset(opened.connect_of, 0xff, transfers * sizeof(*opened.connect_of));
	for (size_t i = 0; i < script->step_count; i++) {
		const struct step *step = &script->steps[i];

		if (step->type == STEP_END)
			opened.first_accept = opened.accept_count = 0;
		if (step->type != STEP_SEND && step->type != STEP_RECEIVE)
			continue;
		uint32_t op = op_of(script, i);

		if (op == NO_INDEX)
			continue;
		uint32_t process = rec->threads[rec->ops[op].thread].process;

		if (is_connection(script, step->arg)) {
			connection_opens(&opened, matching->transfers, step->arg, process,
					 rec->extras[op].fd);
			continue;
		}
		uint32_t connection =
			connection_of(&opened, process, rec->extras[op].fd, rec->ops[op].ident);
		if (connection != NO_INDEX)
			matching->first_flow[connection] = matching->transfers[step->arg].flow;
	}
	addresses_free(&opened.fds);
	addresses_free(&opened.idents);
	free(opened.connect_of);
	free(opened.accepts);
}

static void matching_begin(struct matching *matching, const struct script *script,
			   const uint32_t *job_of_read)
{
	size_t transfers = script->flows.transfer_count, flows = script->flows.flow_count;

	*matching = (struct matching){
		.transfers = script->flows.transfers,
		.job_of_read = job_of_read,
		.first_flow = memory_new(transfers, sizeof(*matching->first_flow)),
		.next = memory_new(transfers, sizeof(*matching->next)),
		.waiting = memory_new(flows, sizeof(*matching->waiting)),
		.is_matched = memory_new(transfers, sizeof(*matching->is_matched)),
	};
	memset(matching->first_flow, 0xff, transfers * sizeof(*matching->first_flow));
	memset(matching->waiting, 0xff, flows * sizeof(*matching->waiting));
	first_flows_find(matching, script);
}

static void matching_end(struct matching *matching)
{
	free(matching->first_flow);
	free(matching->next);
	free(matching->waiting);
	free(matching->is_matched);
}

static void match(struct messages *messages, struct matching *matching, uint32_t write,
		  uint32_t read)
{
	messages->job_of[write] = matching->job_of_read[read];
	matching->is_matched[write] = matching->is_matched[read] = true;
}

/* Transfers [from, to) of a flow: those whose connections have the same first bytes. */
static void match_by_bytes(struct messages *messages, struct matching *matching, size_t from,
			   size_t to)
{
	for (size_t i = to; i-- > from;) {
		uint32_t flow = matching->first_flow[i];

		if (!matching->transfers[i].is_write || flow == NO_INDEX)
			continue;
		matching->next[i] = matching->waiting[flow];
		matching->waiting[flow] = (uint32_t)i;
	}
	for (size_t i = from; i < to; i++) {
		uint32_t flow = matching->first_flow[i];

		if (matching->transfers[i].is_write || flow == NO_INDEX ||
		    matching->waiting[flow] == NO_INDEX)
			continue;
		uint32_t write = matching->waiting[flow];

		matching->waiting[flow] = matching->next[write];
		match(messages, matching, write, (uint32_t)i);
	}
}

/* Transfers [from, to) of a flow, in order of time. */
static void flow_match(struct messages *messages, struct matching *matching, size_t from, size_t to)
{
	const struct transfer *transfers = matching->transfers;
	size_t read = from;

	assert(from < to && transfers[from].bytes);
	for (size_t i = from; i < to; i++)
		if (transfers[i].bytes != transfers[from].bytes)
			return;
	match_by_bytes(messages, matching, from, to);
	for (size_t write = from; write < to; write++) {
		if (!transfers[write].is_write || matching->is_matched[write])
			continue;
		while (read < to && (transfers[read].is_write || matching->is_matched[read]))
			read++;
		if (read < to)
			match(messages, matching, (uint32_t)write, (uint32_t)read);
	}
	messages->rooms[transfers[from].flow] =
		(struct message_room){ (uint32_t)from, (uint32_t)(to - from) };
}

void script_messages_find(struct script *script, const uint32_t *job_of_read)
{
	const struct flows *flows = &script->flows;
	struct messages *messages = &script->messages;
	size_t bytes = flows->transfer_count * sizeof(*messages->job_of);
	struct matching matching;

	messages->job_of = memory_new(flows->transfer_count, sizeof(*messages->job_of));
	messages->rooms = memory_new(flows->flow_count, sizeof(*messages->rooms));
	memset(messages->job_of, 0xff, bytes);
	matching_begin(&matching, script, job_of_read);
	for (size_t from = 0, to; from < flows->transfer_count; from = to) {
		uint32_t flow = flows->transfers[from].flow;

		for (to = from; to < flows->transfer_count && flows->transfers[to].flow == flow;)
			to++;
		if (assume.messages && flows->flows[flow].is_shared && flows->transfers[from].bytes)
			flow_match(messages, &matching, from, to);
	}
	matching_end(&matching);
}

void script_messages_free(struct script *script)
{
	free(script->messages.job_of);
	free(script->messages.rooms);
}

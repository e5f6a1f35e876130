/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages: the thread that reads one from a pipe with several readers has the job that was in it.
 *
 * Method. Where all that goes through a pipe has one size, the n-th read gets the n-th write. So
 * each write is told which job of the pipe's list came of it. A change that has the writes come in
 * another order has the jobs done in that order. Jobs of other pipes stay in recorded order.
 *
 * One thread.
 */
#include "base/assumptions.h"
#include "base/memory.h"
#include "script_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Transfers [from, to) of a flow, in order of time. */
static void flow_match(struct messages *messages, const struct transfer *transfers, size_t from,
		       size_t to, const uint32_t *job_of_read)
{
	size_t read = from;

	assert(from < to && transfers[from].bytes);
	for (size_t i = from; i < to; i++)
		if (transfers[i].bytes != transfers[from].bytes)
			return;
	for (size_t write = from; write < to; write++) {
		if (!transfers[write].is_write)
			continue;
		while (read < to && transfers[read].is_write)
			read++;
		if (read < to)
			messages->job_of[write] = job_of_read[read++];
	}
	messages->rooms[transfers[from].flow] =
		(struct message_room){ (uint32_t)from, (uint32_t)(to - from) };
}

void script_messages_find(struct script *script, const uint32_t *job_of_read)
{
	const struct flows *flows = &script->flows;
	struct messages *messages = &script->messages;
	size_t bytes = flows->transfer_count * sizeof(*messages->job_of);

	messages->job_of = memory_new(flows->transfer_count, sizeof(*messages->job_of));
	messages->rooms = memory_new(flows->flow_count, sizeof(*messages->rooms));
	memset(messages->job_of, 0xff, bytes);
	for (size_t from = 0, to; from < flows->transfer_count; from = to) {
		uint32_t flow = flows->transfers[from].flow;

		for (to = from; to < flows->transfer_count && flows->transfers[to].flow == flow;)
			to++;
		if (assume.messages && flows->flows[flow].is_shared && flows->transfers[from].bytes)
			flow_match(messages, flows->transfers, from, to, job_of_read);
	}
}

void script_messages_free(struct script *script)
{
	free(script->messages.job_of);
	free(script->messages.rooms);
}

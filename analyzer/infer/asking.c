/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds when a server was asked; asking.h has the contract.
 *
 * Method. In a pause no request is under way for so long that it is no chance. On average as many
 * requests as make a load come in that time. It is no small part of all the time, either, as a
 * client's delay is. Clients that think make no pause: they come again.
 *
 * Requests of clients that are not recorded are those that a server is there for. Where all clients
 * are recorded it is what other processes asked. A program that asks itself is no server.
 *
 * One thread.
 */
#include "asking.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assumptions.h"
#include "base/memory.h"
#include "exchanges.h"

static int compare_spans(const void *left, const void *right)
{
	const struct asking_span *a = left, *b = right;

	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

bool asking_measure(struct asking *asking, struct asking_span *requests, size_t count)
{
	*asking = (struct asking){ 0 };
	if (!count || count < assume.load)
		return false;
	qsort(requests, count, sizeof(*requests), compare_spans);
	asking->from_ns = asking->to_ns = requests[0].start_ns;
	for (size_t i = 0; i < count; i++)
		if (requests[i].end_ns > asking->to_ns)
			asking->to_ns = requests[i].end_ns;
	double all_ns = (double)(asking->to_ns - asking->from_ns);
	double pause_ns = fmax(all_ns / assume.load, all_ns / (double)count * assume.load);
	uint64_t busy_until_ns = asking->from_ns;
	for (size_t i = 0; i < count; i++) {
		uint64_t start_ns = requests[i].start_ns, end_ns = requests[i].end_ns;

		if (start_ns > busy_until_ns && (double)(start_ns - busy_until_ns) > pause_ns) {
			asking->paused_ns += start_ns - busy_until_ns;
			asking->pause_count++;
		}
		if (end_ns > busy_until_ns)
			busy_until_ns = end_ns;
	}
	assert(asking->paused_ns <= asking->to_ns - asking->from_ns);
	return true;
}

/* By string: calls of this name have begun questions that were answered. */
static bool *answered_find(const struct exchanges *exchanges, const struct recording *rec)
{
	bool *is_answered = memory_new(rec->string_count, sizeof(*is_answered));

	for (size_t i = 0; i < exchanges->count; i++)
		if (exchanges->exchanges[i].last_op != NO_INDEX)
			is_answered[rec->ops[exchanges->exchanges[i].first_op].name] = true;
	return is_answered;
}

static uint32_t process_of(const struct recording *rec, const struct exchange *exchange)
{
	return rec->threads[rec->ops[exchange->first_op].thread].process;
}

/* Clients that are not recorded, or that are another process. */
static bool is_of(const struct exchanges *exchanges, const struct exchange *exchange,
		  const struct recording *rec, bool is_recorded)
{
	if (exchange->of == NO_INDEX)
		return !is_recorded;
	return is_recorded &&
	       process_of(rec, exchange) != process_of(rec, &exchanges->exchanges[exchange->of]);
}

static size_t spans_find(struct asking_span *spans, const struct exchanges *exchanges,
			 const struct recording *rec, bool are_recorded)
{
	bool *is_answered = answered_find(exchanges, rec);
	size_t count = 0;

	for (size_t i = 0; i < exchanges->count; i++) {
		const struct exchange *exchange = &exchanges->exchanges[i];
		uint32_t first = exchange->first_op, last = exchange->last_op;

		if (exchange->is_served && rec->extras[first].accepted &&
		    is_of(exchanges, exchange, rec, are_recorded) &&
		    is_answered[rec->ops[first].name])
			spans[count++] =
				(struct asking_span){ exchange->start_ns,
						      last == NO_INDEX ? rec->end_ns
								       : rec->ops[last].end_ns };
	}
	free(is_answered);
	return count;
}

/* The transfers of a listener are in a row, as those of each flow. When the first one began that
 * had not been accepted by then; `at_ns`: there was none. */
static uint64_t backlog_begins(const struct recording *rec, const struct flows *flows,
			       const uint32_t *op_of, size_t first, size_t end, uint64_t at_ns)
{
	size_t accepts = 0, accepted = 0, connects = 0;

	for (size_t i = first; i < end; i++)
		if (!flows->transfers[i].is_write && op_of[i] != NO_INDEX) {
			accepts++;
			accepted += rec->ops[op_of[i]].end_ns <= at_ns;
		}
	for (size_t i = first; i < end; i++) {
		if (!flows->transfers[i].is_write || op_of[i] == NO_INDEX || connects++ != accepted)
			continue;
		uint64_t start_ns = rec->ops[op_of[i]].start_ns;

		return accepts > accepted && start_ns < at_ns ? start_ns : at_ns;
	}
	return at_ns;
}

/* Whoever connects to a server that is not up yet is served first. */
static uint64_t before_backlogs(const struct recording *rec, const struct flows *flows,
				uint64_t at_ns)
{
	uint32_t *op_of = memory_new(flows->transfer_count, sizeof(*op_of));
	uint64_t from_ns = at_ns;

	memset(op_of, 0xff, flows->transfer_count * sizeof(*op_of));
	for (uint32_t op = 0; op < rec->op_count; op++)
		if (flows->transfer_of[op] != NO_INDEX)
			op_of[flows->transfer_of[op]] = op;
	for (size_t first = 0, end; first < flows->transfer_count; first = end) {
		uint32_t flow = flows->transfers[first].flow;

		for (end = first; end < flows->transfer_count && flows->transfers[end].flow == flow;
		     end++)
			;
		if (flows->flows[flow].unit != FLOW_CONNECTIONS)
			continue;
		uint64_t began_ns = backlog_begins(rec, flows, op_of, first, end, at_ns);

		from_ns = began_ns < from_ns ? began_ns : from_ns;
	}
	free(op_of);
	return from_ns;
}

bool asking_find(struct asking *asking, const struct recording *rec)
{
	struct flows flows;
	struct carriers carriers;
	struct exchanges exchanges;

	*asking = (struct asking){ 0 };
	if (!rec->thread_count || !rec->extras)
		return false;
	flows_build(&flows, rec);
	carriers_build(&carriers, &flows, rec);
	exchanges_build(&exchanges, rec, &flows, &carriers);
	struct asking_span *spans = memory_new(exchanges.count, sizeof(*spans));
	size_t count = spans_find(spans, &exchanges, rec, false);
	if (!count)
		count = spans_find(spans, &exchanges, rec, true);
	bool is_any = asking_measure(asking, spans, count);
	if (is_any)
		asking->from_ns = before_backlogs(rec, &flows, asking->from_ns);
	free(spans);
	exchanges_free(&exchanges);
	carriers_free(&carriers);
	flows_free(&flows);
	return is_any;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds connections that threads borrow; flows_lent.h has the contract.
 *
 * Method. One thread alone serves a connection. Threads ask and get answers in turn, each before
 * the next one asks. The threads that serve must be free between questions: one that keeps a lock
 * then has something to do with the thread that asks it.
 *
 * Such connections of one program to one server are a pool, if one of them is asked by several
 * threads. A connection of the pool's server that only one thread has, which has no other, is its
 * own. The server is a process with a thread for each connection, or the parent of processes that
 * have one each. Closing a connection of the pool asks for nothing, and lets one such thread go.
 *
 * One thread.
 */
#include "flows_lent_parts.h"

#include "base/memory.h"
#include "format.h"

#include <stdlib.h>
#include <string.h>

/* --- connections --- */

static uint32_t thread_of(const struct lending *lending, uint32_t transfer)
{
	return lending->rec->ops[lending->op_of[transfer]].thread;
}

static uint64_t time_of(const struct lending *lending, uint32_t transfer)
{
	const struct rec_op *op = &lending->rec->ops[lending->op_of[transfer]];

	return lending->flows->transfers[transfer].is_write ? op->start_ns : op->end_ns;
}

static void thread_note(uint32_t *only, uint32_t thread, bool is_first)
{
	*only = is_first || *only == thread ? thread : NO_INDEX;
}

static void directions_find(struct lending *lending)
{
	const struct flows *flows = lending->flows;
	bool *has_read = memory_new(flows->flow_count, sizeof(*has_read));
	bool *has_written = memory_new(flows->flow_count, sizeof(*has_written));

	for (size_t i = 0; i < flows->flow_count; i++)
		lending->directions[i] = (struct direction){
			.reader = NO_INDEX, .writer = NO_INDEX, .back = NO_INDEX, .pool = NO_INDEX
		};
	for (uint32_t i = 0; i < flows->transfer_count; i++) {
		const struct transfer *transfer = &flows->transfers[i];
		struct direction *direction = &lending->directions[transfer->flow];

		if (!direction->count++)
			direction->first = i;
		if (lending->op_of[i] == NO_INDEX)
			continue;
		bool *has = transfer->is_write ? has_written : has_read;
		thread_note(transfer->is_write ? &direction->writer : &direction->reader,
			    thread_of(lending, i), !has[transfer->flow]);
		has[transfer->flow] = true;
	}
	free(has_read);
	free(has_written);
}

/* The other direction is written where this one is read, by the same descriptor. */
static void backs_find(struct lending *lending)
{
	const struct recording *rec = lending->rec;
	const struct flows *flows = lending->flows;
	struct addresses ends = { 0 };
	uint32_t *written = memory_new(flows->transfer_count, sizeof(*written));

	for (int reads = 0; reads < 2; reads++)
		for (uint32_t i = 0; i < flows->transfer_count; i++) {
			const struct transfer *transfer = &flows->transfers[i];
			uint32_t op = lending->op_of[i];

			if (op == NO_INDEX || transfer->is_write == reads ||
			    flows->flows[transfer->flow].unit != FLOW_BYTES)
				continue;
			uint32_t process = rec->threads[rec->ops[op].thread].process;

			if (!reads) {
				written[addresses_add(&ends, process, rec->ops[op].ident)] =
					transfer->flow;
				continue;
			}
			uint32_t end = addresses_find(&ends, process, rec->ops[op].ident);

			if (end != NO_INDEX && written[end] != transfer->flow)
				lending->directions[transfer->flow].back = written[end];
		}
	free(written);
	addresses_free(&ends);
}

/* --- what is lent --- */

/* The connection was closed, or that was found. */
static bool is_end(const struct lending *lending, uint32_t transfer)
{
	return lending->flows->end_of[lending->op_of[transfer]] == transfer;
}

/* False: something was left over. One that has not ended with the recording is none. */
static bool loan_ends(struct loan *loan)
{
	loan->is_lent = (loan->is_answered || (loan->is_end && loan->read != NO_INDEX)) &&
			!loan->left[0] && !loan->left[1];
	return loan->is_lent;
}

static struct loan *loan_begins(struct lending *lending, uint32_t flow, uint32_t transfer)
{
	lending->loans = memory_grow(lending->loans, &lending->loan_capacity,
				     lending->loan_count + 1, sizeof(*lending->loans));
	struct loan *loan = &lending->loans[lending->loan_count++];

	*loan = (struct loan){ .flow = flow,
			       .asker = thread_of(lending, transfer),
			       .write = transfer,
			       .is_end = is_end(lending, transfer),
			       .read = NO_INDEX,
			       .asked_ns = time_of(lending, transfer),
			       .read_ns = UINT64_MAX };
	return loan;
}

/* The next transfer of a loan. False: it is one of another thread, or out of turn. */
static bool loan_goes_on(struct lending *lending, struct loan *loan, uint32_t transfer,
			 bool is_back)
{
	const struct transfer *moved = &lending->flows->transfers[transfer];

	if (is_back && is_end(lending, transfer))
		return true;
	bool is_of_asker = moved->is_write != is_back;
	uint64_t *left = &loan->left[is_back];

	if (is_of_asker && thread_of(lending, transfer) != loan->asker)
		return false;
	if (!moved->is_write && *left < moved->bytes)
		return false;
	*left += moved->is_write ? moved->bytes : -moved->bytes;
	if (!moved->is_write && !is_back && loan->read == NO_INDEX) {
		loan->read = transfer;
		loan->read_ns = time_of(lending, transfer);
	}
	if (is_back && loan->read == NO_INDEX)
		return false;
	loan->is_answered |= is_back;
	lending->loan_of[transfer] = (uint32_t)(loan - lending->loans);
	return is_back || !loan->is_answered;
}

/* The loans of a connection, at the end of the list; false: it is not lent. */
static bool loans_find(struct lending *lending, uint32_t flow)
{
	struct direction *asks = &lending->directions[flow];
	const struct direction *answers = &lending->directions[asks->back];
	uint32_t i = asks->first, end = i + asks->count;
	uint32_t k = answers->first, answers_end = k + answers->count;
	struct loan *loan = NULL;
	bool is_fine = true;

	while (is_fine && (i < end || k < answers_end)) {
		uint64_t asks_ns = i < end ? time_of(lending, i) : UINT64_MAX;
		uint64_t answers_ns = k < answers_end ? time_of(lending, k) : UINT64_MAX;
		bool was_read = loan && loan->read != NO_INDEX;
		bool is_back = answers_ns < asks_ns || (answers_ns == asks_ns && was_read);
		uint32_t transfer = is_back ? k++ : i++;

		if (!is_back && lending->flows->transfers[transfer].is_write &&
		    (!loan || loan->is_answered)) {
			is_fine = !loan || loan_ends(loan);
			asks->has_several |= loan && !is_end(lending, transfer) &&
					     loan->asker != thread_of(lending, transfer);
			loan = loan_begins(lending, flow, transfer);
		}
		if (loan)
			is_fine = loan_goes_on(lending, loan, transfer, is_back) && is_fine;
	}
	if (loan)
		loan_ends(loan);
	return is_fine && loan;
}

/* --- pools --- */

/* The process of its own thread for each connection, or the parent of a process for each. */
static uint64_t server_of(const struct lending *lending, uint32_t thread)
{
	const struct rec_thread *server = &lending->rec->threads[thread];
	const struct rec_process *process = &lending->rec->processes[server->process];

	return server->tid == process->pid ? (uint64_t)process->ppid << 32 : server->process;
}

/* Its transfers are those of calls with one descriptor. */
static bool is_plain(const struct lending *lending, const struct direction *direction)
{
	for (uint32_t i = direction->first; i < direction->first + direction->count; i++)
		if (lending->op_of[i] == NO_INDEX)
			return false;
	return true;
}

static bool can_be_lent(const struct lending *lending, uint32_t flow)
{
	const struct direction *asks = &lending->directions[flow];

	if (asks->back == NO_INDEX || asks->reader == NO_INDEX ||
	    lending->flows->flows[flow].unit != FLOW_BYTES)
		return false;
	const struct direction *answers = &lending->directions[asks->back];
	if (!is_plain(lending, asks) || !is_plain(lending, answers))
		return false;
	/* of two threads the one that begins asks */
	bool does_begin = asks->writer == NO_INDEX ||
			  time_of(lending, asks->first) < time_of(lending, answers->first);

	return does_begin && answers->back == flow && answers->writer == asks->reader;
}

static void loans_take_back(struct lending *lending, uint32_t flow, size_t first)
{
	const struct direction *ways[] = { &lending->directions[flow],
					   &lending->directions[lending->directions[flow].back] };

	for (int way = 0; way < 2; way++)
		memset(&lending->loan_of[ways[way]->first], 0xff,
		       ways[way]->count * sizeof(*lending->loan_of));
	lending->loan_count = first;
}

static void pools_find(struct lending *lending)
{
	for (uint32_t flow = 0; flow < lending->flows->flow_count; flow++) {
		struct direction *asks = &lending->directions[flow];
		size_t first = lending->loan_count;

		if (!can_be_lent(lending, flow) || lending->directions[asks->back].is_lent)
			continue;
		if (!loans_find(lending, flow)) {
			loans_take_back(lending, flow, first);
			continue;
		}
		uint32_t asker = lending->loans[first].asker;

		asks->pool = addresses_add(&lending->pools, lending->rec->threads[asker].process,
					   server_of(lending, asks->reader));
		asks->is_lent = true;
	}
}

/* A thread that serves several connections is no worker that is free with each of them. */
static void servers_check(struct lending *lending)
{
	uint32_t *served = memory_new(lending->rec->thread_count, sizeof(*served));

	for (size_t i = 0; i < lending->flows->flow_count; i++)
		if (lending->directions[i].is_lent)
			served[lending->directions[i].reader]++;
	for (size_t i = 0; i < lending->flows->flow_count; i++) {
		struct direction *asks = &lending->directions[i];

		asks->is_lent = asks->is_lent && served[asks->reader] == 1;
	}
	free(served);
}

/* Loans of a connection are in a row, in order of time: those of a server that has but one. */
static void holds_check(struct lending *lending)
{
	const struct recording *rec = lending->rec;
	size_t *first = memory_new(rec->thread_count, sizeof(*first));
	size_t *end = memory_new(rec->thread_count, sizeof(*end));

	for (size_t i = 0; i < lending->loan_count; i++) {
		const struct direction *asks = &lending->directions[lending->loans[i].flow];
		uint32_t server = asks->reader;

		if (!asks->is_lent)
			continue;
		if (!end[server])
			first[server] = i;
		end[server] = i + 1;
	}
	for (uint32_t op = 0; op < rec->op_count; op++) {
		const struct rec_op *hold = &rec->ops[op];

		if (hold->kind != KIND_HOLD || hold->thread == NO_INDEX || !end[hold->thread])
			continue;
		size_t low = first[hold->thread], high = end[hold->thread];

		while (low < high) {
			size_t middle = low + (high - low) / 2;

			if (lending->loans[middle].read_ns <= hold->start_ns)
				low = middle + 1;
			else
				high = middle;
		}
		if (low < end[hold->thread] && lending->loans[low].read_ns < hold->end_ns)
			lending->directions[lending->loans[low].flow].is_lent = false;
	}
	free(first);
	free(end);
}

/* A thread that has but one connection, and that alone, borrows none. */
static void owners_leave(struct lending *lending)
{
	struct addresses borrowers = { 0 };
	uint32_t *only = memory_new(lending->loan_count, sizeof(*only));
	uint32_t *members = memory_new(lending->pools.count, sizeof(*members));
	bool *is_pool = memory_new(lending->pools.count, sizeof(*is_pool));
	bool *is_borrowed = memory_new(lending->pools.count, sizeof(*is_borrowed));

	for (size_t i = 0; i < lending->loan_count; i++) {
		const struct loan *loan = &lending->loans[i];
		uint32_t pool = lending->directions[loan->flow].pool;
		size_t known = borrowers.count;

		if (loan->is_end)
			continue;
		uint32_t borrower = addresses_add(&borrowers, pool, loan->asker);

		thread_note(&only[borrower], loan->flow, borrowers.count > known);
	}
	for (size_t i = 0; i < lending->loan_count; i++) {
		const struct loan *loan = &lending->loans[i];
		struct direction *asks = &lending->directions[loan->flow];

		if (loan->is_end)
			continue;
		is_borrowed[asks->pool] |= asks->has_several;
		asks->is_one_of_several |=
			only[addresses_find(&borrowers, asks->pool, loan->asker)] == NO_INDEX;
	}
	for (size_t i = 0; i < lending->flows->flow_count; i++) {
		struct direction *asks = &lending->directions[i];

		asks->is_lent = asks->is_lent && (asks->has_several || asks->is_one_of_several);
		if (asks->is_lent)
			is_pool[asks->pool] = members[asks->pool]++ > 0;
	}
	for (size_t i = 0; i < lending->loan_count; i++) {
		struct loan *loan = &lending->loans[i];
		const struct direction *asks = &lending->directions[loan->flow];

		loan->is_lent = loan->is_lent && asks->is_lent && is_pool[asks->pool] &&
				is_borrowed[asks->pool];
	}
	free(only);
	free(members);
	free(is_pool);
	free(is_borrowed);
	addresses_free(&borrowers);
}

static bool is_any_lent(const struct lending *lending)
{
	for (size_t i = 0; i < lending->loan_count; i++)
		if (lending->loans[i].is_lent)
			return true;
	return false;
}

void flows_lend(struct flows *flows, const struct recording *rec)
{
	struct lending lending = {
		.rec = rec,
		.flows = flows,
		.op_of = memory_new(flows->transfer_count, sizeof(*lending.op_of)),
		.directions = memory_new(flows->flow_count, sizeof(*lending.directions)),
		.loan_of = memory_new(flows->transfer_count, sizeof(*lending.loan_of)),
	};

	memset(lending.op_of, 0xff, flows->transfer_count * sizeof(*lending.op_of));
	memset(lending.loan_of, 0xff, flows->transfer_count * sizeof(*lending.loan_of));
	for (uint32_t op = 0; op < rec->op_count; op++)
		if (flows->transfer_of[op] != NO_INDEX && flows->other_of[op] == NO_INDEX &&
		    rec->ops[op].thread != NO_INDEX)
			lending.op_of[flows->transfer_of[op]] = op;
	for (uint32_t op = 0; op < rec->op_count; op++)
		if (flows->end_of[op] != NO_INDEX && rec->ops[op].thread != NO_INDEX)
			lending.op_of[flows->end_of[op]] = op;
	directions_find(&lending);
	backs_find(&lending);
	pools_find(&lending);
	servers_check(&lending);
	holds_check(&lending);
	owners_leave(&lending);
	if (is_any_lent(&lending))
		flows_lent_move(&lending);
	free(lending.op_of);
	free(lending.directions);
	free(lending.loan_of);
	free(lending.loans);
	addresses_free(&lending.pools);
}

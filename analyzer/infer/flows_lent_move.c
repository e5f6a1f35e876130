/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the flows of connections anew that threads borrow; flows_lent.h has the contract.
 *
 * Method. All that is of no loan stays where it was. The n-th message of a pool that is written is
 * the n-th that is read, both of the loan that was asked for then. The call that asks writes the
 * message beside the question, as its second descriptor. The call that reads the question first
 * reads the message before that.
 *
 * One thread.
 */
#include "base/memory.h"
#include "flows_lent_parts.h"

#include <stdlib.h>
#include <string.h>

/* Where everything goes. */
struct moving {
	struct flows to;
	uint32_t *place;    /* by transfer: its new index */
	uint32_t *loan_at;  /* by loan and way: where its transfers go */
	uint32_t *flow_of;  /* by loan: of its question; that of its answer comes next */
	uint32_t pool_flow; /* the first pool's messages */
};

static bool is_moved(const struct lending *lending, uint32_t transfer)
{
	uint32_t loan = lending->loan_of[transfer];

	return loan != NO_INDEX && lending->loans[loan].is_lent && !lending->loans[loan].is_end;
}

static bool is_answer(const struct lending *lending, uint32_t transfer)
{
	return lending->flows->transfers[transfer].flow !=
	       lending->loans[lending->loan_of[transfer]].flow;
}

static void flows_add(const struct lending *lending, struct moving *moving)
{
	const struct flows *from = lending->flows;
	size_t most = from->flow_count + lending->pools.count + 2 * lending->loan_count;

	moving->to.flows = memory_new(most, sizeof(*moving->to.flows));
	memcpy(moving->to.flows, from->flows, from->flow_count * sizeof(*from->flows));
	moving->pool_flow = (uint32_t)from->flow_count;
	moving->to.flow_count = from->flow_count + lending->pools.count;
	for (size_t i = 0; i < lending->pools.count; i++)
		moving->to.flows[moving->pool_flow + i] =
			(struct flow){ .unit = FLOW_MESSAGES, .is_shared = true, .is_whole = true };
	for (size_t i = 0; i < lending->loan_count; i++) {
		const struct loan *loan = &lending->loans[i];

		if (!loan->is_lent || loan->is_end)
			continue;
		moving->flow_of[i] = (uint32_t)moving->to.flow_count;
		moving->to.flows[moving->to.flow_count++] = from->flows[loan->flow];
		moving->to.flows[moving->to.flow_count++] =
			from->flows[lending->directions[loan->flow].back];
	}
}

struct asked_loan {
	uint64_t asked_ns;
	uint32_t pool;
	uint32_t loan;
};

static int compare_asked(const void *left, const void *right)
{
	const struct asked_loan *a = left, *b = right;

	if (a->pool != b->pool)
		return a->pool < b->pool ? -1 : 1;
	if (a->asked_ns != b->asked_ns)
		return a->asked_ns < b->asked_ns ? -1 : 1;
	return (a->loan > b->loan) - (a->loan < b->loan);
}

/* The message of each loan: the n-th of a pool's that is written is the n-th that is read. */
static void messages_add(struct lending *lending, struct moving *moving)
{
	struct flows *flows = lending->flows;
	struct asked_loan *asked = memory_new(lending->loan_count, sizeof(*asked));
	size_t count = 0;

	for (uint32_t i = 0; i < lending->loan_count; i++) {
		const struct loan *loan = &lending->loans[i];

		if (loan->is_lent)
			asked[count++] =
				(struct asked_loan){ loan->asked_ns,
						     lending->directions[loan->flow].pool, i };
	}
	if (count)
		qsort(asked, count, sizeof(*asked), compare_asked);
	for (size_t i = 0; i < count; i++) {
		struct loan *loan = &lending->loans[asked[i].loan];
		struct transfer *write = &flows->transfers[loan->write];
		struct transfer *read = &flows->transfers[loan->read];
		struct transfer message = *write;

		message.bytes = 1;
		message.flow = moving->pool_flow + asked[i].pool;
		loan->message = (uint32_t)moving->to.transfer_count;
		moving->to.transfers[moving->to.transfer_count++] = message;
		message.is_write = false;
		message.has_waited = read->has_waited;
		message.latency_ns = read->latency_ns;
		message.first_ns = read->first_ns;
		message.has_woken = read->has_woken;
		moving->to.transfers[moving->to.transfer_count++] = message;
		write->has_waited = read->has_waited = false;
		write->latency_ns = read->latency_ns = 0;
	}
	free(asked);
}

/* Transfers stay in the order of their flows, each in order of time. */
static void transfers_move(struct lending *lending, struct moving *moving)
{
	const struct flows *flows = lending->flows;

	moving->to.transfers = memory_new(flows->transfer_count + 2 * lending->loan_count,
					  sizeof(*moving->to.transfers));
	for (uint32_t i = 0; i < flows->transfer_count; i++) {
		if (is_moved(lending, i)) {
			moving->loan_at[2 * lending->loan_of[i] + is_answer(lending, i)]++;
			continue;
		}
		moving->place[i] = (uint32_t)moving->to.transfer_count;
		moving->to.transfers[moving->to.transfer_count++] = flows->transfers[i];
	}
	messages_add(lending, moving);
	for (size_t i = 0; i < 2 * lending->loan_count; i++) {
		uint32_t count = moving->loan_at[i];

		moving->loan_at[i] = (uint32_t)moving->to.transfer_count;
		moving->to.transfer_count += count;
	}
	for (uint32_t i = 0; i < flows->transfer_count; i++) {
		if (!is_moved(lending, i))
			continue;
		bool is_back = is_answer(lending, i);
		uint32_t loan = lending->loan_of[i];

		moving->place[i] = moving->loan_at[2 * loan + is_back]++;
		moving->to.transfers[moving->place[i]] = flows->transfers[i];
		moving->to.transfers[moving->place[i]].flow = moving->flow_of[loan] + is_back;
	}
}

/* The call with the first read takes the message, and then the question. An end is only that. */
static void ops_follow(const struct lending *lending, const struct moving *moving)
{
	struct flows *flows = lending->flows;

	for (size_t op = 0; op < lending->rec->op_count; op++) {
		if (flows->transfer_of[op] != NO_INDEX)
			flows->transfer_of[op] = moving->place[flows->transfer_of[op]];
		if (flows->other_of[op] != NO_INDEX)
			flows->other_of[op] = moving->place[flows->other_of[op]];
		if (flows->end_of[op] != NO_INDEX)
			flows->end_of[op] = moving->place[flows->end_of[op]];
	}
	for (size_t i = 0; i < lending->loan_count; i++) {
		const struct loan *loan = &lending->loans[i];

		if (!loan->is_lent)
			continue;
		uint32_t writer = lending->op_of[loan->write];
		uint32_t reader = lending->op_of[loan->read];

		if (loan->is_end) {
			flows->end_of[writer] = loan->message;
			flows->end_of[reader] = loan->message + 1;
			continue;
		}
		flows->other_of[writer] = loan->message;
		flows->other_of[reader] = flows->transfer_of[reader];
		flows->transfer_of[reader] = loan->message + 1;
	}
}

void flows_lent_move(struct lending *lending)
{
	struct flows *flows = lending->flows;
	struct moving moving = {
		.place = memory_new(flows->transfer_count, sizeof(*moving.place)),
		.loan_at = memory_new(2 * lending->loan_count, sizeof(*moving.loan_at)),
		.flow_of = memory_new(lending->loan_count, sizeof(*moving.flow_of)),
	};

	flows_add(lending, &moving);
	transfers_move(lending, &moving);
	ops_follow(lending, &moving);
	free(flows->flows);
	free(flows->transfers);
	flows->flows = moving.to.flows;
	flows->flow_count = moving.to.flow_count;
	flows->transfers = moving.to.transfers;
	flows->transfer_count = moving.to.transfer_count;
	free(moving.place);
	free(moving.loan_at);
	free(moving.flow_of);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, one thread that borrows a connection could get another one's answer. */
#include "borrowed.h"
#include "infer/flows_lent.h"
#include "suite.h"

/* The flow that an op moves bytes of. */
static uint32_t flow_of(const struct flows *flows, uint32_t op)
{
	uint32_t transfer =
		flows->other_of[op] == NO_INDEX || flows->transfers[flows->other_of[op]].bytes == 1
			? flows->transfer_of[op]
			: flows->other_of[op];

	return flows->transfers[transfer].flow;
}

START_TEST(questions_of_borrowers_go_to_whoever_is_free)
{
	struct sketch sketch;
	struct flows flows;
	size_t ios = 0;
	uint32_t op_of_loan[4];
	bool is_used[5 + 4 * BORROWED_ROUNDS] = { false }; /* by flow */

	borrowed_sketch(&sketch, &(const struct borrowed){ 0 });
	flows_build(&flows, &sketch.rec);
	flows_lend(&flows, &sketch.rec);
	for (uint32_t op = 0; op < sketch.rec.op_count; op++) {
		if (sketch.rec.ops[op].kind != KIND_IO)
			continue;
		op_of_loan[ios++ % 4] = op;
		if (ios % 4)
			continue;
		ck_assert(!is_used[flow_of(&flows, op_of_loan[0])]);
		ck_assert(!is_used[flow_of(&flows, op_of_loan[2])]);
		is_used[flow_of(&flows, op_of_loan[0])] = true;
		is_used[flow_of(&flows, op_of_loan[2])] = true;
		ck_assert_uint_eq(flow_of(&flows, op_of_loan[0]), flow_of(&flows, op_of_loan[1]));
		ck_assert_uint_eq(flow_of(&flows, op_of_loan[2]), flow_of(&flows, op_of_loan[3]));
	}
	for (size_t i = 0, next = 0; i < flows.transfer_count; i++) {
		const struct transfer *transfer = &flows.transfers[i];

		ck_assert(!i || transfer->flow >= transfer[-1].flow);
		if (flows.flows[transfer->flow].unit == FLOW_MESSAGES)
			ck_assert_uint_eq(transfer->is_write, next++ % 2 == 0);
	}
	flows_free(&flows);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(questions_of_borrowers_go_to_whoever_is_free);
}

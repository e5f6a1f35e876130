/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matches reads and writes of each flow by running byte offset; flows_carriers.h has the contract.
 *
 * Transfers are flow by flow, in order of time. One thread.
 */
#include "flows_carriers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

struct matching {
	struct carriers *carriers;
	const struct transfer *transfers;
	const uint32_t *op_of; /* by transfer */
};

/* The writes and reads of transfers [from, to), which are one flow. */
static void flow_match(const struct matching *matching, size_t from, size_t to)
{
	const struct transfer *transfers = matching->transfers;
	uint64_t written = 0, received = 0; /* before `write`; before the read */
	size_t write = from;

	for (size_t read = from; read < to; read++) {
		if (transfers[read].is_write || !transfers[read].bytes)
			continue;
		uint64_t until = received + transfers[read].bytes;
		bool has_first = false;

		for (; write < to; write++) {
			if (!transfers[write].is_write)
				continue;
			uint64_t end = written + transfers[write].bytes;
			if (!has_first && end > received) {
				matching->carriers->write_of[read] = matching->op_of[write];
				has_first = true;
			}
			if (end > until)
				break;
			if (end > received)
				matching->carriers->read_of[write] = matching->op_of[read];
			written = end;
		}
		received = until;
	}
}

static uint32_t *ops_of(const struct flows *flows, const struct recording *rec)
{
	uint32_t *op_of = memory_new(flows->transfer_count, sizeof(*op_of));

	for (uint32_t op = 0; op < rec->op_count; op++) {
		if (flows->transfer_of[op] != NO_INDEX)
			op_of[flows->transfer_of[op]] = op;
		if (flows->other_of[op] != NO_INDEX)
			op_of[flows->other_of[op]] = op;
	}
	return op_of;
}

void carriers_build(struct carriers *carriers, const struct flows *flows,
		    const struct recording *rec)
{
	size_t count = flows->transfer_count;
	uint32_t *op_of = ops_of(flows, rec);
	const struct matching matching = { carriers, flows->transfers, op_of };

	carriers->write_of = memory_new(count, sizeof(*carriers->write_of));
	carriers->read_of = memory_new(count, sizeof(*carriers->read_of));
	memset(carriers->write_of, 0xff, count * sizeof(*carriers->write_of));
	memset(carriers->read_of, 0xff, count * sizeof(*carriers->read_of));
	for (size_t from = 0, to; from < count; from = to) {
		for (to = from;
		     to < count && flows->transfers[to].flow == flows->transfers[from].flow;)
			to++;
		flow_match(&matching, from, to);
	}
	free(op_of);
}

void carriers_free(struct carriers *carriers)
{
	free(carriers->write_of);
	free(carriers->read_of);
	*carriers = (struct carriers){ 0 };
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds up the time of each class that waits for work.
 *
 * Work arrives at a poll of several descriptors, and at an accept. It also arrives on a connection
 * that was accepted, as the peer is a client. A poll of one other descriptor may wait for an
 * answer, and so may a read. One thread.
 */
#include "arrivals.h"

#include <stdlib.h>

#include "base/memory.h"
#include "flows.h"
#include "format.h"

static enum arrival_sort arrival_of(const struct recording *rec, uint32_t op)
{
	const struct rec_op *call = &rec->ops[op];
	const char *name = rec->strings[call->name];

	if (rec->extras[op].timer)
		return ARRIVAL_NONE;
	if (call->kind == KIND_POLL && rec_polls_many(rec, op))
		return ARRIVAL_ANY;
	if (call->kind == KIND_IO && strncmp(name, "accept", 6) == 0)
		return ARRIVAL_CONNECTION;
	if (!rec->extras[op].accepted)
		return ARRIVAL_NONE;
	return call->kind == KIND_POLL || flow_direction_of(name) == FLOW_READ ? ARRIVAL_CONNECTION
									       : ARRIVAL_NONE;
}

enum arrival_sort *arrivals_find(const struct recording *rec, const struct class_table *classes)
{
	enum arrival_sort *arrivals = memory_new(classes->count, sizeof(*arrivals));
	uint64_t(*sums_ns)[ARRIVAL_ANY + 1] = memory_new(classes->count, sizeof(*sums_ns));

	/* a call that took no time counts, too */
	for (uint32_t i = 0; rec->extras && i < rec->op_count; i++)
		sums_ns[classes->of_op[i]][arrival_of(rec, i)] +=
			rec->ops[i].end_ns - rec->ops[i].start_ns + 1;
	for (uint32_t i = 0; i < classes->count; i++)
		for (enum arrival_sort k = ARRIVAL_CONNECTION; k <= ARRIVAL_ANY; k++)
			if (sums_ns[i][k] > sums_ns[i][arrivals[i]])
				arrivals[i] = k;
	free(sums_ns);
	return arrivals;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds up the time of each class that waits for work.
 *
 * Work arrives at a poll of several descriptors, and at an accept. It also arrives on a connection
 * that was accepted, as the peer is a client, and where connections are accepted. There a wait that
 * the clock ended was for a client all the same: none came. A poll of one other descriptor may wait
 * for an answer, and so may a read. One thread.
 */
#include "arrivals.h"

#include <stdlib.h>

#include "base/memory.h"
#include "flows.h"
#include "format.h"

static bool is_accept(const struct recording *rec, uint32_t op)
{
	return rec->ops[op].kind == KIND_IO &&
	       strncmp(rec->strings[rec->ops[op].name], "accept", 6) == 0;
}

/* Of each string whether connections are accepted at the descriptor that it is the ident of. */
static bool *find_listeners(const struct recording *rec)
{
	bool *listens = memory_new(rec->string_count, sizeof(*listens));
	for (uint32_t i = 0; rec->extras && i < rec->op_count; i++)
		if (rec->ops[i].ident && is_accept(rec, i))
			listens[rec->ops[i].ident] = true;
	return listens;
}

static enum arrival_sort arrival_of(const struct recording *rec, const bool *listens, uint32_t op)
{
	const struct rec_op *call = &rec->ops[op];
	bool is_wait = call->kind == KIND_POLL || call->kind == KIND_SLEEP;

	if (call->kind == KIND_POLL && rec_polls_many(rec, op))
		return rec->extras[op].timer ? ARRIVAL_NONE : ARRIVAL_ANY;
	if (is_accept(rec, op) || (is_wait && listens[call->ident]))
		return ARRIVAL_CONNECTION;
	if (!rec->extras[op].accepted)
		return ARRIVAL_NONE;
	return is_wait || flow_direction_of(rec->strings[call->name]) == FLOW_READ
		       ? ARRIVAL_CONNECTION
		       : ARRIVAL_NONE;
}

enum arrival_sort *arrivals_find(const struct recording *rec, const struct class_table *classes)
{
	enum arrival_sort *arrivals = memory_new(classes->count, sizeof(*arrivals));
	bool *listens = find_listeners(rec);
	uint64_t(*sums_ns)[ARRIVAL_ANY + 1] = memory_new(classes->count, sizeof(*sums_ns));

	/* a call that took no time counts, too */
	for (uint32_t i = 0; rec->extras && i < rec->op_count; i++)
		sums_ns[classes->of_op[i]][arrival_of(rec, listens, i)] +=
			rec->ops[i].end_ns - rec->ops[i].start_ns + 1;
	for (uint32_t i = 0; i < classes->count; i++)
		for (enum arrival_sort k = ARRIVAL_CONNECTION; k <= ARRIVAL_ANY; k++)
			if (sums_ns[i][k] > sums_ns[i][arrivals[i]])
				arrivals[i] = k;
	free(sums_ns);
	free(listens);
	return arrivals;
}

/* By stack, as arrivals_under() has it by function. */
static uint64_t *sum_by_stack(const struct recording *rec, const struct class_table *classes,
			      const enum arrival_sort *arrivals)
{
	uint64_t *sums_ns = memory_new(rec->stack_count, sizeof(*sums_ns));
	for (uint32_t i = 0; rec->extras && i < rec->op_count; i++) {
		uint64_t *sum_ns = &sums_ns[rec->extras[i].stack];
		enum arrival_sort sort = arrivals[classes->of_op[i]];
		if (sort == ARRIVAL_ANY)
			*sum_ns = UINT64_MAX;
		else if (sort == ARRIVAL_CONNECTION && *sum_ns != UINT64_MAX)
			*sum_ns += rec->ops[i].end_ns - rec->ops[i].start_ns;
	}
	return sums_ns;
}

uint64_t *arrivals_under(const struct recording *rec, const struct class_table *classes,
			 const enum arrival_sort *arrivals, const struct stack_functions *of)
{
	uint64_t *waited_ns = memory_new(rec->string_count, sizeof(*waited_ns));
	uint64_t *sums_ns = sum_by_stack(rec, classes, arrivals);
	for (size_t s = 0; of->first && s < rec->stack_count; s++)
		for (uint32_t i = of->first[s]; sums_ns[s] && i < of->first[s + 1]; i++) {
			uint64_t *waited = &waited_ns[of->functions[i]];
			if (sums_ns[s] == UINT64_MAX || *waited == UINT64_MAX)
				*waited = UINT64_MAX;
			else
				*waited += sums_ns[s];
		}
	free(sums_ns);
	return waited_ns;
}

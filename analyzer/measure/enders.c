/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the ends of calls with doings of other threads; enders.h has the contract.
 *
 * Method. In a wait for another thread that one's last doing comes right before the end: in the
 * short last part of the wait. Where calls wait for something else, doings of others come at any
 * time, and few of the waits have one there. So nearly all of the time waited must be in waits that
 * have.
 */
#include "enders.h"

#include <stdlib.h>

#include "base/assumptions.h"
#include "base/memory.h"
#include "format.h"

static int compare_doings(const void *left, const void *right)
{
	const struct doing *a = left, *b = right;
	return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

static void add(struct doings *doings, uint64_t at_ns, uint32_t thread)
{
	if (thread != NO_INDEX)
		doings->doings[doings->count++] = (struct doing){ at_ns, thread };
}

void doings_build(struct doings *doings, const struct recording *recording, const bool *is_doing)
{
	*doings = (struct doings){ .doings = memory_new(recording->op_count + recording->link_count,
							sizeof(*doings->doings)) };
	for (uint32_t i = 0; i < recording->op_count; i++) {
		const struct rec_op *op = &recording->ops[i];
		if (op->kind == KIND_THREAD && !recording->extras[i].open)
			add(doings, op->end_ns, op->thread);
		else if (is_doing[i])
			add(doings, op->start_ns, op->thread);
	}
	for (size_t i = 0; i < recording->link_count; i++)
		add(doings, recording->links[i].at_ns, recording->links[i].thread);
	qsort(doings->doings, doings->count, sizeof(*doings->doings), compare_doings);
}

void doings_free(struct doings *doings)
{
	free(doings->doings);
	*doings = (struct doings){ 0 };
}

/* The last one of another thread in that time; NO_INDEX = none. */
static uint32_t last_doing(const struct doings *doings, uint32_t thread, uint64_t from_ns,
			   uint64_t to_ns)
{
	size_t low = 0, high = doings->count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (doings->doings[middle].at_ns <= to_ns)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; i-- > 0 && doings->doings[i].at_ns >= from_ns;)
		if (doings->doings[i].thread != thread)
			return doings->doings[i].thread;
	return NO_INDEX;
}

uint32_t enders_find(const struct doings *doings, const struct recording *recording,
		     const struct class_table *classes, const bool *is_wait, uint32_t thread,
		     uint32_t class)
{
	uint64_t all_ns = 0, ended_ns = 0;
	uint32_t ender = NO_INDEX, count = 0;
	for (uint32_t i = 0; i < recording->op_count; i++) {
		const struct rec_op *op = &recording->ops[i];
		if (!is_wait[i] || op->thread != thread || classes->of_op[i] != class)
			continue;
		uint64_t length_ns = op->end_ns - op->start_ns;
		uint64_t last_ns = (uint64_t)((double)length_ns * assume.ended_within);
		uint32_t found = last_doing(doings, thread, op->end_ns - last_ns, op->end_ns);
		all_ns += length_ns;
		ended_ns += found == NO_INDEX ? 0 : length_ns;
		ender = found == NO_INDEX ? ender : found;
		count++;
	}
	return count >= assume.ended_waits &&
			       (double)ended_ns >= assume.ended_share * (double)all_ns
		       ? ender
		       : NO_INDEX;
}

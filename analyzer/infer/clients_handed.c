/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Polls by one thread for others that read; clients_parts.h has the contract.
 *
 * Method. A poll found so many connections. As many as its thread accepted or read from before its
 * next poll it kept for itself, and handed on the rest. A thread that reads without a poll took one
 * of those. They are taken in order, the first that was found behind the connection's last answer.
 *
 * One thread.
 */
#include "clients_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "flows.h"
#include "format.h"

/* A poll that handed on so many connections. Polls before the first one that has any left, and
 * those that nobody came for, are passed by. */
struct handing {
	uint64_t end_ns;
	uint32_t process;
	uint32_t op;
	uint64_t left;
};

enum { PASSED_BY_MAX = 256 };

/* Whether its thread took something by itself behind the poll. */
static bool takes(const struct recording *rec, uint32_t op)
{
	const char *call = rec->strings[rec->ops[op].name];

	return rec->ops[op].kind == KIND_IO && rec->ops[op].thread != NO_INDEX &&
	       rec->ops[op].outcome != OUTCOME_ERROR &&
	       (strncmp(call, "accept", 6) == 0 || flow_direction_of(call) == FLOW_READ);
}

static int compare_handings(const void *left, const void *right)
{
	const struct handing *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->end_ns != b->end_ns)
		return a->end_ns < b->end_ns ? -1 : 1;
	return (a->op > b->op) - (a->op < b->op);
}

static struct handing *handings_find(const struct clients_polls *polls)
{
	const struct recording *rec = polls->rec;
	struct handing *list = memory_new(polls->count, sizeof(*list));

	for (size_t i = 0; i < polls->count; i++) {
		const struct rec_op *poll = &rec->ops[polls->polls[i]];

		list[i] = (struct handing){ poll->end_ns, rec->threads[poll->thread].process,
					    polls->polls[i],
					    rec_polls_many(rec, polls->polls[i])
						    ? rec->extras[polls->polls[i]].amount
						    : 0 };
	}
	for (uint32_t op = 0; op < rec->op_count; op++) {
		if (!takes(rec, op))
			continue;
		size_t poll =
			clients_poll_before(polls, rec->ops[op].thread, rec->ops[op].start_ns);

		if (poll != SIZE_MAX && list[poll].left)
			list[poll].left--;
	}
	if (polls->count)
		qsort(list, polls->count, sizeof(*list), compare_handings);
	return list;
}

static size_t first_of(const struct handing *list, size_t count, uint32_t process)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list[middle].process < process)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int compare_reads(const void *left, const void *right)
{
	const struct handed_read *a = left, *b = right;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

void clients_hand(const struct clients_polls *polls, struct handed_read *reads, size_t count,
		  uint32_t *poll_of)
{
	const struct recording *rec = polls->rec;
	struct handing *list = handings_find(polls);
	size_t *next = memory_new(rec->process_count, sizeof(*next));

	assert(!count || reads);
	for (uint32_t p = 0; p < rec->process_count; p++)
		next[p] = first_of(list, polls->count, p);
	if (count)
		qsort(reads, count, sizeof(*reads), compare_reads);
	for (size_t i = 0; i < count; i++) {
		size_t at = next[reads[i].process], passed_by = 0;

		for (; at < polls->count && list[at].process == reads[i].process &&
		       list[at].end_ns <= reads[i].start_ns;
		     at++) {
			if (list[at].left && list[at].end_ns > reads[i].after_ns)
				break;
			passed_by++;
		}
		while (next[reads[i].process] < at &&
		       (!list[next[reads[i].process]].left || passed_by > PASSED_BY_MAX)) {
			next[reads[i].process]++;
			passed_by--;
		}
		if (at == polls->count || list[at].process != reads[i].process ||
		    list[at].end_ns > reads[i].start_ns)
			continue;
		list[at].left--;
		poll_of[reads[i].number] = list[at].op;
	}
	free(next);
	free(list);
}

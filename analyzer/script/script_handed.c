/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Polls of a thread that reads nothing itself: it hands what it finds to other threads.
 *
 * Method. A read by a thread that does not poll was found by another thread's poll. That is the
 * first one of the process that ended when the data were there and the read before was done. A poll
 * waits for these data if its own thread reads none.
 *
 * A poll may name the descriptor that it found ready. Then it waited for the first bytes that were
 * written there meanwhile, whichever thread read them.
 *
 * One thread.
 */
#include "base/assumptions.h"
#include "base/memory.h"
#include "format.h"
#include "script_parts.h"

#include <stdlib.h>
#include <string.h>

struct handing_poll {
	uint64_t end_ns;
	uint32_t process;
	uint32_t op;
};

struct handed_read {
	uint64_t from_ns; /* when the data were there, and the connection was polled again */
	uint64_t start_ns;
	uint32_t process;
	uint32_t transfer;
};

static int compare_polls(const void *left, const void *right)
{
	const struct handing_poll *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->end_ns != b->end_ns)
		return a->end_ns < b->end_ns ? -1 : 1;
	return (a->op > b->op) - (a->op < b->op);
}

static int compare_reads(const void *left, const void *right)
{
	const struct handed_read *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->from_ns != b->from_ns)
		return a->from_ns < b->from_ns ? -1 : 1;
	return (a->transfer > b->transfer) - (a->transfer < b->transfer);
}

/* An event loop may hand over some of what it finds. */
static bool has_own_cause(const struct loops *loops, uint32_t poll)
{
	uint32_t visit = loops->visit_of[poll];

	return visit != NO_INDEX && loops->visits[visit].sort != VISIT_BARRIER;
}

static struct handing_poll *polls_list(const struct script *script, bool *polls, size_t *count)
{
	const struct recording *rec = script->recording;
	struct handing_poll *list = NULL;
	size_t capacity = 0;

	for (uint32_t op = 0; op < rec->op_count; op++) {
		uint32_t thread = rec->ops[op].thread;

		if (rec->ops[op].kind != KIND_POLL || thread == NO_INDEX || rec->extras[op].open ||
		    !rec->extras[op].amount || !rec_polls_many(rec, op))
			continue;
		polls[thread] = true;
		if (has_own_cause(&script->loops, op))
			continue;
		list = memory_grow(list, &capacity, *count + 1, sizeof(*list));
		list[(*count)++] = (struct handing_poll){ rec->ops[op].end_ns,
							  rec->threads[thread].process, op };
	}
	if (*count)
		qsort(list, *count, sizeof(*list), compare_polls);
	return list;
}

static struct handed_read *reads_list(const struct script *script, const bool *polls, size_t *count)
{
	const struct recording *rec = script->recording;
	const struct flows *flows = &script->flows;
	uint32_t *op_of = memory_new(flows->transfer_count, sizeof(*op_of));
	struct handed_read *list = memory_new(flows->transfer_count, sizeof(*list));
	uint64_t before_ns = 0;

	memset(op_of, 0xff, flows->transfer_count * sizeof(*op_of));
	for (uint32_t op = 0; op < rec->op_count; op++)
		if (flows->transfer_of[op] != NO_INDEX)
			op_of[flows->transfer_of[op]] = op;
	for (uint32_t i = 0; i < flows->transfer_count; i++) {
		const struct transfer *read = &flows->transfers[i];

		if (!i || read->flow != read[-1].flow)
			before_ns = 0;
		if (read->is_write || op_of[i] == NO_INDEX)
			continue;
		const struct rec_op *op = &rec->ops[op_of[i]];
		if (op->thread != NO_INDEX && !polls[op->thread] && !read->has_waited)
			list[(*count)++] = (struct handed_read){
				read->first_ns > before_ns ? read->first_ns : before_ns,
				op->start_ns, rec->threads[op->thread].process, i
			};
		before_ns = op->end_ns;
	}
	if (*count)
		qsort(list, *count, sizeof(*list), compare_reads);
	free(op_of);
	return list;
}

/* --- polls of which it is known what they found --- */

/* When the first byte of a read was written. */
struct arriving {
	uint64_t first_ns;
	uint32_t ident;
	uint32_t transfer;
};

static int compare_arrivings(const void *left, const void *right)
{
	const struct arriving *a = left, *b = right;

	if (a->ident != b->ident)
		return a->ident < b->ident ? -1 : 1;
	if (a->first_ns != b->first_ns)
		return a->first_ns < b->first_ns ? -1 : 1;
	return (a->transfer > b->transfer) - (a->transfer < b->transfer);
}

static struct arriving *arriving_list(const struct script *script, size_t *count)
{
	const struct recording *rec = script->recording;
	const struct flows *flows = &script->flows;
	struct arriving *list = memory_new(flows->transfer_count, sizeof(*list));

	*count = 0;
	for (uint32_t op = 0; op < rec->op_count; op++) {
		uint32_t i = flows->transfer_of[op];

		if (i != NO_INDEX && !flows->transfers[i].is_write)
			list[(*count)++] = (struct arriving){ flows->transfers[i].first_ns,
							      rec->ops[op].ident, i };
	}
	if (*count)
		qsort(list, *count, sizeof(*list), compare_arrivings);
	return list;
}

/* The first one that began to arrive there in that time, NO_INDEX = none. */
static uint32_t first_arriving(const struct arriving *list, size_t count, uint32_t ident,
			       uint64_t from_ns, uint64_t to_ns)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list[middle].ident < ident ||
		    (list[middle].ident == ident && list[middle].first_ns <= from_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && list[low].ident == ident && list[low].first_ns <= to_ns
		       ? list[low].transfer
		       : NO_INDEX;
}

static bool names_what_came(const struct recording *rec, uint32_t op)
{
	const struct rec_op *poll = &rec->ops[op];

	return poll->kind == KIND_POLL && poll->thread != NO_INDEX && poll->ident &&
	       !rec->extras[op].open && rec->extras[op].amount &&
	       poll->end_ns - poll->start_ns > assume.copy;
}

static void named_find(uint32_t *handed, const struct script *script)
{
	const struct recording *rec = script->recording;
	struct arriving *list = NULL;
	size_t count = 0;

	for (uint32_t op = 0; op < rec->op_count; op++) {
		if (!names_what_came(rec, op))
			continue;
		if (!list)
			list = arriving_list(script, &count);
		uint32_t found = first_arriving(list, count, rec->ops[op].ident,
						rec->ops[op].start_ns, rec->ops[op].end_ns);
		if (found != NO_INDEX)
			handed[op] = found;
	}
	free(list);
}

uint32_t *script_handed_find(const struct script *script)
{
	const struct recording *rec = script->recording;
	bool *polls = memory_new(rec->thread_count, sizeof(*polls));
	size_t poll_count = 0, read_count = 0, poll = 0;
	struct handing_poll *list = polls_list(script, polls, &poll_count);
	struct handed_read *reads = reads_list(script, polls, &read_count);
	uint32_t *handed = memory_new(rec->op_count, sizeof(*handed));

	memset(handed, 0xff, rec->op_count * sizeof(*handed));
	/* Both are in order of time: a poll that found one read is passed by for the next. */
	for (size_t i = 0; i < read_count; i++) {
		while (poll < poll_count && (list[poll].process < reads[i].process ||
					     (list[poll].process == reads[i].process &&
					      list[poll].end_ns < reads[i].from_ns)))
			poll++;
		if (poll == poll_count)
			break;
		if (list[poll].process == reads[i].process &&
		    list[poll].end_ns <= reads[i].start_ns && handed[list[poll].op] == NO_INDEX)
			handed[list[poll].op] = reads[i].transfer;
	}
	named_find(handed, script);
	free(polls);
	free(list);
	free(reads);
	return handed;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a question was there that nobody recorded writing; exchanges_parts.h has the contract.
 *
 * Method. A poll between the last use of the end and the read found the question. The poll names
 * the end's descriptor, or is the reading thread's last one and found several. If it had slept,
 * nothing had been there before. Else the question came after the last use of the end. It also
 * came after the thread's last poll before that returned all that was ready.
 *
 * Without such a poll, a read that waited got it as it returned. One that did not wait found it
 * there.
 *
 * One thread.
 */
#include "exchanges_parts.h"

#include <assert.h>
#include <stdlib.h>

#include "base/assumptions.h"
#include "base/memory.h"
#include "format.h"

/* A poll that found something. */
struct poll_key {
	uint64_t end_ns;
	uint32_t of; /* the ident that it names, or its thread */
	uint32_t op;
};

struct poll_list {
	struct poll_key *keys; /* in order of `of`, then of their ends */
	size_t count;
	size_t room;
};

struct arrival_polls {
	const struct recording *rec;
	struct poll_list by_ident;
	struct poll_list by_thread; /* of several descriptors */
	struct poll_list whole;     /* the same, of which what they did not find came later */
};

static int compare_keys(const void *left, const void *right)
{
	const struct poll_key *a = left, *b = right;

	if (a->of != b->of)
		return a->of < b->of ? -1 : 1;
	if (a->end_ns != b->end_ns)
		return a->end_ns < b->end_ns ? -1 : 1;
	return (a->op > b->op) - (a->op < b->op);
}

static void list_add(struct poll_list *list, const struct recording *rec, uint32_t op, uint32_t of)
{
	list->keys = memory_grow(list->keys, &list->room, list->count + 1, sizeof(*list->keys));
	list->keys[list->count++] = (struct poll_key){ rec->ops[op].end_ns, of, op };
}

static void list_sort(struct poll_list *list)
{
	if (list->count)
		qsort(list->keys, list->count, sizeof(*list->keys), compare_keys);
}

struct arrival_polls *arrival_polls_new(const struct recording *rec)
{
	struct arrival_polls *polls = memory_new(1, sizeof(*polls));

	polls->rec = rec;
	for (uint32_t op = 0; op < rec->op_count; op++) {
		const struct rec_op *poll = &rec->ops[op];

		if (poll->kind != KIND_POLL || poll->thread == NO_INDEX || rec->extras[op].open ||
		    !rec->extras[op].amount || rec_waits_for_signal(rec, op))
			continue;
		if (poll->ident)
			list_add(&polls->by_ident, rec, op, poll->ident);
		if (rec_polls_many(rec, op))
			list_add(&polls->by_thread, rec, op, poll->thread);
		if (rec_polls_all(rec, op))
			list_add(&polls->whole, rec, op, poll->thread);
	}
	list_sort(&polls->by_ident);
	list_sort(&polls->by_thread);
	list_sort(&polls->whole);
	return polls;
}

void arrival_polls_free(struct arrival_polls *polls)
{
	free(polls->by_ident.keys);
	free(polls->by_thread.keys);
	free(polls->whole.keys);
	free(polls);
}

/* The number of keys of `of` and lesser ones that end by then. */
static size_t keys_until(const struct poll_list *list, uint32_t of, uint64_t at_ns)
{
	size_t low = 0, high = list->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct poll_key *key = &list->keys[middle];

		if (key->of < of || (key->of == of && key->end_ns <= at_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool has_slept(const struct recording *rec, uint32_t op)
{
	return rec->ops[op].end_ns - rec->ops[op].start_ns > assume.copy;
}

/* The poll that found the question; NO_INDEX: none did. */
static uint32_t poll_of(const struct arrival_polls *polls, const struct connection_end *end,
			const struct rec_op *read, uint64_t before_ns)
{
	const struct poll_list *list = &polls->by_ident;
	size_t at = keys_until(list, end->ident, before_ns);

	if (!end->is_crowded && at < list->count && list->keys[at].of == end->ident &&
	    list->keys[at].end_ns <= read->start_ns)
		return list->keys[at].op;
	list = &polls->by_thread;
	at = keys_until(list, read->thread, read->start_ns);
	if (!at || list->keys[at - 1].of != read->thread || list->keys[at - 1].end_ns <= before_ns)
		return NO_INDEX;
	uint32_t op = list->keys[at - 1].op;
	bool is_named = polls->rec->extras[op].amount == 1 && !end->is_crowded;

	return is_named && polls->rec->ops[op].ident ? NO_INDEX : op;
}

/* No sooner than a poll of the thread before, which would have found it. */
static uint64_t poll_before_ns(const struct arrival_polls *polls, uint32_t op)
{
	const struct poll_list *list = &polls->whole;
	const struct rec_op *poll = &polls->rec->ops[op];
	size_t at = keys_until(list, poll->thread, poll->start_ns);

	if (at && list->keys[at - 1].op == op) /* one that took no time */
		at--;
	return at && list->keys[at - 1].of == poll->thread ? list->keys[at - 1].end_ns : 0;
}

void arrival_find(const struct arrival_polls *polls, const struct connection_end *end,
		  struct exchange *exchange, uint64_t before_ns)
{
	const struct recording *rec = polls->rec;
	const struct rec_op *read = &rec->ops[exchange->first_op];
	uint32_t poll = poll_of(polls, end, read, before_ns);

	assert(exchange->is_served);
	exchange->arrival_op = poll != NO_INDEX ? poll : exchange->first_op;
	exchange->is_at_end = poll != NO_INDEX || has_slept(rec, exchange->first_op);
	exchange->start_ns =
		exchange->is_at_end ? rec->ops[exchange->arrival_op].end_ns : read->start_ns;
	exchange->early_ns = exchange->start_ns;
	if (exchange->is_at_end && has_slept(rec, exchange->arrival_op))
		return;
	exchange->early_ns = before_ns < exchange->start_ns ? before_ns : exchange->start_ns;
	if (poll != NO_INDEX && poll_before_ns(polls, poll) > before_ns)
		exchange->early_ns = poll_before_ns(polls, poll);
}

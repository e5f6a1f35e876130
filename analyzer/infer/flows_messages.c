/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which message a read got; flows_parts.h has the contract.
 *
 * Method. Messages are taken in the order in which they were sent. A read that finds none sent got
 * one from an unrecorded sender, or from before. It is left as it was, and so the next one is right
 * again. Messages are lost, too: where more were sent than read, or their readers were recorded
 * later than their senders. A read that had to wait, or that failed, shows it: those sent before it
 * are gone. A slow read may look like that. So more are lost than were left over only if that
 * explains more reads.
 *
 * An eventfd is a counter: a read takes all that was written. If reads come without a write before
 * them, it is a semaphore, of which each read takes one.
 *
 * One thread.
 */
#include "flows_parts.h"

#include "base/assumptions.h"
#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Sides in order, and the writes that were not taken yet. */
struct matching {
	const struct recording *rec;
	struct side *sides;
	size_t count;
	size_t first;        /* write that is not taken, or a side before it */
	uint64_t first_left; /* of it */
	uint64_t pending;    /* in all */
	uint64_t spare;      /* written that nobody will read */
};

static bool to_next_write(struct matching *matching, size_t end)
{
	while (matching->first < end &&
	       (!matching->sides[matching->first].is_write || matching->first_left == 0)) {
		matching->first++;
		matching->first_left =
			matching->first < end && matching->sides[matching->first].is_write
				? matching->sides[matching->first].amount
				: 0;
	}
	return matching->first < end;
}

/* Messages sent before that time that are still there were lost; `end`: the side that tells. */
static void lose_before(struct matching *matching, size_t end, uint64_t at_ns)
{
	while (matching->spare && matching->pending && to_next_write(matching, end)) {
		struct side *write = &matching->sides[matching->first];

		if (matching->rec->ops[write->op].end_ns >= at_ns ||
		    matching->spare < matching->first_left)
			return;
		matching->spare -= matching->spare == UINT64_MAX ? 0 : matching->first_left;
		matching->pending -= matching->first_left;
		write->amount -= matching->first_left;
		matching->first_left = 0;
	}
}

static uint64_t take(struct matching *matching, size_t end, uint64_t wanted)
{
	uint64_t taken = 0;

	while (taken < wanted && to_next_write(matching, end)) {
		uint64_t part = wanted - taken < matching->first_left ? wanted - taken
								      : matching->first_left;

		matching->first_left -= part;
		taken += part;
	}
	assert(taken <= matching->pending);
	matching->pending -= taken;
	return taken;
}

/* It waited: it took its time, and something was sent meanwhile. */
static bool has_waited(const struct matching *matching, size_t read)
{
	const struct rec_op *op = &matching->rec->ops[matching->sides[read].op];

	if (op->end_ns - op->start_ns <= assume.copy)
		return false;
	for (size_t i = read; i-- > 0 && matching->sides[i].at_ns > op->start_ns;)
		if (matching->sides[i].is_write)
			return true;
	return false;
}

static void match_all(struct matching *matching, bool takes_all)
{
	for (size_t i = 0; i < matching->count; i++) {
		struct side *side = &matching->sides[i];
		const struct rec_op *op = &matching->rec->ops[side->op];

		if (side->is_write) {
			matching->pending += side->amount;
			continue;
		}
		if (side->is_look || has_waited(matching, i))
			lose_before(matching, i, op->start_ns);
		if (!side->is_look)
			side->amount = take(matching, i, takes_all ? UINT64_MAX : side->amount);
	}
	/* Nobody reads the rest. */
	while (to_next_write(matching, matching->count)) {
		matching->sides[matching->first].amount -= matching->first_left;
		matching->first_left = 0;
	}
}

/* Every read of a counter comes after a write that no other one has had. */
static bool is_counter(const struct side *sides, size_t count)
{
	bool has_written = false;

	for (size_t i = 0; i < count; i++) {
		if (sides[i].is_look)
			continue;
		if (!sides[i].is_write && !has_written)
			return false;
		has_written = sides[i].is_write;
	}
	return true;
}

static void find_spare(struct matching *matching)
{
	uint64_t written = 0, received = 0;

	for (size_t i = 0; i < matching->count; i++) {
		const struct side *side = &matching->sides[i];

		written += side->is_write ? side->amount : 0;
		received += side->is_write ? 0 : side->amount;
	}
	matching->spare = written > received ? written - received : 0;
}

/* Reads without a message, and long ones whose message had been there before. */
static size_t unexplained(const struct matching *matching)
{
	size_t write = 0, reads = 0;
	uint64_t left = 0;

	for (size_t i = 0; i < matching->count; i++) {
		const struct side *side = &matching->sides[i];
		const struct rec_op *op = &matching->rec->ops[side->op];
		uint64_t wanted = side->amount;

		if (side->is_write || side->is_look)
			continue;
		for (; left < wanted && write < matching->count; write++)
			left += matching->sides[write].is_write ? matching->sides[write].amount : 0;
		if (left < wanted) /* the last message is gone */
			wanted = 0;
		left -= wanted;
		reads += !wanted || (has_waited(matching, i) &&
				     matching->sides[write - 1].at_ns <= op->start_ns);
	}
	return reads;
}

/* Into `sides`, which are as recorded. */
static size_t match(const struct recording *rec, struct side *sides, size_t count, bool takes_all,
		    bool may_lose_any)
{
	struct matching matching = { .rec = rec, .sides = sides, .count = count };

	if (may_lose_any)
		matching.spare = UINT64_MAX;
	else if (!takes_all)
		find_spare(&matching);
	if (count && sides->is_write)
		matching.first_left = sides->amount;
	match_all(&matching, takes_all);
	return unexplained(&matching);
}

static size_t without_empty(struct side *sides, size_t count)
{
	size_t left = 0;

	for (size_t i = 0; i < count; i++)
		if (sides[i].amount)
			sides[left++] = sides[i];
	return left;
}

/* Bytes come from nowhere between others, not only before and after them; or a read had some of
 * both. */
static bool has_gaps(const struct side *before, const struct side *sides, size_t count)
{
	bool has_read = false, has_gap = false;

	for (size_t i = 0; i < count; i++) {
		if (sides[i].amount && sides[i].amount != before[i].amount)
			return true;
		if (has_gap && (sides[i].amount || sides[i].is_write))
			return true;
		if (!sides[i].is_write) {
			has_read |= sides[i].amount > 0;
			has_gap |= has_read && !sides[i].amount;
		}
	}
	return false;
}

static size_t unknown_reads(const struct side *sides, size_t count)
{
	size_t unknown = 0;

	for (size_t i = 0; i < count; i++)
		unknown += !sides[i].is_write && !sides[i].amount;
	return unknown;
}

size_t flow_bytes_match(const struct recording *rec, struct side *sides, size_t count,
			bool is_whole)
{
	struct matching matching = { .rec = rec, .sides = sides, .count = count };
	size_t open = is_whole ? unexplained(&matching) : count, reads = 0;

	if (!open)
		return count;
	struct side *others = memory_new(count, sizeof(*others));

	memcpy(others, sides, count * sizeof(*sides));
	for (size_t i = 0; i < count; i++)
		reads += !sides[i].is_write;
	size_t left = match(rec, others, count, false, true) - unknown_reads(others, count);

	/* One was on its way when the recording began. */
	if (left < open && (double)left <= 1 + assume.token_misfits * (double)reads &&
	    !has_gaps(sides, others, count)) {
		memcpy(sides, others, count * sizeof(*sides));
		count = without_empty(sides, count);
	}
	free(others);
	return count;
}

size_t flow_messages_match(struct flow *flow, const struct recording *rec, struct side *sides,
			   size_t count)
{
	bool takes_all = flow->unit == FLOW_SIGNALS && is_counter(sides, count);
	struct side *others = memory_new(count, sizeof(*others));

	flow->is_gathered = takes_all;
	for (size_t i = 0; i < count; i++) {
		flow->is_gathered |= !sides[i].is_write && sides[i].amount > 1;
		others[i] = sides[i];
	}
	size_t open = match(rec, sides, count, takes_all, false);
	if (open && match(rec, others, count, takes_all, true) < open)
		memcpy(sides, others, count * sizeof(*sides));
	free(others);
	return without_empty(sides, count);
}

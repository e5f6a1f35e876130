/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorts a recording's events into one timeline a thread.
 *
 * Method: count each thread's moments, deal them out, sort each thread's share. Events arrive in
 * the order in which they ended, so that long ascending runs are common. A natural merge sort
 * (Knuth, The Art of Computer Programming 3, 5.2.4 N) needs few passes. Among equal times ends come
 * before links before beginnings. Of two ends the inner op's comes first, of two beginnings the
 * outer op's.
 *
 * One thread. Never touches what it was given.
 */
#include "timeline.h"

#include "base/memory.h"
#include "format.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static bool is_container(uint16_t kind)
{
	return kind == KIND_PROCESS || kind == KIND_THREAD || kind == KIND_EXEC;
}

static bool op_counts(const struct rec_op *op)
{
	return op->thread != NO_INDEX && !is_container(op->kind);
}

static bool comes_before(const struct moment *a, const struct moment *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

/* Ops get their ids as they begin: of one thread's ops that begin together, the outer has the
 * smaller id. */
static struct moment moment_of(uint64_t at_ns, size_t index, enum moment_type type, uint64_t id)
{
	uint32_t mask = (1u << MOMENT_TYPE_SHIFT) - 1;
	uint32_t nesting = type == MOMENT_OP_END ? ~(uint32_t)id & mask : (uint32_t)id & mask;

	return (struct moment){ at_ns, (uint32_t)index,
				(uint32_t)type << MOMENT_TYPE_SHIFT | nesting };
}

static size_t run_end(const struct moment *moments, size_t from, size_t end)
{
	size_t at = from + 1;

	while (at < end && !comes_before(&moments[at], &moments[at - 1]))
		at++;
	return at;
}

static void merge(struct moment *to, const struct moment *a, size_t a_count, const struct moment *b,
		  size_t b_count)
{
	while (a_count && b_count) {
		if (comes_before(b, a)) {
			*to++ = *b++;
			b_count--;
		} else {
			*to++ = *a++;
			a_count--;
		}
	}
	memcpy(to, a, a_count * sizeof(*a));
	memcpy(to + a_count, b, b_count * sizeof(*b));
}

/* One pass: merges neighbouring runs of `from` into `to`. Returns how many runs it found. */
static size_t merge_pass(struct moment *to, const struct moment *from, size_t count)
{
	size_t runs = 0;

	for (size_t at = 0; at < count;) {
		size_t middle = run_end(from, at, count);
		size_t end = middle < count ? run_end(from, middle, count) : count;

		merge(to + at, from + at, middle - at, from + middle, end - middle);
		runs += 1 + (middle < count);
		at = end;
	}
	return runs;
}

static void sort_moments(struct moment *moments, struct moment *spare, size_t count)
{
	struct moment *from = moments, *to = spare;

	for (;;) {
		size_t runs = merge_pass(to, from, count);
		struct moment *swap = from;

		from = to;
		to = swap;
		if (runs <= 2)
			break;
	}
	if (from != moments)
		memcpy(moments, from, count * sizeof(*moments));
}

static bool wait_counts(const struct rec_wait *wait)
{
	return wait->thread != NO_INDEX;
}

/* One pass over all events; with `moments` NULL it only counts. next[t] moves on by what thread
 * t got. */
static void deal_out(const struct recording *rec, struct moment *moments, size_t *next)
{
	for (size_t i = 0; i < rec->op_count; i++) {
		const struct rec_op *op = &rec->ops[i];
		bool point = op->start_ns == op->end_ns;

		if (!op_counts(op))
			continue;
		size_t at = next[op->thread];
		next[op->thread] += point ? 1 : 2;
		if (!moments)
			continue;
		moments[at] = moment_of(op->start_ns, i, point ? MOMENT_OP_POINT : MOMENT_OP_BEGIN,
					op->dump_id);
		if (!point)
			moments[at + 1] = moment_of(op->end_ns, i, MOMENT_OP_END, op->dump_id);
	}
	for (size_t i = 0; i < rec->wait_count; i++) {
		const struct rec_wait *wait = &rec->waits[i];
		bool point = wait->start_ns == wait->end_ns;

		if (!wait_counts(wait))
			continue;
		size_t at = next[wait->thread];
		next[wait->thread] += point ? 1 : 2;
		if (!moments)
			continue;
		moments[at] = moment_of(wait->start_ns, i,
					point ? MOMENT_WAIT_POINT : MOMENT_WAIT_BEGIN, i);
		if (!point)
			moments[at + 1] = moment_of(wait->end_ns, i, MOMENT_WAIT_END, i);
	}
	for (size_t i = 0; i < rec->link_count; i++) {
		const struct rec_link *link = &rec->links[i];

		if (link->thread == NO_INDEX || link->kind == LINK_CLOCK)
			continue;
		if (moments)
			moments[next[link->thread]] = moment_of(link->at_ns, i, MOMENT_LINK, i);
		next[link->thread]++;
	}
}

void timeline_build(struct timeline *timeline, const struct recording *rec)
{
	size_t threads = rec->thread_count;
	size_t *counts = memory_new(threads, sizeof(*counts));
	size_t total = 0, longest = 0;

	deal_out(rec, NULL, counts);
	timeline->first = memory_new(threads + 1, sizeof(*timeline->first));
	for (size_t t = 0; t < threads; t++) {
		timeline->first[t] = total;
		total += counts[t];
		longest = counts[t] > longest ? counts[t] : longest;
		counts[t] = timeline->first[t];
	}
	timeline->first[threads] = total;
	timeline->thread_count = threads;
	timeline->moments = memory_new(total, sizeof(*timeline->moments));
	deal_out(rec, timeline->moments, counts);
	struct moment *spare = memory_new(longest, sizeof(*spare));
	for (size_t t = 0; t < threads; t++)
		sort_moments(timeline->moments + timeline->first[t], spare,
			     timeline->first[t + 1] - timeline->first[t]);
	free(spare);
	free(counts);
	assert(timeline_is_valid(timeline, rec));
}

void timeline_free(struct timeline *timeline)
{
	free(timeline->moments);
	free(timeline->first);
	memset(timeline, 0, sizeof(*timeline));
}

bool timeline_is_valid(const struct timeline *timeline, const struct recording *rec)
{
	for (size_t t = 0; t < timeline->thread_count; t++) {
		for (size_t i = timeline->first[t]; i < timeline->first[t + 1]; i++) {
			const struct moment *moment = &timeline->moments[i];
			size_t limit = rec->op_count;

			if (moment_type(moment) == MOMENT_LINK)
				limit = rec->link_count;
			else if (moment_type(moment) == MOMENT_WAIT_POINT ||
				 moment_type(moment) == MOMENT_WAIT_BEGIN ||
				 moment_type(moment) == MOMENT_WAIT_END)
				limit = rec->wait_count;
			if (moment->index >= limit)
				return false;
			if (i > timeline->first[t] && comes_before(moment, moment - 1))
				return false;
		}
	}
	return true;
}

size_t timeline_at(const struct timeline *timeline, uint32_t thread, uint64_t at_ns)
{
	size_t low = timeline->first[thread], high = timeline->first[thread + 1];

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (timeline->moments[middle].at_ns < at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers the locks of all waits, keeps those most waited for, and deals the holds out to them.
 */
#include "contended.h"

#include <assert.h>
#include <stdlib.h>

#include "base/buckets.h"
#include "base/memory.h"
#include "format.h"
#include "measure/locks.h"

struct finding {
	struct contended *contended;
	const struct recording *recording;
	const struct labels *labels;
	struct contended_lock *locks; /* all, by number */
	size_t room;
};

static bool is_for_lock(const struct rec_wait *wait)
{
	return lock_is_contention(wait->reason) && wait->thread != NO_INDEX && wait->address;
}

static void add_wait(struct finding *finding, size_t index)
{
	const struct recording *recording = finding->recording;
	const struct rec_wait *wait = &recording->waits[index];
	struct addresses *numbers = &finding->contended->numbers;
	if (!is_for_lock(wait))
		return;
	uint32_t process = recording->threads[wait->thread].process;
	size_t known = numbers->count;
	uint32_t number = addresses_add(numbers, process, wait->address);
	if (number == known) {
		finding->locks = memory_grow(finding->locks, &finding->room, known + 1,
					     sizeof(*finding->locks));
		finding->locks[number] = (struct contended_lock){ .process = process };
		finding->locks[number].name = finding->labels && finding->labels->waits
						      ? finding->labels->waits[index]
						      : wait->ident;
	}
	finding->locks[number].wait_count++;
	finding->locks[number].waited_ns += wait->end_ns - wait->start_ns;
}

static int compare_locks(const void *a, const void *b, void *context)
{
	const struct contended_lock *locks = context;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	if (locks[left].waited_ns != locks[right].waited_ns)
		return locks[left].waited_ns < locks[right].waited_ns ? 1 : -1;
	return (left > right) - (left < right);
}

static void keep_most_waited(struct finding *finding, size_t most)
{
	struct contended *contended = finding->contended;
	size_t all = contended->numbers.count;
	uint32_t *order = memory_new(all, sizeof(*order));
	contended->rank = memory_new(all, sizeof(*contended->rank));
	for (uint32_t i = 0; i < all; i++)
		order[i] = i;
	if (all > 1)
		qsort_r(order, all, sizeof(*order), compare_locks, finding->locks);
	contended->count = all < most ? all : most;
	contended->left_out = all - contended->count;
	contended->locks = memory_new(contended->count, sizeof(*contended->locks));
	for (uint32_t i = 0; i < all; i++) {
		contended->rank[order[i]] = i < contended->count ? i : NO_INDEX;
		if (i < contended->count)
			contended->locks[i] = finding->locks[order[i]];
	}
	free(order);
}

static uint32_t lock_at(const struct contended *contended, const struct recording *recording,
			uint32_t thread, uint64_t address)
{
	uint32_t number =
		addresses_find(&contended->numbers, recording->threads[thread].process, address);
	return number == NO_INDEX ? NO_INDEX : contended->rank[number];
}

uint32_t contended_of_wait(const struct contended *contended, const struct recording *recording,
			   size_t wait)
{
	const struct rec_wait *of = &recording->waits[wait];
	return is_for_lock(of) ? lock_at(contended, recording, of->thread, of->address) : NO_INDEX;
}

uint32_t contended_of_op(const struct contended *contended, const struct recording *recording,
			 size_t op)
{
	const struct rec_op *hold = &recording->ops[op];
	if (hold->kind != KIND_HOLD || hold->thread == NO_INDEX || !recording->extras)
		return NO_INDEX;
	return lock_at(contended, recording, hold->thread, recording->extras[op].address);
}

static uint32_t lock_of_op(const void *context, size_t op)
{
	const struct finding *finding = context;
	return contended_of_op(finding->contended, finding->recording, op);
}

static int compare_holds(const void *a, const void *b, void *context)
{
	const struct rec_op *ops = context;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	if (ops[left].start_ns != ops[right].start_ns)
		return ops[left].start_ns < ops[right].start_ns ? -1 : 1;
	if (ops[left].end_ns != ops[right].end_ns)
		return ops[left].end_ns < ops[right].end_ns ? -1 : 1;
	return (left > right) - (left < right);
}

static void deal_out_holds(const struct finding *finding)
{
	const struct recording *recording = finding->recording;
	struct contended *contended = finding->contended;
	struct buckets holds;
	buckets_build(&holds, contended->count, recording->op_count, lock_of_op, finding);
	for (size_t i = 0; i < contended->count; i++) {
		struct contended_lock *lock = &contended->locks[i];
		lock->holds = buckets_of(&holds, i, &lock->hold_count);
		if (lock->hold_count > 1)
			qsort_r(holds.items + holds.first[i], lock->hold_count,
				sizeof(*holds.items), compare_holds, recording->ops);
	}
	contended->holds = holds.items;
	free(holds.first);
}

void contended_build(struct contended *contended, const struct recording *recording,
		     const struct labels *labels, size_t most)
{
	struct finding finding = { contended, recording, labels, NULL, 0 };
	*contended = (struct contended){ 0 };
	for (size_t i = 0; i < recording->wait_count; i++)
		add_wait(&finding, i);
	keep_most_waited(&finding, most);
	deal_out_holds(&finding);
	free(finding.locks);
}

void contended_free(struct contended *contended)
{
	addresses_free(&contended->numbers);
	free(contended->rank);
	free(contended->locks);
	free(contended->holds);
	*contended = (struct contended){ 0 };
}

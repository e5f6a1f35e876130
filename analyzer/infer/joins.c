/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds waits for the ends of threads; joins.h has the contract.
 *
 * Method. A thread that says by a semaphore that it ends has had the permit for all its life. It
 * takes it, and gives it back once, in the last small part of its life. Another thread waited for
 * that. A thread that gives a permit which it had not taken tells something.
 */
#include "joins.h"

#include <stdlib.h>

#include "base/assumptions.h"
#include "base/bound.h"
#include "base/memory.h"
#include "format.h"
#include "posters.h"

struct take {
	uint64_t address;
	uint64_t at_ns;
	uint32_t thread;
};

static int compare_takes(const void *left, const void *right)
{
	const struct take *a = left, *b = right;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

static struct take *takes_find(const struct recording *recording, size_t *count)
{
	struct take *takes = memory_new(recording->wait_count, sizeof(*takes));
	*count = 0;
	for (uint32_t i = 0; i < recording->wait_count; i++) {
		const struct rec_wait *wait = &recording->waits[i];
		if (wait->reason == REASON_SEM && wait->thread != NO_INDEX && !wait->timed_out)
			takes[(*count)++] =
				(struct take){ wait->address, wait->end_ns, wait->thread };
	}
	if (*count)
		qsort(takes, *count, sizeof(*takes), compare_takes);
	return takes;
}

/* How many permits the thread of a post had taken of that semaphore before. */
static size_t taken_before(const struct take *takes, size_t count, const struct rec_link *post)
{
	const struct take first = { post->address, 0, post->thread };
	const struct take last = { post->address, post->at_ns, post->thread };
	return bound_lower(&last, takes, count, sizeof(last), compare_takes) -
	       bound_lower(&first, takes, count, sizeof(first), compare_takes);
}

static const struct take *first_take(const struct take *takes, size_t count,
				     const struct rec_link *post)
{
	const struct take first = { post->address, 0, post->thread };
	return &takes[bound_lower(&first, takes, count, sizeof(first), compare_takes)];
}

/* The thread had the permit that it gave there from the begin of its life to the end, but for small
 * parts. */
static bool is_for_life(const struct recording *recording, const struct rec_link *post,
			const struct take *take)
{
	uint32_t op = recording->threads[post->thread].op;
	if (op == NO_INDEX)
		return false;
	const struct rec_op *life = &recording->ops[op];
	double part_ns = assume.ended_within * (double)(life->end_ns - life->start_ns);
	return (double)take->at_ns <= (double)life->start_ns + part_ns &&
	       (double)post->at_ns >= (double)life->end_ns - part_ns;
}

struct join *joins_find(const struct recording *recording)
{
	struct join *joins = memory_new(recording->wait_count, sizeof(*joins));
	struct poster *posters = posters_of(recording);
	size_t count;
	struct take *takes = takes_find(recording, &count);
	for (uint32_t i = 0; i < recording->wait_count; i++) {
		const struct rec_wait *wait = &recording->waits[i];
		bool has_thread = wait->target != NO_INDEX &&
				  recording->ops[wait->target].kind == KIND_THREAD;
		joins[i] = (struct join){ NO_INDEX, NO_INDEX, false, false };
		if (wait->reason == REASON_JOIN && has_thread)
			joins[i].thread = recording->ops[wait->target].thread;
		if (posters[i].link == NO_INDEX)
			continue;
		const struct rec_link *post = &recording->links[posters[i].link];
		joins[i].is_got = wait->thread != NO_INDEX;
		joins[i].is_told = taken_before(takes, count, post) <= posters[i].before;
		if (!joins[i].is_told && !posters[i].before && posters[i].is_last &&
		    is_for_life(recording, post, first_take(takes, count, post)))
			joins[i] = (struct join){ post->thread, posters[i].link, true, false };
	}
	free(posters);
	free(takes);
	return joins;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds waits for the ends of threads; joins.h has the contract.
 *
 * Method. A thread that says by a semaphore that it ends posts it once, in the last small part of
 * its life. That post is what the other one waited for.
 */
#include "joins.h"

#include <stdlib.h>

#include "base/assumptions.h"
#include "base/memory.h"
#include "format.h"

/* A post of a semaphore. */
struct post {
	uint64_t address;
	uint32_t thread;
	uint32_t link;
};

static int compare_posts(const void *left, const void *right)
{
	const struct post *a = left, *b = right;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (a->link > b->link) - (a->link < b->link);
}

/* In order of threads and semaphores. */
static struct post *posts_find(const struct recording *recording, size_t *count)
{
	struct post *posts = memory_new(recording->link_count, sizeof(*posts));
	*count = 0;
	for (uint32_t i = 0; i < recording->link_count; i++) {
		const struct rec_link *link = &recording->links[i];
		if (link->kind == LINK_POST && link->thread != NO_INDEX)
			posts[(*count)++] = (struct post){ link->address, link->thread, i };
	}
	if (*count)
		qsort(posts, *count, sizeof(*posts), compare_posts);
	return posts;
}

/* The only post of that semaphore by that thread; NO_INDEX = there are none, or several. */
static uint32_t only_post(const struct post *posts, size_t count, uint32_t thread, uint64_t address)
{
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		bool is_before = posts[middle].thread != thread ? posts[middle].thread < thread
								: posts[middle].address < address;
		if (is_before)
			low = middle + 1;
		else
			high = middle;
	}
	const struct post *found = &posts[low];
	if (low == count || found->thread != thread || found->address != address)
		return NO_INDEX;
	if (low + 1 < count && found[1].thread == thread && found[1].address == address)
		return NO_INDEX;
	return found->link;
}

static bool is_last_act(const struct recording *recording, const struct rec_link *link)
{
	uint32_t op = recording->threads[link->thread].op;
	if (op == NO_INDEX)
		return false;
	const struct rec_op *life = &recording->ops[op];
	return life->end_ns >= link->at_ns &&
	       (double)(life->end_ns - link->at_ns) <=
		       assume.ended_within * (double)(life->end_ns - life->start_ns);
}

static struct join posted_by(const struct recording *recording, const struct rec_wait *wait,
			     const struct post *posts, size_t count)
{
	const struct join none = { NO_INDEX, NO_INDEX };
	if (wait->thread == NO_INDEX || wait->target == NO_INDEX || wait->timed_out || wait->open)
		return none;
	uint32_t thread = recording->ops[wait->target].thread;
	if (thread == NO_INDEX || thread == wait->thread)
		return none;
	uint32_t link = only_post(posts, count, thread, wait->address);
	if (link == NO_INDEX || recording->links[link].at_ns < wait->start_ns ||
	    !is_last_act(recording, &recording->links[link]))
		return none;
	return (struct join){ thread, link };
}

struct join *joins_find(const struct recording *recording)
{
	struct join *joins = memory_new(recording->wait_count, sizeof(*joins));
	size_t count;
	struct post *posts = posts_find(recording, &count);
	for (uint32_t i = 0; i < recording->wait_count; i++) {
		const struct rec_wait *wait = &recording->waits[i];
		bool has_thread = wait->target != NO_INDEX &&
				  recording->ops[wait->target].kind == KIND_THREAD;
		joins[i] = (struct join){ NO_INDEX, NO_INDEX };
		if (wait->reason == REASON_JOIN && has_thread)
			joins[i].thread = recording->ops[wait->target].thread;
		else if (wait->reason == REASON_SEM)
			joins[i] = posted_by(recording, wait, posts, count);
	}
	free(posts);
	return joins;
}

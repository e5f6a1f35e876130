/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds, for each wait for a semaphore, the post whose permit it got: that thread is what the wait
 * waited for.
 *
 * Method. Permits are alike: the first that was put in counts as the first that was taken out. So
 * the wait that ends nth got the nth permit, after those that were there at the start. These are as
 * many as the recording's largest deficit of takes over posts.
 *
 * The rank is believed where a wait had to wait, and the post of its rank came meanwhile. A permit
 * that nobody took, or an event that was lost, makes ranks wrong. Then the recorder's own answer
 * stays, the last post before the wait's end. Of several processes all posts and waits count, if
 * they share the semaphore.
 *
 * One thread.
 */
#include "posters.h"

#include "base/bound.h"
#include "base/memory.h"
#include "format.h"
#include "recording/addresses.h"

#include <assert.h>
#include <stdlib.h>

struct permit {
	uint64_t at_ns;
	uint32_t semaphore;
	uint32_t index; /* of the wait, or of the link */
	bool is_taken;  /* else put in */
};

static int compare_permits(const void *left, const void *right)
{
	const struct permit *a = left, *b = right;

	if (a->semaphore != b->semaphore)
		return a->semaphore < b->semaphore ? -1 : 1;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return (int)a->is_taken - (int)b->is_taken;
}

static struct permit *collect(const struct recording *rec, struct addresses *semaphores,
			      size_t *count)
{
	struct permit *permits = memory_new(rec->wait_count + rec->link_count, sizeof(*permits));

	*count = 0;
	for (uint32_t i = 0; i < rec->wait_count; i++) {
		const struct rec_wait *wait = &rec->waits[i];

		if (wait->reason == REASON_SEM && wait->thread != NO_INDEX && !wait->timed_out &&
		    !wait->open)
			permits[(*count)++] =
				(struct permit){ wait->end_ns,
						 addresses_add(semaphores,
							       rec->threads[wait->thread].process,
							       wait->address),
						 i, true };
	}
	for (uint32_t i = 0; i < rec->link_count; i++) {
		const struct rec_link *link = &rec->links[i];

		if (link->kind == LINK_POST && link->thread != NO_INDEX)
			permits[(*count)++] =
				(struct permit){ link->at_ns,
						 addresses_add(semaphores,
							       rec->threads[link->thread].process,
							       link->address),
						 i, false };
	}
	if (*count)
		qsort(permits, *count, sizeof(*permits), compare_permits);
	return permits;
}

static size_t deficit_of(const struct permit *permits, size_t count)
{
	size_t put = 0, taken = 0, deficit = 0;

	for (size_t i = 0; i < count; i++) {
		put += !permits[i].is_taken;
		taken += permits[i].is_taken;
		if (taken > put && taken - put > deficit)
			deficit = taken - put;
	}
	return deficit;
}

/* One semaphore's. */
static void match(struct recording *rec, const struct permit *permits, size_t count)
{
	size_t ahead = deficit_of(permits, count), put = 0;

	for (size_t i = 0; i < count; i++) {
		if (!permits[i].is_taken)
			continue;
		if (ahead > 0) {
			ahead--;
			continue;
		}
		while (permits[put].is_taken)
			put++;
		assert(put < i);
		const struct rec_link *link = &rec->links[permits[put++].index];
		struct rec_wait *wait = &rec->waits[permits[i].index];

		if (link->at_ns > wait->start_ns && link->from != NO_INDEX &&
		    link->thread != wait->thread)
			wait->target = link->from;
	}
}

void posters_find(struct recording *rec)
{
	struct addresses semaphores = { 0 };
	size_t count;
	struct permit *permits = collect(rec, &semaphores, &count);

	for (size_t from = 0, to; from < count; from = to) {
		for (to = from; to < count && permits[to].semaphore == permits[from].semaphore;)
			to++;
		match(rec, permits + from, to - from);
	}
	free(permits);
	addresses_free(&semaphores);
}

/* --- the posts themselves --- */

struct post {
	uint64_t address;
	uint64_t at_ns;
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
	return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

static struct post *posts_find(const struct recording *rec, size_t *count)
{
	struct post *posts = memory_new(rec->link_count, sizeof(*posts));

	*count = 0;
	for (uint32_t i = 0; i < rec->link_count; i++) {
		const struct rec_link *link = &rec->links[i];

		if (link->kind == LINK_POST && link->thread != NO_INDEX)
			posts[(*count)++] =
				(struct post){ link->address, link->at_ns, link->thread, i };
	}
	if (*count)
		qsort(posts, *count, sizeof(*posts), compare_posts);
	return posts;
}

static bool is_same(const struct post *post, const struct post *other)
{
	return post->thread == other->thread && post->address == other->address;
}

static struct poster poster_of(const struct recording *rec, const struct rec_wait *wait,
			       const struct post *posts, size_t count)
{
	const struct poster none = { .link = NO_INDEX };

	if (wait->reason != REASON_SEM || wait->target == NO_INDEX || wait->timed_out ||
	    wait->open || rec->ops[wait->target].thread == NO_INDEX ||
	    rec->ops[wait->target].thread == wait->thread)
		return none;
	const struct post end = { wait->address, wait->end_ns + 1, rec->ops[wait->target].thread,
				  NO_INDEX };
	size_t next = bound_lower(&end, posts, count, sizeof(end), compare_posts);
	const struct post *post = next ? &posts[next - 1] : NULL;
	if (!post || !is_same(post, &end) || post->at_ns < wait->start_ns)
		return none;
	const struct post first = { post->address, 0, post->thread, NO_INDEX };
	size_t before = next - 1 - bound_lower(&first, posts, count, sizeof(first), compare_posts);
	bool is_last = next == count || !is_same(post + 1, &end);
	return (struct poster){ post->link, (uint32_t)before, is_last };
}

struct poster *posters_of(const struct recording *rec)
{
	struct poster *posters = memory_new(rec->wait_count, sizeof(*posters));
	size_t count;
	struct post *posts = posts_find(rec, &count);

	for (size_t i = 0; i < rec->wait_count; i++)
		posters[i] = poster_of(rec, &rec->waits[i], posts, count);
	free(posts);
	return posters;
}

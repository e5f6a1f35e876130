/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds rounds in which the same threads are let go by one of them, each on a lock of its own.
 *
 * Method. A relay is all that follows from one signal. Its thread may let more threads go in a row.
 * Those may let others go before they do anything else. So do barriers and latches of Java, whose
 * threads wait on an object of their own each. The last thread that comes to a barrier begins the
 * relay. It did not have to wait, and would have to if it came sooner. The recording does not show
 * that, so the signals of such relays are unruly. A thread may wait for an answer of each that it
 * lets go. Then all that it waits for is known. If it gets fewer answers, as of the last one to
 * count a latch down, it may wait for the others unseen.
 *
 * One thread.
 */
#include "base/assumptions.h"
#include "base/memory.h"
#include "format.h"
#include "recording/addresses.h"
#include "script_parts.h"

#include <stdlib.h>

enum { TOGETHER_LEAST = 3 }; /* two threads that let each other go take turns */

/* All threads that one signal leads to. */
struct relay {
	uint64_t threads; /* the sum of hashes of those that it lets go, and of its own */
	uint32_t root;    /* link */
	uint32_t size;    /* number of these threads */
	bool returns;     /* it lets its own thread go, which got an answer */
};

struct relay_search {
	struct script *script;
	const struct timeline *timeline;
	uint32_t *wait_of; /* by link: the wait of a thread of its own that it ended, or NO_INDEX */
	uint32_t *from; /* by link: the one that it follows, itself = none; NO_INDEX = ends none */
	struct relay *relays;
	size_t count;
};

static uint64_t hash_of(uint32_t thread)
{
	uint64_t hash = (thread + 1) * 0x9e3779b97f4a7c15u;

	return (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9u;
}

/* A wait for an object that no other thread waits for is a wait of its own. */
static void waits_find(struct relay_search *search)
{
	const struct recording *rec = search->script->recording;
	struct addresses objects = { 0 };
	uint32_t *waiter = memory_new(rec->wait_count, sizeof(*waiter));
	bool *is_shared = memory_new(rec->wait_count, sizeof(*is_shared));

	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < rec->wait_count; i++) {
			const struct rec_wait *wait = &rec->waits[i];
			uint32_t link = search->script->monitors.waking_link[i];

			if (wait->thread == NO_INDEX || !wait->address ||
			    (wait->reason != REASON_COND && wait->reason != REASON_FUTEX))
				continue;
			size_t known = objects.count;
			uint32_t object = addresses_add(
				&objects, rec->threads[wait->thread].process, wait->address);
			waiter[object] = object == known ? wait->thread : waiter[object];
			is_shared[object] |= waiter[object] != wait->thread;
			if (pass && !is_shared[object] && link != NO_INDEX)
				search->wait_of[link] = i;
		}
	}
	addresses_free(&objects);
	free(waiter);
	free(is_shared);
}

/* Holds, and waits for locks, are on the way from one signal to the next. */
static bool is_on_the_way(const struct recording *rec, const struct moment *moment)
{
	enum moment_type type = moment_type(moment);

	if (type == MOMENT_LINK)
		return true;
	if (type == MOMENT_WAIT_BEGIN || type == MOMENT_WAIT_END || type == MOMENT_WAIT_POINT)
		return rec->waits[moment->index].reason == REASON_MUTEX;
	return rec->ops[moment->index].kind == KIND_HOLD;
}

static void thread_follows(struct relay_search *search, size_t thread)
{
	const struct recording *rec = search->script->recording;
	const struct timeline *timeline = search->timeline;
	uint32_t last = NO_INDEX;

	for (size_t i = timeline->first[thread]; i < timeline->first[thread + 1]; i++) {
		const struct moment *moment = &timeline->moments[i];
		uint32_t index = moment->index;

		if (moment_type(moment) == MOMENT_LINK && search->wait_of[index] != NO_INDEX) {
			search->from[index] = last == NO_INDEX ? index : last;
			last = index;
		} else if (!is_on_the_way(rec, moment)) {
			uint32_t link = moment_type(moment) == MOMENT_WAIT_END
						? search->script->monitors.waking_link[index]
						: NO_INDEX;
			last = link != NO_INDEX && search->wait_of[link] == index ? link : NO_INDEX;
		}
	}
}

/* The link that its relay begins with. Signals only follow earlier ones. */
static uint32_t root_of(const struct relay_search *search, uint32_t link)
{
	while (search->from[link] != NO_INDEX && search->from[link] != link)
		link = search->from[link];
	return link;
}

static void relays_count(struct relay_search *search)
{
	const struct recording *rec = search->script->recording;
	uint32_t *relay_of = memory_new(rec->link_count, sizeof(*relay_of)); /* by root, from 1 */

	search->relays = memory_new(rec->link_count, sizeof(*search->relays));
	for (uint32_t i = 0; i < rec->link_count; i++) {
		if (search->wait_of[i] == NO_INDEX || search->from[i] == NO_INDEX)
			continue;
		uint32_t root = root_of(search, i);

		if (!relay_of[root]) {
			search->relays[search->count++] =
				(struct relay){ hash_of(rec->links[root].thread), root, 1, false };
			relay_of[root] = (uint32_t)search->count;
		}
		struct relay *relay = &search->relays[relay_of[root] - 1];
		uint32_t thread = rec->waits[search->wait_of[i]].thread;
		if (thread == rec->links[root].thread) {
			relay->returns = true;
			continue;
		}
		relay->threads += hash_of(thread);
		relay->size++;
	}
	free(relay_of);
}

static int compare_relays(const void *left, const void *right)
{
	const struct relay *a = left, *b = right;

	if (a->threads != b->threads)
		return a->threads < b->threads ? -1 : 1;
	return (a->root > b->root) - (a->root < b->root);
}

/* By link: it is one of these relays. To be freed. */
static bool *links_of(const struct relay_search *search, const struct relay *first, size_t count)
{
	size_t links = search->script->recording->link_count;
	bool *is_root = memory_new(links, sizeof(*is_root)), *is_of = memory_new(links, 1);

	for (size_t i = 0; i < count; i++)
		is_root[first[i].root] = true;
	for (uint32_t i = 0; i < links; i++)
		is_of[i] = search->wait_of[i] != NO_INDEX && search->from[i] != NO_INDEX &&
			   is_root[root_of(search, i)];
	free(is_root);
	return is_of;
}

/* How often threads that begin relays wait for something else than these relays. */
static size_t answers_count(const struct relay_search *search, const struct relay *first,
			    size_t count, const bool *is_of)
{
	const struct recording *rec = search->script->recording;
	bool *begins = memory_new(rec->thread_count, sizeof(*begins));
	size_t answers = 0;

	for (size_t i = 0; i < count; i++) {
		begins[rec->links[first[i].root].thread] = true;
		answers += first[i].returns;
	}
	for (size_t i = 0; i < rec->wait_count; i++) {
		const struct rec_wait *wait = &rec->waits[i];
		uint32_t link = search->script->monitors.waking_link[i];

		answers += wait->thread != NO_INDEX && begins[wait->thread] && !wait->timed_out &&
			   wait->reason != REASON_MUTEX && (link == NO_INDEX || !is_of[link]);
	}
	free(begins);
	return answers;
}

static void rounds_judge(struct relay_search *search, const struct relay *first, size_t count)
{
	struct script *script = search->script;

	if (first->size < TOGETHER_LEAST || count < assume.ended_waits)
		return;
	bool *is_of = links_of(search, first, count);
	double wanted = (double)(count * (first->size - 1)) * (1 - assume.group_varies);
	if ((double)answers_count(search, first, count, is_of) < wanted) {
		for (uint32_t i = 0; i < script->recording->link_count; i++)
			script->is_unruly[i] = script->is_unruly[i] || is_of[i];
		script->has_unruly = true;
	}
	free(is_of);
}

void script_relays_find(struct script *script, const struct timeline *timeline)
{
	size_t links = script->recording->link_count;
	struct relay_search search = { .script = script,
				       .timeline = timeline,
				       .wait_of = memory_new(links, sizeof(uint32_t)),
				       .from = memory_new(links, sizeof(uint32_t)) };

	for (size_t i = 0; i < links; i++)
		search.wait_of[i] = search.from[i] = NO_INDEX;
	waits_find(&search);
	for (size_t t = 0; t < timeline->thread_count; t++)
		thread_follows(&search, t);
	relays_count(&search);
	if (search.count)
		qsort(search.relays, search.count, sizeof(*search.relays), compare_relays);
	for (size_t from = 0, to; from < search.count; from = to) {
		for (to = from + 1;
		     to < search.count && search.relays[to].threads == search.relays[from].threads;)
			to++;
		rounds_judge(&search, &search.relays[from], to - from);
	}
	free(search.wait_of);
	free(search.from);
	free(search.relays);
}

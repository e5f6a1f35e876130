/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds barriers that are made by hand, meeting by meeting.
 *
 * Method. A burst is what one thread does in a row at one place (a condition, a futex, a semaphore)
 * to let others go. It is a broadcast, or signals, wakes or posts. The burst's threads are those
 * that it lets go, and its own. A place is a barrier if its bursts have the same threads, each of
 * them once. And the last thread to come must be the one that lets the others go. That shows where
 * several threads did so. It also shows where waits and wakes are calls of one function.
 *
 * A thread that looks and goes on waiting contradicts it, as what it waits for has not happened. So
 * does a condition that tokens explain.
 *
 * Bursts of other threads than most are left as recorded. The first and the last burst may be so,
 * where the recording begins or ends in between.
 *
 * One thread.
 */
#include "meetings.h"

#include "base/assumptions.h"
#include "base/memory.h"
#include "format.h"
#include "monitors_parts.h"
#include "recording/addresses.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct burst {
	uint64_t at_ns;   /* of the last link */
	uint64_t threads; /* the sum of hashes of its threads */
	uint32_t place;
	uint32_t thread;
	uint32_t last_link;
	uint32_t link_count;
	uint32_t size; /* threads that meet */
	uint32_t wait; /* one of those that it ended, NO_INDEX = it ended none */
	bool wakes_all;
	bool is_odd;       /* it cannot be a barrier's */
	bool waits_itself; /* its thread is among those that it lets go */
};

struct search {
	const struct recording *rec;
	const struct timeline *timeline;
	const struct monitors *monitors;
	struct addresses places;
	bool *has_gates_only; /* by condition */
	struct burst *bursts;
	size_t burst_count;
	size_t capacity;
	uint32_t *burst_of_link;
	uint32_t *burst_of_wait;
};

static uint64_t hash_of(uint32_t thread)
{
	uint64_t hash = (thread + 1) * 0x9e3779b97f4a7c15u;

	return (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9u;
}

/* --- bursts --- */

static uint32_t place_of_link(struct search *search, const struct rec_link *link)
{
	if (link->thread == NO_INDEX || (link->kind != LINK_WAKE && link->kind != LINK_POST))
		return NO_INDEX;
	return addresses_find(&search->places, monitors_process(search->rec, link->thread),
			      link->address);
}

/* A wait that may have been in a meeting. */
static bool is_candidate(const struct search *search, uint32_t index)
{
	const struct rec_wait *wait = &search->rec->waits[index];
	uint32_t condition = search->monitors->condition_of_wait[index];

	if (wait->timed_out || wait->open || wait->thread == NO_INDEX)
		return false;
	if (wait->reason == REASON_SEM)
		return true;
	if (wait->reason == REASON_COND)
		return condition != NO_INDEX &&
		       (search->monitors->conditions[condition].model == PUT_NONE ||
			search->has_gates_only[condition]);
	return wait->reason == REASON_FUTEX;
}

/* Of signals that open a condition for good it is not known who waits for whom. A barrier that is
 * used once has no others. */
static void gates_find(struct search *search)
{
	const struct monitors *monitors = search->monitors;

	search->has_gates_only =
		memory_new(monitors->condition_count, sizeof(*search->has_gates_only));
	for (size_t i = 0; i < monitors->condition_count; i++)
		search->has_gates_only[i] = monitors->conditions[i].gate_ns != UINT64_MAX;
	for (size_t i = 0; i < search->rec->link_count; i++)
		if (monitors->signals[i].condition != NO_INDEX && !monitors->signals[i].is_gate)
			search->has_gates_only[monitors->signals[i].condition] = false;
}

static void places_find(struct search *search)
{
	const struct recording *rec = search->rec;

	for (uint32_t i = 0; i < rec->wait_count; i++)
		if (is_candidate(search, i))
			addresses_add(&search->places, monitors_process(rec, rec->waits[i].thread),
				      rec->waits[i].address);
}

static void link_add(struct search *search, uint32_t index, uint32_t place, bool goes_on)
{
	const struct rec_link *link = &search->rec->links[index];
	bool wakes_all = link->kind == LINK_WAKE && monitors_wakes_all(link);

	if (!goes_on || wakes_all || search->bursts[search->burst_count - 1].wakes_all) {
		search->bursts = memory_grow(search->bursts, &search->capacity,
					     search->burst_count + 1, sizeof(*search->bursts));
		search->bursts[search->burst_count++] = (struct burst){ .place = place,
									.thread = link->thread,
									.wait = NO_INDEX,
									.wakes_all = wakes_all };
	}
	struct burst *burst = &search->bursts[search->burst_count - 1];
	burst->at_ns = link->at_ns;
	burst->last_link = index;
	burst->link_count++;
	search->burst_of_link[index] = (uint32_t)(search->burst_count - 1);
}

static void bursts_find(struct search *search)
{
	const struct timeline *timeline = search->timeline;

	for (size_t t = 0; t < timeline->thread_count; t++) {
		uint32_t last = NO_INDEX;

		for (size_t i = timeline->first[t]; i < timeline->first[t + 1]; i++) {
			const struct moment *moment = &timeline->moments[i];
			uint32_t place = NO_INDEX;

			if (moment_type(moment) == MOMENT_LINK)
				place = place_of_link(search, &search->rec->links[moment->index]);
			if (place != NO_INDEX)
				link_add(search, moment->index, place, place == last);
			last = place;
		}
	}
}

/* --- which burst ended a wait --- */

/* The thread has looked in between, and went on waiting. */
static bool waits_on(const struct search *search, uint32_t wait)
{
	uint32_t section = search->monitors->section_of_wait[wait];

	return section != NO_INDEX && search->monitors->sections[section].last_wait != wait;
}

static void waits_tie(struct search *search)
{
	for (uint32_t i = 0; i < search->rec->wait_count; i++) {
		uint32_t link = search->monitors->waking_link[i];

		if (link != NO_INDEX && is_candidate(search, i))
			search->burst_of_wait[i] = search->burst_of_link[link];
	}
}

static void wait_counts(struct search *search, uint32_t index)
{
	const struct rec_wait *wait = &search->rec->waits[index];
	struct burst *burst = &search->bursts[search->burst_of_wait[index]];

	burst->waits_itself = burst->waits_itself || wait->thread == burst->thread;
	burst->is_odd = burst->is_odd || waits_on(search, index);
	burst->threads += hash_of(wait->thread);
	burst->size++;
	if (burst->wait == NO_INDEX || wait->thread != burst->thread)
		burst->wait = index;
}

static void bursts_count(struct search *search)
{
	for (uint32_t i = 0; i < search->rec->wait_count; i++)
		if (search->burst_of_wait[i] != NO_INDEX)
			wait_counts(search, i);
	for (size_t i = 0; i < search->burst_count; i++) {
		struct burst *burst = &search->bursts[i];

		bool is_post = search->rec->links[burst->last_link].kind == LINK_POST;

		burst->is_odd = burst->is_odd || !burst->size ||
				(is_post && burst->size != burst->link_count);
		burst->threads += burst->waits_itself ? 0 : hash_of(burst->thread);
		burst->size += !burst->waits_itself;
	}
}

/* --- places --- */

/* The calls that wait and that let go are of one function, called from one place. For a condition
 * the sections are. */
static bool is_one_function(const struct search *search, const struct burst *burst)
{
	const struct recording *rec = search->rec;
	const struct monitors *monitors = search->monitors;
	uint32_t wait_stack = rec->waits[burst->wait].stack;
	uint32_t link_stack = rec->links[burst->last_link].stack;

	return wait_stack && link_stack && monitors_is_same_function(rec, wait_stack, link_stack) &&
	       monitors->condition_of_wait[burst->wait] ==
		       monitors->signals[burst->last_link].condition;
}

/* The section in which a thread lets the others go begins where those begin that wait. */
static bool may_come_last(const struct search *search, const struct burst *burst)
{
	const struct monitors *monitors = search->monitors;
	uint32_t waits = monitors->section_of_wait[burst->wait];
	uint32_t wakes = monitors->signals[burst->last_link].section;

	if (search->rec->waits[burst->wait].reason != REASON_COND)
		return true;
	return waits != NO_INDEX && wakes != NO_INDEX &&
	       monitors->sections[waits].site[0] == monitors->sections[wakes].site[0];
}

static bool is_barrier(const struct search *search, const struct burst *first, size_t count,
		       uint64_t threads)
{
	size_t misfits = 0;
	uint32_t waker = NO_INDEX, size = 0;
	bool is_shown = false, wake_one = false;

	for (size_t i = 0; i < count; i++) {
		const struct burst *burst = &first[i];

		if (burst->is_odd || burst->threads != threads || !may_come_last(search, burst)) {
			misfits += burst->is_odd || (i && i + 1 < count);
			continue;
		}
		if (waker == NO_INDEX)
			is_shown = is_one_function(search, burst);
		else if (burst->size > 2 && burst->thread != waker)
			is_shown = true;
		size = burst->size;
		waker = burst->thread;
		wake_one =
			search->rec->waits[burst->wait].reason != REASON_COND && !burst->wakes_all;
	}
	/* Two threads that let each other go, one at a time, may just use a lock. */
	return is_shown && !(size == 2 && wake_one) &&
	       (double)misfits <= assume.token_misfits * (double)count;
}

static int compare_bursts(const void *left, const void *right)
{
	const struct burst *a = left, *b = right;

	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	return a->at_ns < b->at_ns ? -1 : a->at_ns > b->at_ns;
}

/* The threads that most of the bursts have (Boyer and Moore). */
static uint64_t usual_threads(const struct burst *first, size_t count)
{
	uint64_t threads = 0;
	size_t votes = 0;

	for (size_t i = 0; i < count; i++) {
		if (!votes)
			threads = first[i].threads;
		votes = first[i].threads == threads ? votes + 1 : votes - 1;
	}
	return threads;
}

/* Gives the meetings of one place their numbers, by the bursts' last links. */
static void place_meets(struct search *search, struct meetings *meetings, const struct burst *first,
			size_t count)
{
	uint64_t threads = usual_threads(first, count);

	if (!is_barrier(search, first, count, threads))
		return;
	for (size_t i = 0; i < count; i++) {
		if (first[i].is_odd || first[i].threads != threads)
			continue;
		meetings->sizes[meetings->count] = first[i].size;
		meetings->opened_ns[meetings->count] = first[i].at_ns;
		meetings->of_link[first[i].last_link] = (uint32_t)meetings->count++;
	}
}

static void meetings_number(struct search *search, struct meetings *meetings)
{
	const struct recording *rec = search->rec;
	struct burst *sorted = memory_new(search->burst_count, sizeof(*sorted));

	meetings->sizes = memory_new(search->burst_count, sizeof(*meetings->sizes));
	meetings->opened_ns = memory_new(search->burst_count, sizeof(*meetings->opened_ns));
	if (search->burst_count)
		memcpy(sorted, search->bursts, search->burst_count * sizeof(*sorted));
	qsort(sorted, search->burst_count, sizeof(*sorted), compare_bursts);
	for (size_t from = 0, to; from < search->burst_count; from = to) {
		for (to = from + 1;
		     to < search->burst_count && sorted[to].place == sorted[from].place;)
			to++;
		place_meets(search, meetings, sorted + from, to - from);
	}
	free(sorted);
	for (size_t i = 0; i < rec->wait_count; i++)
		if (search->burst_of_wait[i] != NO_INDEX)
			meetings->of_wait[i] =
				meetings->of_link[search->bursts[search->burst_of_wait[i]]
							  .last_link];
	for (size_t i = 0; i < rec->link_count; i++)
		meetings->is_post[i] =
			search->burst_of_link[i] != NO_INDEX &&
			meetings->of_link[search->bursts[search->burst_of_link[i]].last_link] !=
				NO_INDEX;
	for (size_t i = 0; i < search->burst_count; i++)
		if (search->bursts[i].waits_itself)
			meetings->of_link[search->bursts[i].last_link] = NO_INDEX;
}

void meetings_build(struct meetings *meetings, const struct recording *rec,
		    const struct timeline *timeline, const struct monitors *monitors)
{
	struct search search = { .rec = rec,
				 .timeline = timeline,
				 .monitors = monitors,
				 .burst_of_link = memory_new_indexes(rec->link_count),
				 .burst_of_wait = memory_new_indexes(rec->wait_count) };

	assert(timeline->thread_count == rec->thread_count);
	*meetings = (struct meetings){ .of_wait = memory_new_indexes(rec->wait_count),
				       .of_link = memory_new_indexes(rec->link_count),
				       .is_post = memory_new(rec->link_count,
							     sizeof(*meetings->is_post)) };
	gates_find(&search);
	places_find(&search);
	if (search.places.count) {
		bursts_find(&search);
		waits_tie(&search);
		bursts_count(&search);
		meetings_number(&search, meetings);
	}
	addresses_free(&search.places);
	free(search.has_gates_only);
	free(search.bursts);
	free(search.burst_of_link);
	free(search.burst_of_wait);
}

void meetings_free(struct meetings *meetings)
{
	free(meetings->of_wait);
	free(meetings->of_link);
	free(meetings->is_post);
	free(meetings->sizes);
	free(meetings->opened_ns);
	memset(meetings, 0, sizeof(*meetings));
}

void meetings_explain(const struct meetings *meetings, const struct recording *rec,
		      struct monitors *monitors)
{
	for (size_t i = 0; i < rec->wait_count; i++)
		if (meetings->of_wait[i] != NO_INDEX && monitors->condition_of_wait[i] != NO_INDEX)
			monitors->conditions[monitors->condition_of_wait[i]].model = PUT_NONE;
}

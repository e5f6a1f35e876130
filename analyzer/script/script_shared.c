/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Barriers, libc's and the program's own, and semaphores. They have parties, and permits at the
 * start. Each wait for them returned so long after its cause.
 *
 * The tables that are returned are by wait. One thread.
 */
#include "base/assumptions.h"
#include "base/memory.h"
#include "format.h"
#include "script_parts.h"

#include <assert.h>
#include <stdlib.h>

/* --- barriers --- */

struct arrival {
	uint64_t at_ns;
	uint32_t barrier;
	uint32_t wait;
};

static int compare_arrivals(const void *left, const void *right)
{
	const struct arrival *a = left, *b = right;

	if (a->barrier != b->barrier)
		return a->barrier < b->barrier ? -1 : 1;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return a->wait < b->wait ? -1 : a->wait > b->wait;
}

/* The thread that opens a barrier wakes the others: one less than take part. */
static void parties_find(struct script *script, const struct recording *rec,
			 const struct addresses *barriers)
{
	script->barrier_count = barriers->count;
	script->parties = memory_new(barriers->count, sizeof(*script->parties));
	for (size_t i = 0; i < barriers->count; i++)
		script->parties[i] = 1;
	for (size_t i = 0; i < rec->link_count; i++) {
		const struct rec_link *link = &rec->links[i];

		if (link->kind != LINK_WAKE || link->thread == NO_INDEX)
			continue;
		uint32_t barrier =
			addresses_find(barriers, rec->threads[link->thread].process, link->address);
		if (barrier != NO_INDEX)
			script->parties[barrier] =
				link->count < UINT32_MAX ? link->count + 1 : UINT32_MAX;
	}
}

/* A thread that does not wait where it arrives says nothing of when the others go on. */
static uint64_t left_ns_of(const struct rec_wait *wait)
{
	return wait->end_ns > wait->start_ns ? wait->end_ns : UINT64_MAX;
}

/* The end of the waits of one meeting: as many as take part, and nobody comes once one has left. */
static size_t meeting_end(const struct recording *rec, const struct arrival *arrivals, size_t from,
			  size_t count, uint32_t parties)
{
	uint64_t left_ns = left_ns_of(&rec->waits[arrivals[from].wait]);
	size_t to = from + 1;

	for (; to < count && to - from < parties &&
	       arrivals[to].barrier == arrivals[from].barrier && arrivals[to].at_ns <= left_ns;
	     to++) {
		uint64_t its_ns = left_ns_of(&rec->waits[arrivals[to].wait]);

		if (its_ns < left_ns)
			left_ns = its_ns;
	}
	return to;
}

/*
 * A barrier opens when as many have come as take part: its arrivals in order, in groups of that
 * many. Returns, for each wait, how long after the last arrival it returned; NOT_ALL_SEEN: others
 * came that are not recorded.
 */
uint64_t *script_barriers_find(struct script *script, const struct recording *rec,
			       struct addresses *barriers)
{
	uint64_t *latency_ns = memory_new(rec->wait_count, sizeof(*latency_ns));
	struct arrival *arrivals = NULL;
	size_t count = 0, capacity = 0;

	for (uint32_t i = 0; i < rec->wait_count; i++) {
		const struct rec_wait *wait = &rec->waits[i];

		if (wait->reason != REASON_BARRIER || wait->thread == NO_INDEX || wait->open)
			continue;
		uint32_t barrier =
			addresses_add(barriers, rec->threads[wait->thread].process, wait->address);
		arrivals = memory_grow(arrivals, &capacity, count + 1, sizeof(*arrivals));
		arrivals[count++] = (struct arrival){ wait->start_ns, barrier, i };
	}
	parties_find(script, rec, barriers);
	if (count)
		qsort(arrivals, count, sizeof(*arrivals), compare_arrivals);
	for (size_t from = 0, to; from < count; from = to) {
		uint32_t parties = script->parties[arrivals[from].barrier];

		assert(parties > 0);
		to = meeting_end(rec, arrivals, from, count, parties);
		uint64_t opened_ns = arrivals[to - 1].at_ns;
		for (size_t i = from; i < to; i++) {
			uint64_t end_ns = rec->waits[arrivals[i].wait].end_ns;

			latency_ns[arrivals[i].wait] = to - from < parties  ? NOT_ALL_SEEN
						       : end_ns > opened_ns ? end_ns - opened_ns
									    : 0;
		}
	}
	free(arrivals);
	return latency_ns;
}

/* The barriers that the program made itself come behind the others, each meeting as one. */
void script_meetings_find(struct script *script, const struct meetings *meetings)
{
	size_t capacity = script->barrier_count, count = capacity + meetings->count;

	script->parties = memory_grow(script->parties, &capacity, count, sizeof(*script->parties));
	for (size_t i = 0; i < meetings->count; i++)
		script->parties[script->barrier_count++] = meetings->sizes[i];
}

static uint32_t barrier_of(const struct compiler *compiler, uint32_t meeting)
{
	return (uint32_t)compiler->found->barriers.count + meeting;
}

void script_meets(struct compiler *compiler, uint32_t index)
{
	const struct meetings *meetings = &compiler->found->meetings;
	const struct rec_wait *wait = &compiler->rec->waits[index];
	uint64_t opened_ns = meetings->opened_ns[meetings->of_wait[index]];

	if (opened_ns < wait->start_ns)
		opened_ns = wait->start_ns;
	script_emit(compiler, STEP_BARRIER, barrier_of(compiler, meetings->of_wait[index]),
		    wait->end_ns > opened_ns ? wait->end_ns - opened_ns : 0);
}

void script_meets_last(struct compiler *compiler)
{
	struct thread_state *thread = &compiler->thread;

	if (thread->meeting == NO_INDEX || script_is_holding(compiler))
		return;
	script_emit(compiler, STEP_BARRIER, barrier_of(compiler, thread->meeting), LATENCY_UNKNOWN);
	thread->meeting = NO_INDEX;
}

/* --- semaphores --- */

struct permit_event {
	uint64_t at_ns;
	uint32_t semaphore;
	uint32_t wait; /* NO_INDEX: a post */
	int change;
};

static int compare_permits(const void *left, const void *right)
{
	const struct permit_event *a = left, *b = right;

	if (a->semaphore != b->semaphore)
		return a->semaphore < b->semaphore ? -1 : 1;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return b->change - a->change;
}

static struct permit_event *permit_events(struct addresses *semaphores, const struct recording *rec,
					  size_t *count)
{
	struct permit_event *events = NULL;
	size_t capacity = 0;

	*count = 0;
	for (size_t i = 0; i < rec->wait_count + rec->link_count; i++) {
		bool is_wait = i < rec->wait_count;
		const struct rec_wait *wait = is_wait ? &rec->waits[i] : NULL;
		const struct rec_link *link = is_wait ? NULL : &rec->links[i - rec->wait_count];
		uint32_t thread = is_wait ? wait->thread : link->thread;

		if (thread == NO_INDEX || !(is_wait ? wait->address : link->address) ||
		    (is_wait ? wait->reason != REASON_SEM || wait->timed_out || wait->open
			     : link->kind != LINK_POST))
			continue;
		uint32_t semaphore = addresses_add(semaphores, rec->threads[thread].process,
						   is_wait ? wait->address : link->address);
		events = memory_grow(events, &capacity, *count + 1, sizeof(*events));
		events[(*count)++] =
			(struct permit_event){ is_wait ? wait->end_ns : link->at_ns, semaphore,
					       is_wait ? (uint32_t)i : NO_INDEX, is_wait ? -1 : 1 };
	}
	if (*count)
		qsort(events, *count, sizeof(*events), compare_permits);
	return events;
}

/* The wait lasted, and nobody was seen to post: it was another process, or before. */
static bool lacks_post(const struct rec_wait *wait, uint64_t posted_ns)
{
	return wait->end_ns - wait->start_ns > assume.copy && posted_ns <= wait->start_ns;
}

/* The wait lasted until a post came, the only one meanwhile. */
static bool one_posted(const struct rec_wait *wait, uint64_t posted_ns, uint64_t earlier_ns)
{
	return wait->end_ns - wait->start_ns > assume.copy && posted_ns > wait->start_ns &&
	       earlier_ns <= wait->start_ns;
}

/* It had to wait, so nothing was left but for the post, whatever the recording says. The least of
 * all such waits counts; UINT32_MAX: there was none. */
static void note_owed(struct script *script, uint32_t semaphore, int64_t permits)
{
	uint32_t owed = permits > 0 ? (uint32_t)permits : 0;

	if (owed < script->owed_permits[semaphore])
		script->owed_permits[semaphore] = owed;
}

/*
 * The permits at the start are the recording's largest deficit of permits taken over permits
 * posted. A wait where there were permits shows that these had been taken. That was by waits that
 * are not in the recording, as they began before it: as many are owed. Returns, for each wait, how
 * long after the last post it returned: which of several posts woke it is not known.
 */
uint64_t *script_semaphores_find(struct script *script, const struct recording *rec,
				 struct addresses *semaphores)
{
	uint64_t *latency_ns = memory_new(rec->wait_count, sizeof(*latency_ns));
	uint64_t posted_ns = 0, earlier_ns = 0;
	int64_t permits = 0;
	size_t count;
	struct permit_event *events = permit_events(semaphores, rec, &count);

	script->semaphore_count = semaphores->count;
	script->permits = memory_new(semaphores->count, sizeof(*script->permits));
	script->owed_permits = memory_new(semaphores->count, sizeof(*script->owed_permits));
	memset(script->owed_permits, 0xff, semaphores->count * sizeof(*script->owed_permits));
	for (size_t i = 0; i < count; i++) {
		const struct permit_event *event = &events[i];

		if (!i || event->semaphore != events[i - 1].semaphore)
			permits = 0, posted_ns = earlier_ns = 0;
		if (event->wait != NO_INDEX && lacks_post(&rec->waits[event->wait], posted_ns)) {
			latency_ns[event->wait] = POST_UNSEEN;
			continue;
		}
		permits += event->change;
		if (event->wait != NO_INDEX &&
		    one_posted(&rec->waits[event->wait], posted_ns, earlier_ns))
			note_owed(script, event->semaphore, permits);
		if (permits < -(int64_t)script->permits[event->semaphore])
			script->permits[event->semaphore] = (uint32_t)-permits;
		if (event->wait == NO_INDEX)
			earlier_ns = posted_ns, posted_ns = event->at_ns;
		else
			latency_ns[event->wait] = posted_ns > rec->waits[event->wait].start_ns
							  ? event->at_ns - posted_ns
							  : LATENCY_UNKNOWN;
	}
	for (size_t i = 0; i < semaphores->count; i++)
		if (script->permits[i] || script->owed_permits[i] == UINT32_MAX)
			script->owed_permits[i] = 0;
	free(events);
	return latency_ns;
}

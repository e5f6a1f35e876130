/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what ended waits; wakers.h has the contract.
 *
 * Posts, arrivals at barriers, writes and reads are sorted by where they happened, then by time. A
 * wait asks for the last one before its end.
 */
#include "wakers.h"

#include <stdlib.h>

#include "base/memory.h"
#include "format.h"
#include "recording/releases.h"
#include "script_parts.h"

/* Something that happened at a semaphore or barrier, or on a flow. */
struct happening {
	uint64_t at_ns;
	uint32_t place;
	uint32_t index;
};

struct happenings {
	struct happening *all; /* by place, then time */
	size_t count, room;
};

struct waking {
	const struct recording *rec;
	const struct monitors *monitors;
	const struct flows *flows;
	struct releases releases;
	struct addresses places; /* of semaphores and barriers */
	struct happenings posts, arrivals, writes, reads;
	struct happenings posts_by; /* the place is the op that posts */
};

/* --- Happenings --- */

static void note(struct happenings *happenings, uint32_t place, uint64_t at_ns, uint32_t index)
{
	happenings->all = memory_grow(happenings->all, &happenings->room, happenings->count + 1,
				      sizeof(*happenings->all));
	happenings->all[happenings->count++] = (struct happening){ at_ns, place, index };
}

static int compare_happenings(const void *left, const void *right)
{
	const struct happening *a = left, *b = right;

	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

static void sort(struct happenings *happenings)
{
	if (happenings->count)
		qsort(happenings->all, happenings->count, sizeof(*happenings->all),
		      compare_happenings);
}

/* The last one at a place, at this time at the latest; NULL = none. */
static const struct happening *last_at(const struct happenings *happenings, uint32_t place,
				       uint64_t at_ns)
{
	size_t low = 0, high = happenings->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct happening *happening = &happenings->all[middle];

		if (happening->place < place ||
		    (happening->place == place && happening->at_ns <= at_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && happenings->all[low - 1].place == place ? &happenings->all[low - 1]
								  : NULL;
}

static uint32_t process_of(const struct recording *rec, uint32_t thread)
{
	return rec->threads[thread].process;
}

static uint32_t place_of(const struct waking *waking, const struct rec_wait *wait)
{
	return addresses_find(&waking->places, process_of(waking->rec, wait->thread),
			      wait->address);
}

static void note_places(struct waking *waking)
{
	const struct recording *rec = waking->rec;

	for (uint32_t i = 0; i < rec->wait_count; i++) {
		const struct rec_wait *wait = &rec->waits[i];

		if (wait->thread == NO_INDEX ||
		    (wait->reason != REASON_SEM && wait->reason != REASON_BARRIER))
			continue;
		uint32_t place = addresses_add(&waking->places, process_of(rec, wait->thread),
					       wait->address);
		if (wait->reason == REASON_BARRIER)
			note(&waking->arrivals, place, wait->start_ns, i);
	}
	for (uint32_t i = 0; i < rec->link_count; i++) {
		const struct rec_link *link = &rec->links[i];

		if (link->kind != LINK_POST || link->thread == NO_INDEX)
			continue;
		uint32_t place = addresses_find(&waking->places, process_of(rec, link->thread),
						link->address);
		if (place != NO_INDEX)
			note(&waking->posts, place, link->at_ns, i);
		if (link->from != NO_INDEX)
			note(&waking->posts_by, link->from, link->at_ns, i);
	}
}

static void note_transfers(struct waking *waking)
{
	const struct flows *flows = waking->flows;

	for (uint32_t op = 0; op < waking->rec->op_count; op++) {
		uint32_t transfer = flows->transfer_of[op];

		if (transfer == NO_INDEX)
			continue;
		if (flows->transfers[transfer].is_write)
			note(&waking->writes, flows->transfers[transfer].flow,
			     waking->rec->ops[op].start_ns, op);
		else
			note(&waking->reads, flows->transfers[transfer].flow,
			     waking->rec->ops[op].end_ns, op);
	}
}

/* --- Calls --- */

/* The write that a read waited for, if it began after `from_ns`. */
static struct waker waker_of_read(const struct waking *waking, uint32_t read, uint64_t from_ns)
{
	uint32_t index = waking->flows->transfer_of[read];

	if (index == NO_INDEX)
		return (struct waker){ 0 };
	const struct transfer *transfer = &waking->flows->transfers[index];
	if (transfer->is_write || transfer->first_ns <= from_ns)
		return (struct waker){ 0 };
	const struct happening *write =
		last_at(&waking->writes, transfer->flow, transfer->first_ns);
	if (!write || write->at_ns != transfer->first_ns)
		return (struct waker){ 0 };
	return (struct waker){ WAKER_OP_BEGIN, write->index };
}

static struct waker waker_of_write(const struct waking *waking, uint32_t write)
{
	const struct transfer *transfer =
		&waking->flows->transfers[waking->flows->transfer_of[write]];
	const struct happening *read =
		last_at(&waking->reads, transfer->flow, waking->rec->ops[write].end_ns);

	return read ? (struct waker){ WAKER_OP_END, read->index } : (struct waker){ 0 };
}

static bool begins_op(const struct moment *moment)
{
	return moment &&
	       (moment_type(moment) == MOMENT_OP_BEGIN || moment_type(moment) == MOMENT_OP_POINT);
}

static struct waker waker_of_call(const struct waking *waking, uint32_t op,
				  const struct moment *next)
{
	const struct rec_op *call = &waking->rec->ops[op];
	uint32_t index = waking->flows->transfer_of[op];

	if (call->kind == KIND_IO && index != NO_INDEX && waking->flows->transfers[index].is_write)
		return waking->flows->transfers[index].has_waited ? waker_of_write(waking, op)
								  : (struct waker){ 0 };
	if (call->kind == KIND_IO)
		return waker_of_read(waking, op, call->start_ns);
	if (call->kind == KIND_POLL && waking->rec->extras[op].amount && begins_op(next))
		return waker_of_read(waking, next->index, call->start_ns);
	return (struct waker){ 0 };
}

/* --- Waits --- */

static struct waker waker_of_lock(const struct waking *waking, const struct rec_wait *wait,
				  const struct moment *next)
{
	if (!begins_op(next) || waking->rec->ops[next->index].kind != KIND_HOLD ||
	    waking->rec->extras[next->index].address != wait->address)
		return (struct waker){ 0 };
	const struct release *release = releases_granting(
		&waking->releases, waking->rec, waking->releases.lock_of[next->index], next->index,
		wait->start_ns, wait->end_ns, wait->thread);
	return release ? (struct waker){ WAKER_OP_END, release->hold } : (struct waker){ 0 };
}

/* The last post by the op that the recorder names, else the last one there. */
static struct waker waker_of_permit(const struct waking *waking, const struct rec_wait *wait)
{
	const struct happening *post = NULL;

	if (wait->target != NO_INDEX)
		post = last_at(&waking->posts_by, wait->target, wait->end_ns);
	if (!post)
		post = last_at(&waking->posts, place_of(waking, wait), wait->end_ns);
	return post ? (struct waker){ WAKER_LINK, post->index } : (struct waker){ 0 };
}

static struct waker waker_of_arrival(const struct waking *waking, const struct rec_wait *wait)
{
	const struct happening *last =
		last_at(&waking->arrivals, place_of(waking, wait), wait->end_ns);

	return last ? (struct waker){ WAKER_WAIT_BEGIN, last->index } : (struct waker){ 0 };
}

/* A sleep for a while, of a row that ended later with the end of the child. */
static bool has_gone_on(const struct recording *rec, const struct rec_wait *wait, uint32_t target)
{
	return wait->reason == REASON_EXEC && !rec->extras[target].open &&
	       rec->ops[target].end_ns > wait->end_ns;
}

static struct waker waker_of_wait(const struct waking *waking, uint32_t index,
				  const struct moment *next)
{
	const struct rec_wait *wait = &waking->rec->waits[index];
	uint32_t link = waking->monitors->waking_link[index], actor;

	if (wait->open || wait->timed_out)
		return (struct waker){ 0 };
	switch (wait->reason) {
	case REASON_MUTEX:
	case REASON_RWLOCK_READ:
	case REASON_RWLOCK_WRITE:
		return waker_of_lock(waking, wait, next);
	case REASON_JOIN:
	case REASON_EXEC:
		actor = script_joined_actor(waking->rec, wait);
		if (actor == NO_INDEX || actor == wait->thread ||
		    has_gone_on(waking->rec, wait, waking->rec->threads[actor].op))
			return (struct waker){ 0 };
		return (struct waker){ WAKER_OP_END, waking->rec->threads[actor].op };
	case REASON_SEM:
		return waker_of_permit(waking, wait);
	case REASON_BARRIER:
		return waker_of_arrival(waking, wait);
	default:
		return link == NO_INDEX ? (struct waker){ 0 } : (struct waker){ WAKER_LINK, link };
	}
}

/* --- All --- */

uint64_t waker_at_ns(const struct recording *rec, struct waker waker)
{
	switch (waker.event) {
	case WAKER_OP_END:
		return rec->ops[waker.index].end_ns;
	case WAKER_OP_BEGIN:
		return rec->ops[waker.index].start_ns;
	case WAKER_LINK:
		return rec->links[waker.index].at_ns;
	case WAKER_WAIT_BEGIN:
		return rec->waits[waker.index].start_ns;
	case WAKER_NONE:
		break;
	}
	return 0;
}

uint32_t waker_thread(const struct recording *rec, struct waker waker)
{
	switch (waker.event) {
	case WAKER_OP_END:
	case WAKER_OP_BEGIN:
		return rec->ops[waker.index].thread;
	case WAKER_LINK:
		return rec->links[waker.index].thread;
	case WAKER_WAIT_BEGIN:
		return rec->waits[waker.index].thread;
	case WAKER_NONE:
		break;
	}
	return NO_INDEX;
}

uint32_t waker_op(const struct recording *rec, struct waker waker)
{
	switch (waker.event) {
	case WAKER_OP_END:
	case WAKER_OP_BEGIN:
		return waker.index;
	case WAKER_LINK:
		return rec->links[waker.index].from;
	case WAKER_WAIT_BEGIN:
		return rec->waits[waker.index].waiter;
	case WAKER_NONE:
		break;
	}
	return NO_INDEX;
}

static void find_all(struct wakers *wakers, const struct waking *waking,
		     const struct timeline *timeline)
{
	for (size_t t = 0; t < timeline->thread_count; t++) {
		for (size_t i = timeline->first[t]; i < timeline->first[t + 1]; i++) {
			const struct moment *moment = &timeline->moments[i];
			bool is_last = i + 1 == timeline->first[t + 1];
			const struct moment *next = is_last ? NULL : moment + 1;

			enum moment_type type = moment_type(moment);

			if (type == MOMENT_WAIT_END || type == MOMENT_WAIT_POINT)
				wakers->of_wait[moment->index] =
					waker_of_wait(waking, moment->index, next);
			else if ((type == MOMENT_OP_END || type == MOMENT_OP_POINT) &&
				 !waking->rec->extras[moment->index].open)
				wakers->of_op[moment->index] =
					waker_of_call(waking, moment->index, next);
		}
	}
}

void wakers_build(struct wakers *wakers, const struct recording *rec,
		  const struct timeline *timeline, const struct monitors *monitors,
		  const struct flows *flows)
{
	struct waking waking = { .rec = rec, .monitors = monitors, .flows = flows };

	wakers->of_wait = memory_new(rec->wait_count, sizeof(*wakers->of_wait));
	wakers->of_op = memory_new(rec->op_count, sizeof(*wakers->of_op));
	wakers->write_of = memory_new(rec->op_count, sizeof(*wakers->write_of));
	releases_build(&waking.releases, rec);
	note_places(&waking);
	note_transfers(&waking);
	sort(&waking.posts);
	sort(&waking.posts_by);
	sort(&waking.arrivals);
	sort(&waking.writes);
	sort(&waking.reads);
	find_all(wakers, &waking, timeline);
	for (uint32_t op = 0; op < rec->op_count; op++) {
		struct waker write = waker_of_read(&waking, op, 0);

		wakers->write_of[op] = write.event == WAKER_NONE ? NO_INDEX : write.index;
	}
	releases_free(&waking.releases);
	addresses_free(&waking.places);
	free(waking.posts.all);
	free(waking.posts_by.all);
	free(waking.arrivals.all);
	free(waking.writes.all);
	free(waking.reads.all);
}

void wakers_free(struct wakers *wakers)
{
	free(wakers->of_wait);
	free(wakers->of_op);
	free(wakers->write_of);
	*wakers = (struct wakers){ 0 };
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ties waits to the signals that ended them.
 *
 * Method. Waits and signals of one address are gone through in order of time. A signal wakes, of
 * the waits that had begun and not ended, the one that ended first; a broadcast wakes all of them.
 * Waits that timed out were woken by nobody. Of a semaphore, the first permit posted is the first
 * one taken.
 *
 * One thread.
 */
#include "base/assumptions.h"
#include "base/memory.h"
#include "format.h"
#include "monitors_parts.h"
#include "recording/addresses.h"

#include <assert.h>
#include <stdlib.h>

struct occasion {
	uint64_t at_ns;
	uint32_t place; /* number of the address */
	uint32_t index; /* of a wait (it begins) or a link */
	bool is_signal;
};

static int compare_occasions(const void *left, const void *right)
{
	const struct occasion *a = left, *b = right;

	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return (int)a->is_signal - (int)b->is_signal;
}

static bool is_woken(const struct rec_wait *wait)
{
	if (wait->timed_out || wait->open || wait->thread == NO_INDEX ||
	    wait->start_ns == wait->end_ns)
		return false;
	return wait->reason == REASON_COND || wait->reason == REASON_FUTEX ||
	       wait->reason == REASON_ONCE;
}

static bool wakes(const struct rec_link *link)
{
	return link->thread != NO_INDEX && link->kind == LINK_WAKE;
}

/* Waits for a signal, and signals, address by address, in order of time. */
static struct occasion *occasions(const struct recording *rec, size_t *count)
{
	struct addresses places = { 0 };
	struct occasion *list = NULL;
	size_t capacity = 0;

	*count = 0;
	for (size_t i = 0; i < rec->wait_count; i++) {
		const struct rec_wait *wait = &rec->waits[i];

		if (!is_woken(wait))
			continue;
		list = memory_grow(list, &capacity, *count + 1, sizeof(*list));
		list[(*count)++] = (struct occasion){
			wait->start_ns,
			addresses_add(&places, monitors_process(rec, wait->thread), wait->address),
			(uint32_t)i, false
		};
	}
	for (size_t i = 0; i < rec->link_count; i++) {
		const struct rec_link *link = &rec->links[i];
		uint32_t place =
			wakes(link) ? addresses_find(&places, monitors_process(rec, link->thread),
						     link->address)
				    : NO_INDEX;

		if (place == NO_INDEX)
			continue;
		list = memory_grow(list, &capacity, *count + 1, sizeof(*list));
		list[(*count)++] = (struct occasion){ link->at_ns, place, (uint32_t)i, true };
	}
	addresses_free(&places);
	if (*count)
		qsort(list, *count, sizeof(*list), compare_occasions);
	return list;
}

/* Waits in progress on one condition, unordered: there are at most as many as threads. */
struct waiting {
	uint32_t *waits;
	size_t count;
	size_t capacity;
};

static void drop(struct waiting *waiting, size_t at)
{
	assert(at < waiting->count);
	waiting->waits[at] = waiting->waits[--waiting->count];
}

/* When a wait was over, as far as its signal goes: an initialiser's end is recorded after the waits
 * for it ended. */
static uint64_t over_ns(const struct rec_wait *wait)
{
	return wait->end_ns + (wait->reason == REASON_ONCE ? assume.once_late : 0);
}

bool monitors_wakes_all(const struct rec_link *link)
{
	return link->all || link->count > 1;
}

static void signal_happens(struct monitors *monitors, const struct recording *rec,
			   struct waiting *waiting, uint32_t link)
{
	uint64_t at_ns = rec->links[link].at_ns;
	bool all = monitors_wakes_all(&rec->links[link]);
	size_t first = SIZE_MAX;

	for (size_t i = 0; i < waiting->count;) {
		uint32_t wait = waiting->waits[i];

		if (over_ns(&rec->waits[wait]) <= at_ns) {
			drop(waiting, i);
		} else if (all) {
			monitors->waking_link[wait] = link;
			drop(waiting, i);
		} else {
			if (first == SIZE_MAX ||
			    rec->waits[wait].end_ns < rec->waits[waiting->waits[first]].end_ns)
				first = i;
			i++;
		}
	}
	if (first == SIZE_MAX)
		return;
	monitors->waking_link[waiting->waits[first]] = link;
	drop(waiting, first);
}

struct permit {
	uint64_t at_ns;
	uint32_t place;
	uint32_t index; /* of the wait, or of the link */
	bool is_taken;
};

static int compare_permits(const void *left, const void *right)
{
	const struct permit *a = left, *b = right;

	if (a->is_taken != b->is_taken)
		return (int)a->is_taken - (int)b->is_taken;
	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	return a->at_ns < b->at_ns ? -1 : a->at_ns > b->at_ns;
}

static bool takes_permit(const struct rec_wait *wait)
{
	return wait->reason == REASON_SEM && !wait->timed_out && !wait->open &&
	       wait->thread != NO_INDEX;
}

/* Permits posted, then permits taken; each by place, in order of time. */
static struct permit *permits_find(const struct recording *rec, size_t *posted, size_t *count)
{
	struct addresses places = { 0 };
	struct permit *permits = NULL;
	size_t capacity = 0;

	*count = 0;
	for (size_t i = 0; i < rec->link_count; i++) {
		const struct rec_link *link = &rec->links[i];

		if (link->kind != LINK_POST || link->thread == NO_INDEX)
			continue;
		uint32_t place =
			addresses_add(&places, monitors_process(rec, link->thread), link->address);
		permits = memory_grow(permits, &capacity, *count + 1, sizeof(*permits));
		permits[(*count)++] = (struct permit){ link->at_ns, place, (uint32_t)i, false };
	}
	*posted = *count;
	for (size_t i = 0; *posted && i < rec->wait_count; i++) {
		const struct rec_wait *wait = &rec->waits[i];
		uint32_t place =
			takes_permit(wait)
				? addresses_find(&places, monitors_process(rec, wait->thread),
						 wait->address)
				: NO_INDEX;

		if (place == NO_INDEX)
			continue;
		permits = memory_grow(permits, &capacity, *count + 1, sizeof(*permits));
		permits[(*count)++] = (struct permit){ wait->end_ns, place, (uint32_t)i, true };
	}
	addresses_free(&places);
	if (*count)
		qsort(permits, *count, sizeof(*permits), compare_permits);
	return permits;
}

/* A permit that is taken before any was posted was there at the start. */
static void tie_permits(struct monitors *monitors, const struct recording *rec)
{
	size_t posted, count;
	struct permit *permits = permits_find(rec, &posted, &count);

	for (size_t p = 0, t = posted; p < posted && t < count;) {
		const struct permit *post = &permits[p], *take = &permits[t];

		if (post->place < take->place) {
			p++;
		} else if (post->place > take->place || take->at_ns < post->at_ns) {
			t++;
		} else {
			monitors->waking_link[take->index] = post->index;
			p++;
			t++;
		}
	}
	free(permits);
}

void monitors_tie_waits(struct monitors *monitors, const struct recording *rec)
{
	struct waiting waiting = { 0 };
	size_t count;
	struct occasion *list = occasions(rec, &count);

	for (size_t i = 0; i < count; i++) {
		if (i && list[i].place != list[i - 1].place)
			waiting.count = 0;
		if (list[i].is_signal) {
			signal_happens(monitors, rec, &waiting, list[i].index);
		} else {
			waiting.waits = memory_grow(waiting.waits, &waiting.capacity,
						    waiting.count + 1, sizeof(*waiting.waits));
			waiting.waits[waiting.count++] = list[i].index;
		}
	}
	free(waiting.waits);
	free(list);
	for (size_t i = 0; i < rec->wait_count; i++)
		if ((rec->waits[i].reason == REASON_SIGNAL || rec->waits[i].reason == REASON_END) &&
		    rec->waits[i].address < rec->link_count)
			monitors->waking_link[i] = (uint32_t)rec->waits[i].address;
	tie_permits(monitors, rec);
}

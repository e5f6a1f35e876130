/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds halts; halts.h has the contract.
 *
 * Method. One thread sleeps most of the time. When it comes back it closes a gate, does its work,
 * and lets all go on that wait at the gate. That is a futex, at which it never waits itself.
 * Nothing tells when it closes the gate. But nobody waits there while it sleeps: all waits begin
 * after its longest sleep since it opened the gate last. So they do of a lock that it alone takes
 * for writing. A thread that waits for a result waits in the time of that sleep, too. If the work
 * takes little of the whole time, it is no chance that none of the waits begins earlier. The waits
 * that one signal ends may begin together for one reason, and count as one chance. They count as
 * none if all their threads had just begun, or the signalling thread had just woken them. A thread
 * that wakes this one and then waits at the gate waits for the answer. Such a gate halts nobody.
 * Nor does a futex that several threads open: it is the memory of results, as of futures.
 *
 * One thread.
 */
#include "halts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assumptions.h"
#include "base/memory.h"
#include "format.h"
#include "recording/addresses.h"

/* A wait at a gate. */
struct stay {
	uint64_t address;
	uint64_t open_ns;  /* the signal that ended it */
	uint64_t begin_ns; /* of the first one of a signal, at a gate: of the halt */
	uint32_t process;
	uint32_t opener; /* thread */
	uint32_t link;
	uint32_t wait;
};

struct search {
	const struct recording *rec;
	const struct timeline *timeline;
	const struct monitors *monitors;
	const struct meetings *meetings;
	struct halts *halts;
	struct stay *stays; /* by process, address, opener, then time of the signal */
	size_t stay_count;
	size_t halt_capacity;
	size_t halted_capacity;
	struct addresses waited; /* (thread, address) where a thread waits */
};

static int compare_stays(const void *left, const void *right)
{
	const struct stay *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->opener != b->opener)
		return a->opener < b->opener ? -1 : 1;
	if (a->open_ns != b->open_ns)
		return a->open_ns < b->open_ns ? -1 : 1;
	if (a->link != b->link)
		return a->link < b->link ? -1 : 1;
	return (a->wait > b->wait) - (a->wait < b->wait);
}

static void stays_find(struct search *search)
{
	const struct recording *rec = search->rec;
	size_t capacity = 0;

	for (uint32_t i = 0; i < rec->wait_count; i++) {
		const struct rec_wait *wait = &rec->waits[i];
		uint32_t link = search->monitors->waking_link[i];

		if (wait->reason != REASON_FUTEX || wait->thread == NO_INDEX)
			continue;
		addresses_add(&search->waited, wait->thread, wait->address);
		if (link == NO_INDEX || !search->monitors->signals[link].wakes_all ||
		    search->meetings->of_wait[i] != NO_INDEX)
			continue;
		search->stays = memory_grow(search->stays, &capacity, search->stay_count + 1,
					    sizeof(*search->stays));
		uint32_t opener = rec->links[link].thread;

		search->stays[search->stay_count++] =
			(struct stay){ .address = wait->address,
				       .open_ns = rec->links[link].at_ns,
				       .process = rec->threads[opener].process,
				       .opener = opener,
				       .link = link,
				       .wait = i };
	}
	if (search->stay_count)
		qsort(search->stays, search->stay_count, sizeof(*search->stays), compare_stays);
}

/* A sleep that ends at this moment: how long it was; 0 = none ends. */
static uint64_t slept_ns(const struct recording *rec, const struct moment *moment)
{
	enum moment_type type = moment_type(moment);

	if (type == MOMENT_WAIT_END)
		return rec->waits[moment->index].end_ns - rec->waits[moment->index].start_ns;
	if (type == MOMENT_OP_END && rec->ops[moment->index].kind == KIND_SLEEP)
		return rec->ops[moment->index].end_ns - rec->ops[moment->index].start_ns;
	return 0;
}

/* Before it opened the gate so, and after it did so before: the end of its longest sleep. NULL: it
 * did not sleep. */
static const struct moment *wake_up_of(const struct search *search, const struct stay *stay)
{
	const struct moment *moments = search->timeline->moments, *found = NULL;
	uint64_t longest_ns = 0;
	size_t first = search->timeline->first[stay->opener];

	for (size_t i = timeline_at(search->timeline, stay->opener, stay->open_ns); i-- > first;) {
		uint64_t ns = slept_ns(search->rec, &moments[i]);

		if (moment_type(&moments[i]) == MOMENT_LINK &&
		    search->rec->links[moments[i].index].address == stay->address)
			break;
		if (ns > longest_ns) {
			longest_ns = ns;
			found = &moments[i];
		}
	}
	return found;
}

/* The thread that ended this sleep; NO_INDEX: a timeout did, or nobody knows. */
static uint32_t waker_of(const struct search *search, const struct moment *wake_up)
{
	uint32_t link = moment_type(wake_up) == MOMENT_WAIT_END
				? search->monitors->waking_link[wake_up->index]
				: NO_INDEX;

	return link == NO_INDEX ? NO_INDEX : search->rec->links[link].thread;
}

/* All of them began after this, and none belongs to who asked for it. */
static bool are_halted(const struct search *search, const struct stay *stays, size_t count,
		       const struct moment *wake_up)
{
	uint32_t waker = waker_of(search, wake_up);

	for (size_t i = 0; i < count; i++) {
		const struct rec_wait *wait = &search->rec->waits[stays[i].wait];

		if (wait->start_ns < wake_up->at_ns || wait->thread == waker)
			return false;
	}
	return true;
}

/* After this moment, and before it waited, its thread began or the opener woke it. */
static bool was_sent(const struct search *search, const struct stay *stay, uint64_t after_ns)
{
	const struct timeline *timeline = search->timeline;
	const struct rec_wait *wait = &search->rec->waits[stay->wait];
	size_t first = timeline->first[wait->thread];

	for (size_t i = timeline_at(timeline, wait->thread, wait->start_ns); i-- > first;) {
		const struct moment *moment = &timeline->moments[i];

		if (moment->at_ns < after_ns)
			return false;
		if (waker_of(search, moment) == stay->opener)
			return true;
	}
	uint32_t life = search->rec->threads[wait->thread].op;

	return life == NO_INDEX || search->rec->ops[life].start_ns >= after_ns;
}

/* One of these waits came about without the opener. */
static bool is_by_chance(const struct search *search, const struct stay *stays, size_t count,
			 const struct moment *wake_up)
{
	for (size_t i = 0; i < count; i++)
		if (!was_sent(search, &stays[i], wake_up->at_ns))
			return true;
	return false;
}

static size_t of_one_signal(const struct stay *stays, size_t count)
{
	size_t end = 1;

	while (end < count && stays[end].link == stays[0].link)
		end++;
	return end;
}

static uint64_t length_of(const struct search *search, uint32_t thread)
{
	const struct timeline *timeline = search->timeline;
	size_t first = timeline->first[thread], end = timeline->first[thread + 1];

	return end > first ? timeline->moments[end - 1].at_ns - timeline->moments[first].at_ns : 0;
}

/* Whether one thread opened this gate, and all that waited there were halted, and since when. */
static bool is_gate(const struct search *search, struct stay *stays, size_t count)
{
	uint64_t closed_ns = 0, length_ns = length_of(search, stays[0].opener);
	size_t chances = 0;

	if (stays[0].opener != stays[count - 1].opener ||
	    addresses_find(&search->waited, stays[0].opener, stays[0].address) != NO_INDEX)
		return false;
	for (size_t i = 0, part; i < count; i += part) {
		part = of_one_signal(stays + i, count - i);
		const struct moment *wake_up = wake_up_of(search, &stays[i]);

		if (!wake_up || !are_halted(search, stays + i, part, wake_up))
			return false;
		stays[i].begin_ns = wake_up->at_ns;
		closed_ns += stays[i].open_ns - wake_up->at_ns;
		chances += is_by_chance(search, stays + i, part, wake_up);
	}
	return pow((double)closed_ns / (double)length_ns, (double)chances) <= assume.halted_chance;
}

static void halt_add(struct search *search, const struct stay *stays, size_t count)
{
	struct halts *halts = search->halts;

	halts->halts = memory_grow(halts->halts, &search->halt_capacity, halts->count + 1,
				   sizeof(*halts->halts));
	halts->halts[halts->count++] =
		(struct halt){ stays->begin_ns, stays->opener, stays->link,
			       (uint32_t)halts->halted_count, (uint32_t)count };
	halts->halted = memory_grow(halts->halted, &search->halted_capacity,
				    halts->halted_count + count, sizeof(*halts->halted));
	for (size_t i = 0; i < count; i++) {
		const struct rec_wait *wait = &search->rec->waits[stays[i].wait];
		uint64_t from_ns =
			wait->start_ns > stays[i].open_ns ? wait->start_ns : stays[i].open_ns;

		halts->halted[halts->halted_count++] =
			(struct halted){ wait->thread, wait->start_ns - stays->begin_ns,
					 wait->end_ns > from_ns ? wait->end_ns - from_ns : 0 };
		halts->is_halted[stays[i].wait] = true;
	}
}

static int compare_halts(const void *left, const void *right)
{
	const struct halt *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	return a->link < b->link ? -1 : a->link > b->link;
}

static void gate_find(struct search *search, struct stay *stays, size_t count)
{
	if (!is_gate(search, stays, count))
		return;
	for (size_t i = 0, part; i < count; i += part) {
		part = of_one_signal(stays + i, count - i);
		halt_add(search, stays + i, part);
	}
}

void halts_build(struct halts *halts, const struct recording *rec, const struct timeline *timeline,
		 const struct monitors *monitors, const struct meetings *meetings)
{
	struct search search = { .rec = rec,
				 .timeline = timeline,
				 .monitors = monitors,
				 .meetings = meetings,
				 .halts = halts };

	*halts = (struct halts){
		.of_link = memory_new(rec->link_count, sizeof(*halts->of_link)),
		.is_halted = memory_new(rec->wait_count, sizeof(*halts->is_halted)),
	};
	memset(halts->of_link, 0xff, rec->link_count * sizeof(*halts->of_link));
	stays_find(&search);
	for (size_t i = 0, end; i < search.stay_count; i = end) {
		for (end = i + 1; end < search.stay_count &&
				  search.stays[end].process == search.stays[i].process &&
				  search.stays[end].address == search.stays[i].address;)
			end++;
		gate_find(&search, search.stays + i, end - i);
	}
	if (halts->count)
		qsort(halts->halts, halts->count, sizeof(*halts->halts), compare_halts);
	for (size_t i = 0; i < halts->count; i++)
		halts->of_link[halts->halts[i].link] = (uint32_t)i;
	free(search.stays);
	addresses_free(&search.waited);
}

void halts_free(struct halts *halts)
{
	free(halts->halts);
	free(halts->halted);
	free(halts->of_link);
	free(halts->is_halted);
}

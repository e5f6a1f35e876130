/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds locks made of futexes; futexlocks.h has the contract.
 *
 * Method. Waits at an address and wakes of it are gone through in order of time. A thread that came
 * out of a wait and wakes another one before it waits again had the lock in between. For a thread
 * that has waited gives the lock back by such a call. One that waits again instead came too late,
 * and had not got it. The address is a lock's if most waits lead to a hold, and next to no hold
 * begins before the last one has ended. A thread that parks wakes nobody there, and threads that
 * take from a queue overlap.
 *
 * A wake without a wait before is by a thread that found the lock free. It had it since before the
 * other one began to wait, and for as long as is usual, but only since the last hold. As no call
 * takes the lock, that was before or after the call which it was in then.
 */
#include "futexlocks_parts.h"

#include "base/assumptions.h"
#include "base/bound.h"
#include "base/memory.h"
#include "format.h"
#include "recording/words.h"

#include <stdlib.h>

/* A wait by its end, or a wake. */
struct event {
	uint64_t address;
	uint64_t at_ns;
	uint32_t process;
	uint32_t index; /* of the wait or link */
	bool is_wait;
};

struct hold {
	uint64_t from_ns; /* 0 = not known */
	uint64_t to_ns;
	uint32_t thread;
	uint32_t wait; /* by which the thread got it; NO_INDEX = it found it free */
	uint32_t link; /* by which it gave it back */
};

/* A hold that began unseen. */
struct unseen {
	uint64_t from_ns;
	uint64_t least_ns; /* the lock's last hold ended then */
	uint64_t most_ns;  /* somebody began to wait for it then */
	uint32_t thread;
	uint32_t op;
};

struct search {
	struct recording *rec;
	struct event *events;
	size_t count;
	size_t capacity;
	struct hold *holds; /* of the address, in order of their ends */
	size_t hold_count;
	size_t hold_capacity;
	uint32_t *got_by; /* by thread: its last wait, NO_INDEX = it had none since it woke */
	uint64_t *usual_ns;
	size_t usual_capacity;
	size_t op_capacity;
	struct unseen *unseen;
	size_t unseen_count;
	size_t unseen_capacity;
};

static void event_add(struct search *search, uint32_t thread, const struct event *event)
{
	if (thread == NO_INDEX || !event->address)
		return;
	search->events = memory_grow(search->events, &search->capacity, search->count + 1,
				     sizeof(*search->events));
	search->events[search->count] = *event;
	search->events[search->count++].process = search->rec->threads[thread].process;
}

static int compare_events(const void *left, const void *right)
{
	const struct event *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

static void events_find(struct search *search)
{
	const struct recording *rec = search->rec;

	for (uint32_t i = 0; i < rec->wait_count; i++) {
		const struct rec_wait *wait = &rec->waits[i];

		if (wait->reason == REASON_FUTEX)
			event_add(search, wait->thread,
				  &(struct event){ wait->address, wait->end_ns, 0, i, true });
	}
	for (uint32_t i = 0; i < rec->link_count && search->count; i++) {
		const struct rec_link *link = &rec->links[i];

		if (link->kind == LINK_WAKE)
			event_add(search, link->thread,
				  &(struct event){ link->address, link->at_ns, 0, i, false });
	}
	if (search->count)
		qsort(search->events, search->count, sizeof(*search->events), compare_events);
}

static uint32_t thread_of(const struct search *search, const struct event *event)
{
	return event->is_wait ? search->rec->waits[event->index].thread
			      : search->rec->links[event->index].thread;
}

static void hold_add(struct search *search, const struct event *wake)
{
	uint32_t thread = thread_of(search, wake), wait = search->got_by[thread];

	search->holds = memory_grow(search->holds, &search->hold_capacity, search->hold_count + 1,
				    sizeof(*search->holds));
	search->holds[search->hold_count++] = (struct hold){
		.from_ns = wait == NO_INDEX ? 0 : search->rec->waits[wait].end_ns,
		.to_ns = wake->at_ns,
		.thread = thread,
		.wait = wait,
		.link = wake->index,
	};
	search->got_by[thread] = NO_INDEX;
}

/* Its holds, if it may be a lock: no wait ends by a timeout, no wake is for all, and few holds
 * begin too early. */
static bool is_lock(struct search *search, const struct event *events, size_t count)
{
	const struct recording *rec = search->rec;
	size_t waits = 0, gained = 0, early = 0;

	search->hold_count = 0;
	for (size_t i = 0; i < count; i++)
		search->got_by[thread_of(search, &events[i])] = NO_INDEX;
	for (size_t i = 0; i < count; i++) {
		uint32_t index = events[i].index;

		if (!events[i].is_wait && rec->links[index].all)
			return false;
		if (events[i].is_wait && rec->waits[index].timed_out)
			return false;
		if (!events[i].is_wait) {
			hold_add(search, &events[i]);
		} else if (!rec->waits[index].open) {
			waits++;
			search->got_by[rec->waits[index].thread] = index;
		}
	}
	for (size_t i = 0; i < search->hold_count; i++) {
		const struct hold *hold = &search->holds[i];

		gained += hold->wait != NO_INDEX;
		early += i > 0 && hold->from_ns && hold->from_ns < hold[-1].to_ns;
	}
	return waits >= assume.ended_waits && 2 * gained >= waits &&
	       (double)early <= assume.group_varies * (double)search->hold_count;
}

static int compare_numbers(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* The median of those whose begin is known. */
static uint64_t usual_hold_ns(struct search *search)
{
	size_t count = 0;

	search->usual_ns = memory_grow(search->usual_ns, &search->usual_capacity,
				       search->hold_count + 1, sizeof(*search->usual_ns));
	for (size_t i = 0; i < search->hold_count; i++)
		if (search->holds[i].from_ns)
			search->usual_ns[count++] =
				search->holds[i].to_ns - search->holds[i].from_ns;
	qsort(search->usual_ns, count, sizeof(*search->usual_ns), compare_numbers);
	return count ? search->usual_ns[count / 2] : 0;
}

/* From when a hold may have been that began unseen. `waiting_ns`: since then somebody waited. */
static uint64_t unseen_from(const struct hold *hold, uint64_t least_ns, uint64_t usual_ns,
			    uint64_t waiting_ns)
{
	uint64_t from_ns = hold->to_ns > usual_ns ? hold->to_ns - usual_ns : 0;

	if (from_ns > waiting_ns)
		from_ns = waiting_ns;
	return from_ns < least_ns ? least_ns : from_ns;
}

static void op_add(struct search *search, const struct hold *hold)
{
	struct recording *rec = search->rec;
	const struct rec_link *link = &rec->links[hold->link];
	const struct rec_wait *wait = hold->wait == NO_INDEX ? NULL : &rec->waits[hold->wait];
	size_t capacity = search->op_capacity;

	rec->ops =
		memory_grow(rec->ops, &search->op_capacity, rec->op_count + 1, sizeof(*rec->ops));
	rec->extras = memory_grow(rec->extras, &capacity, rec->op_count + 1, sizeof(*rec->extras));
	rec->ops[rec->op_count] = (struct rec_op){
		.dump_id = rec->ops[link->from].dump_id,
		.start_ns = hold->from_ns,
		.end_ns = hold->to_ns,
		.parent = link->from,
		.name = link->ident,
		.kind = KIND_HOLD,
		.work = WORK_ENGINE,
		.outcome = OUTCOME_OK,
		.thread = hold->thread,
	};
	rec->extras[rec->op_count++] = (struct rec_op_extra){
		.address = link->address,
		.stack = wait ? wait->stack : link->stack,
		.fd = -1,
	};
}

/* Of the last op. */
static void unseen_add(struct search *search, uint64_t least_ns, uint64_t most_ns)
{
	uint32_t op = (uint32_t)search->rec->op_count - 1;

	search->unseen = memory_grow(search->unseen, &search->unseen_capacity,
				     search->unseen_count + 1, sizeof(*search->unseen));
	search->unseen[search->unseen_count++] = (struct unseen){
		.from_ns = search->rec->ops[op].start_ns,
		.least_ns = least_ns,
		.most_ns = most_ns,
		.thread = search->rec->ops[op].thread,
		.op = op,
	};
}

/* `events`: those of a lock, whose holds were found. */
static void make_lock(struct search *search, const struct event *events, size_t count)
{
	struct recording *rec = search->rec;
	uint64_t usual_ns = usual_hold_ns(search), waiting_ns = UINT64_MAX;
	size_t index = search->hold_count;

	/* From the end: whoever waited at a time ended that later. */
	for (size_t i = count; i-- > 0;) {
		if (events[i].is_wait) {
			struct rec_wait *wait = &rec->waits[events[i].index];

			wait->reason = REASON_MUTEX;
			waiting_ns = wait->start_ns < waiting_ns ? wait->start_ns : waiting_ns;
			continue;
		}
		struct hold *hold = &search->holds[--index];
		uint64_t least_ns = index ? hold[-1].to_ns : 0;

		if (hold->wait == NO_INDEX)
			hold->from_ns = unseen_from(hold, least_ns, usual_ns, waiting_ns);
		if (rec->links[hold->link].from == NO_INDEX)
			continue;
		op_add(search, hold);
		if (hold->wait == NO_INDEX)
			unseen_add(search, least_ns, waiting_ns);
	}
}

static int compare_unseen(const void *left, const void *right)
{
	const struct unseen *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

/* The nearer end of the call that it falls into, if it may have begun then. A hold that ends in
 * that call begins no later than it ends. */
static uint64_t out_of_call(const struct unseen *unseen, const struct rec_op *call, uint64_t to_ns)
{
	bool is_late = call->end_ns - unseen->from_ns < unseen->from_ns - call->start_ns;

	if (call->start_ns < unseen->least_ns || (is_late && call->end_ns <= unseen->most_ns))
		return call->end_ns < to_ns ? call->end_ns : to_ns;
	return call->start_ns;
}

/* Holds that began unseen begin in no call. */
static void leave_calls(struct search *search)
{
	struct recording *rec = search->rec;

	if (search->unseen_count)
		qsort(search->unseen, search->unseen_count, sizeof(*search->unseen),
		      compare_unseen);
	for (size_t i = 0; i < rec->op_count && search->unseen_count; i++) {
		const struct rec_op *call = &rec->ops[i];
		struct unseen key = { .from_ns = call->start_ns, .thread = call->thread };

		if (!words_is_call(call->kind))
			continue;
		size_t at = bound_lower(&key, search->unseen, search->unseen_count, sizeof(key),
					compare_unseen);

		for (; at < search->unseen_count; at++) {
			const struct unseen *unseen = &search->unseen[at];

			if (unseen->thread != call->thread || unseen->from_ns >= call->end_ns)
				break;
			struct rec_op *hold = &rec->ops[unseen->op];

			hold->start_ns = out_of_call(unseen, call, hold->end_ns);
		}
	}
}

void futex_locks_find(struct recording *rec)
{
	struct search search = { .rec = rec, .op_capacity = rec->op_count };
	size_t first_hold = rec->op_count;

	if (rec->extras)
		events_find(&search);
	search.got_by = memory_new(rec->thread_count, sizeof(*search.got_by));
	for (size_t first = 0, end; first < search.count; first = end) {
		const struct event *events = &search.events[first];

		for (end = first + 1; end < search.count; end++)
			if (search.events[end].process != events->process ||
			    search.events[end].address != events->address)
				break;
		if (is_lock(&search, events, end - first))
			make_lock(&search, events, end - first);
	}
	leave_calls(&search);
	futex_unseen_find(rec, first_hold, search.op_capacity);
	free(search.unseen);
	free(search.events);
	free(search.holds);
	free(search.usual_ns);
	free(search.got_by);
}

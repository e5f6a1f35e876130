/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds locks made of futexes; futexlocks.h has the contract.
 *
 * Method. Waits at an address and wakes of it are gone through in order of time. A thread that came
 * out of a wait and wakes another one before it waits again had the lock in between. For a thread
 * that has waited gives the lock back by such a call. One that waits again instead came too late,
 * and had not got it. The addresses of a family are locks if most waits there lead to a hold. And
 * next to no hold begins before the last one there has ended. A thread that parks wakes nobody, and
 * threads that take from a queue overlap.
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

struct evidence {
	size_t waits;
	size_t gained; /* waits that lead to a hold */
	size_t holds;
	size_t early; /* holds that begin before the last one has ended */
};

struct search {
	struct recording *rec;
	struct futex_event *events;
	size_t count;
	size_t capacity;
	struct hold *holds; /* of the address, in order of their ends */
	size_t hold_count;
	size_t hold_capacity;
	uint64_t *since_ns; /* by thread: it has waited from then on */
	bool *waits_on;     /* by thread: it waits again */
	uint32_t *got_by;   /* by thread: its last wait, NO_INDEX = it had none since it woke */
	uint64_t *usual_ns;
	size_t usual_capacity;
	size_t op_capacity;
	uint64_t *came_ns; /* by hold that was added: when its thread began to wait, 0 = never */
	size_t came_count;
	size_t came_capacity;
	struct unseen *unseen;
	size_t unseen_count;
	size_t unseen_capacity;
};

static void event_add(struct search *search, uint32_t thread, const struct futex_event *event)
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
	const struct futex_event *a = left, *b = right;

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
				  &(struct futex_event){ wait->address, wait->end_ns, 0, i, true });
	}
	for (uint32_t i = 0; i < rec->link_count && search->count; i++) {
		const struct rec_link *link = &rec->links[i];

		if (link->kind == LINK_WAKE)
			event_add(search, link->thread,
				  &(struct futex_event){ link->address, link->at_ns, 0, i, false });
	}
	if (search->count)
		qsort(search->events, search->count, sizeof(*search->events), compare_events);
}

static uint32_t thread_of(const struct search *search, const struct futex_event *event)
{
	return event->is_wait ? search->rec->waits[event->index].thread
			      : search->rec->links[event->index].thread;
}

static void hold_add(struct search *search, const struct futex_event *wake)
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

/* Its holds. False: a wait ends by a timeout, or a wake is for all. */
static bool holds_find(struct search *search, const struct futex_event *events, size_t count,
		       struct evidence *evidence)
{
	const struct recording *rec = search->rec;

	search->hold_count = 0;
	for (size_t i = 0; i < count; i++)
		search->got_by[thread_of(search, &events[i])] = NO_INDEX;
	for (size_t i = 0; i < count; i++) {
		uint32_t index = events[i].index;

		if (events[i].is_wait ? rec->waits[index].timed_out : rec->links[index].all)
			return false;
		if (!events[i].is_wait) {
			hold_add(search, &events[i]);
		} else if (!rec->waits[index].open) {
			evidence->waits++;
			search->got_by[rec->waits[index].thread] = index;
		}
	}
	for (size_t i = 0; i < search->hold_count; i++) {
		const struct hold *hold = &search->holds[i];

		evidence->gained += hold->wait != NO_INDEX;
		evidence->early += i > 0 && hold->from_ns && hold->from_ns < hold[-1].to_ns;
	}
	evidence->holds += search->hold_count;
	return true;
}

static bool are_locks(const struct evidence *evidence)
{
	return evidence->waits >= assume.ended_waits && 2 * evidence->gained >= evidence->waits &&
	       (double)evidence->early <= assume.group_varies * (double)evidence->holds;
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
	search->came_ns = memory_grow(search->came_ns, &search->came_capacity,
				      search->came_count + 1, sizeof(*search->came_ns));
	search->came_ns[search->came_count++] =
		hold->wait == NO_INDEX ? 0 : search->rec->waits[hold->wait].start_ns;

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

/* A thread that was woken, came too late and waited again has waited once, from the first time on.
 * Its waits before the last one are of no length, at the begin of that. Each pass leaves clean what
 * the next one needs. */
static void waits_join(struct search *search, const struct futex_event *events, size_t count)
{
	uint64_t *since_ns = search->since_ns;
	bool *waits_on = search->waits_on;

	for (size_t i = 0; i < count; i++) {
		uint32_t thread = thread_of(search, &events[i]);

		waits_on[thread] = false;
		if (!events[i].is_wait) {
			since_ns[thread] = 0;
			continue;
		}
		struct rec_wait *wait = &search->rec->waits[events[i].index];
		if (!since_ns[thread])
			since_ns[thread] = wait->start_ns;
		wait->start_ns = since_ns[thread];
	}
	for (size_t i = count; i-- > 0;) {
		uint32_t thread = thread_of(search, &events[i]);

		if (events[i].is_wait && waits_on[thread]) {
			struct rec_wait *wait = &search->rec->waits[events[i].index];

			wait->end_ns = wait->start_ns;
		}
		since_ns[thread] = 0;
		waits_on[thread] = events[i].is_wait;
	}
}

/* `events`: those of a lock, whose holds were found. */
static void make_lock(struct search *search, const struct futex_event *events, size_t count)
{
	struct recording *rec = search->rec;
	uint64_t usual_ns = usual_hold_ns(search), waiting_ns = UINT64_MAX;
	size_t index = search->hold_count;

	waits_join(search, events, count);
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

/* Where one is no lock, none is. */
static void family_tries(struct search *search, const struct futex_group *groups, size_t count)
{
	struct evidence evidence = { 0 };

	for (size_t i = 0; i < count; i++)
		if (!holds_find(search, &search->events[groups[i].first],
				groups[i].end - groups[i].first, &evidence))
			return;
	if (!are_locks(&evidence))
		return;
	for (size_t i = 0; i < count; i++) {
		const struct futex_event *events = &search->events[groups[i].first];
		size_t event_count = groups[i].end - groups[i].first;

		holds_find(search, events, event_count, &evidence);
		make_lock(search, events, event_count);
	}
}

void futex_locks_find(struct recording *rec)
{
	struct search search = { .rec = rec, .op_capacity = rec->op_count };
	struct futex_holds holds = { .first = rec->op_count };
	size_t group_count, end_capacity = 0;

	if (rec->extras)
		events_find(&search);
	search.got_by = memory_new(rec->thread_count, sizeof(*search.got_by));
	search.since_ns = memory_new(rec->thread_count, sizeof(*search.since_ns));
	search.waits_on = memory_new(rec->thread_count, sizeof(*search.waits_on));
	struct futex_group *groups =
		futex_groups_find(rec, search.events, search.count, &group_count);
	for (size_t first = 0, end; first < group_count; first = end) {
		size_t known = rec->op_count;

		for (end = first + 1; end < group_count; end++)
			if (groups[end].family != groups[first].family)
				break;
		family_tries(&search, &groups[first], end - first);
		if (rec->op_count == known)
			continue;
		holds.family_ends = memory_grow(holds.family_ends, &end_capacity,
						holds.family_count + 1, sizeof(size_t));
		holds.family_ends[holds.family_count++] = rec->op_count;
	}
	leave_calls(&search);
	holds.came_ns = search.came_ns;
	holds.op_capacity = search.op_capacity;
	futex_unseen_find(rec, &holds);
	free(holds.family_ends);
	free(groups);
	free(search.came_ns);
	free(search.unseen);
	free(search.events);
	free(search.holds);
	free(search.usual_ns);
	free(search.got_by);
	free(search.since_ns);
	free(search.waits_on);
}

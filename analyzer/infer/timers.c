/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the waits and polls that are sleeps; timers.h has the contract.
 *
 * Method. A runtime may have no other way to sleep than to wait with a timeout. Thread.sleep of
 * Java is a wait for a condition, setTimeout of node a poll. Such a wait is for an object that
 * never gets signalled. From its initialiser to the next one, all waits for it ended by their
 * timeouts. A poll is one from a call site where no poll ever found anything. A single success
 * shows that others may end it, but for a permit that was there at once. A library may make an
 * object for each wait: then a success of the same thread at the same call site shows it, too. A
 * thread may have one object for all its waits, as those of Ruby do. Then the call site alone tells
 * its sleeps from the others. An interpreter has one site for the waits of all its threads. The
 * last wait of a thread there may be the one that tells it to stop. The timeouts before it are
 * sleeps, if it did something after them. Those that it went on from at once were for what ended
 * the last one. A success that it went on from at once was none: it was woken for something else.
 *
 * Where a wait gives back a mutex meanwhile, the sleep ends when the thread has it again.
 *
 * An event loop polls for what comes first, data or its next timer. So its polls stay polls. Those
 * that ended in vain are told apart if the thread then wrote something, or woke another one. They
 * waited for a timer, which something was put off to. After the others the loop only looked around.
 */
#include "timers.h"

#include <stdlib.h>

#include "base/assumptions.h"
#include "base/bound.h"
#include "base/memory.h"
#include "flows.h"
#include "format.h"
#include "recording/addresses.h"
#include "stopped.h"

/* Waits for one object, or of one thread from a call site, or polls from one. */
struct place {
	uint32_t owner;   /* process; of waits from a site: the thread */
	uint32_t name;    /* of the call; of an object's: 0 */
	uint64_t address; /* of the object; else the stack */
	uint64_t at_ns;
	uint32_t index; /* of the wait or op; NO_INDEX: here the object is made */
	bool has_timed_out;
};

struct places {
	struct place *places;
	size_t count;
};

static int compare_places(const void *left, const void *right)
{
	const struct place *a = left, *b = right;
	if (a->owner != b->owner)
		return a->owner < b->owner ? -1 : 1;
	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

/* The second one comes after the first. */
static bool is_same_place(const struct place *a, const struct place *b)
{
	return b->index != NO_INDEX && a->owner == b->owner && a->name == b->name &&
	       a->address == b->address;
}

static bool may_sleep(const struct rec_wait *wait)
{
	return wait->thread != NO_INDEX && wait->address &&
	       (wait->reason == REASON_COND || wait->reason == REASON_SEM ||
		wait->reason == REASON_FUTEX);
}

static void find_sites(struct places *places, const struct recording *recording)
{
	places->places = memory_new(recording->wait_count, sizeof(*places->places));
	for (uint32_t i = 0; i < recording->wait_count; i++) {
		const struct rec_wait *wait = &recording->waits[i];
		if (may_sleep(wait) && wait->stack && wait->end_ns > wait->start_ns)
			places->places[places->count++] =
				(struct place){ wait->thread,   wait->name, wait->stack,
						wait->start_ns, i,          wait->timed_out };
	}
}

static void find_waits(struct places *places, const struct recording *recording)
{
	places->places =
		memory_new(recording->wait_count + recording->link_count, sizeof(*places->places));
	for (size_t i = 0; i < recording->link_count; i++) {
		const struct rec_link *link = &recording->links[i];
		if (link->kind == LINK_INIT && link->thread != NO_INDEX)
			places->places[places->count++] =
				(struct place){ recording->threads[link->thread].process,
						0,
						link->address,
						link->at_ns,
						NO_INDEX,
						true };
	}
	for (uint32_t i = 0; i < recording->wait_count; i++) {
		const struct rec_wait *wait = &recording->waits[i];
		if (may_sleep(wait) && wait->end_ns > wait->start_ns)
			places->places[places->count++] =
				(struct place){ recording->threads[wait->thread].process,
						0,
						wait->address,
						wait->start_ns,
						i,
						wait->timed_out };
	}
}

/* It took its time, and found nothing. A wait for signals fails then. */
static bool has_timed_out(const struct recording *recording, uint32_t poll)
{
	const struct rec_op *op = &recording->ops[poll];
	bool fails = strcmp(recording->strings[op->name], "sigtimedwait") == 0;
	return !recording->extras[poll].amount && op->end_ns > op->start_ns &&
	       op->outcome == (fails ? OUTCOME_ERROR : OUTCOME_OK);
}

static void find_polls(struct places *places, const struct recording *recording)
{
	places->places = memory_new(recording->op_count, sizeof(*places->places));
	for (uint32_t i = 0; i < recording->op_count; i++) {
		const struct rec_op *op = &recording->ops[i];
		if (op->kind == KIND_POLL && op->thread != NO_INDEX && !recording->extras[i].open)
			places->places[places->count++] =
				(struct place){ recording->threads[op->thread].process,
						op->name,
						recording->extras[i].stack,
						op->start_ns,
						i,
						has_timed_out(recording, i) };
	}
}

/* Whether all timed out at its place, by wait or op; those of no place are left alone. */
static void tell_sleeps(bool *is_sleep, struct places *places)
{
	if (places->count)
		qsort(places->places, places->count, sizeof(*places->places), compare_places);
	for (size_t first = 0, end; first < places->count; first = end) {
		bool all = true;
		for (end = first;
		     end == first || (end < places->count &&
				      is_same_place(&places->places[first], &places->places[end]));
		     end++)
			all = all && places->places[end].has_timed_out;
		for (size_t i = first; i < end; i++)
			if (places->places[i].index != NO_INDEX)
				is_sleep[places->places[i].index] = all;
	}
	free(places->places);
}

/* --- waits that a thread goes on with --- */

/* Something that a thread did in between: not a hold, and no wait. */
struct doing {
	uint64_t at_ns;
	uint32_t thread;
};

struct doings {
	struct doing *doings;
	size_t count;
};

static int compare_doings(const void *left, const void *right)
{
	const struct doing *a = left, *b = right;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

static void find_doings(struct doings *doings, const struct recording *recording)
{
	doings->doings = memory_new(recording->op_count, sizeof(*doings->doings));
	for (size_t i = 0; i < recording->op_count; i++) {
		const struct rec_op *op = &recording->ops[i];
		if (op->thread != NO_INDEX && op->kind != KIND_HOLD)
			doings->doings[doings->count++] =
				(struct doing){ op->start_ns, op->thread };
	}
	if (doings->count)
		qsort(doings->doings, doings->count, sizeof(*doings->doings), compare_doings);
}

static bool does_between(const struct doings *doings, uint32_t thread, uint64_t from_ns,
			 uint64_t to_ns)
{
	const struct doing from = { from_ns, thread };
	size_t next =
		bound_lower(&from, doings->doings, doings->count, sizeof(from), compare_doings);
	return next < doings->count && doings->doings[next].thread == thread &&
	       doings->doings[next].at_ns < to_ns;
}

static bool is_taken_up(const struct doings *doings, const struct rec_wait *wait,
			const struct rec_wait *next)
{
	uint64_t wait_ns = wait->end_ns - wait->start_ns, next_ns = next->end_ns - next->start_ns;
	uint64_t brief_ns = (wait_ns > next_ns ? wait_ns : next_ns) / assume.retry_parts;
	return next->start_ns <= wait->end_ns + brief_ns &&
	       !does_between(doings, wait->thread, wait->end_ns, next->start_ns);
}

/* Those from one site: none, if another thread ended one that was not the last, unless the thread
 * waited on at once. */
static void tell_sleeps_of_site(bool *is_sleep, const struct recording *recording,
				const struct doings *doings, const bool *is_stopped,
				const struct place *places, size_t count)
{
	bool all = !is_stopped[places[count - 1].index];
	bool awaits = !places[count - 1].has_timed_out;
	for (size_t i = 0; i + 1 < count; i++)
		all = all && (places[i].has_timed_out ||
			      is_taken_up(doings, &recording->waits[places[i].index],
					  &recording->waits[places[i + 1].index]));
	is_sleep[places[count - 1].index] = all && !awaits;
	for (size_t i = count - 1; i-- > 0;) {
		awaits = awaits && is_taken_up(doings, &recording->waits[places[i].index],
					       &recording->waits[places[i + 1].index]);
		is_sleep[places[i].index] = all && !awaits;
	}
}

static void tell_sleeps_of_sites(bool *is_sleep, const struct recording *recording)
{
	struct places sites = { .count = 0 };
	struct doings doings = { .count = 0 };
	bool *is_stopped = stopped_find(recording);
	find_sites(&sites, recording);
	find_doings(&doings, recording);
	if (sites.count)
		qsort(sites.places, sites.count, sizeof(*sites.places), compare_places);
	for (size_t first = 0, end; first < sites.count; first = end) {
		for (end = first + 1;
		     end < sites.count && is_same_place(&sites.places[first], &sites.places[end]);)
			end++;
		tell_sleeps_of_site(is_sleep, recording, &doings, is_stopped, &sites.places[first],
				    end - first);
	}
	free(is_stopped);
	free(sites.places);
	free(doings.doings);
}

static void polls_become_sleeps(struct recording *recording)
{
	struct places places = { .count = 0 };
	bool *is_sleep = memory_new(recording->op_count, sizeof(*is_sleep));
	find_polls(&places, recording);
	tell_sleeps(is_sleep, &places);
	for (size_t i = 0; i < recording->op_count; i++)
		if (is_sleep[i])
			recording->ops[i].kind = KIND_SLEEP;
	free(is_sleep);
}

/* --- polls of event loops --- */

struct event {
	uint64_t start_ns;
	uint32_t thread;
	uint32_t poll; /* NO_INDEX: it does something that others see */
};

static int compare_events(const void *left, const void *right)
{
	const struct event *a = left, *b = right;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static bool is_wait_in_vain(const struct recording *recording, uint32_t poll)
{
	const struct rec_op *op = &recording->ops[poll];
	return has_timed_out(recording, poll) && op->end_ns - op->start_ns > assume.copy;
}

/* It wakes a thread of a pool, as one that was to look for work. */
static bool has_woken(const struct rec_link *link)
{
	return link->kind == LINK_WAKE && link->count && link->thread != NO_INDEX;
}

/* It looks around between two things that the loop does, as asyncio's. */
static bool is_brief_look(const struct recording *recording, uint32_t poll)
{
	const struct rec_op *op = &recording->ops[poll];
	return op->kind == KIND_POLL && !recording->extras[poll].amount &&
	       op->end_ns - op->start_ns <= assume.copy;
}

/* Polls, and writes and wakes, by thread and time. To be freed. */
static struct event *events_of_loops(const struct recording *recording, size_t *count)
{
	struct event *events =
		memory_new(recording->op_count + recording->link_count, sizeof(*events));
	*count = 0;
	for (uint32_t i = 0; i < recording->op_count; i++) {
		const struct rec_op *op = &recording->ops[i];
		if (op->thread == NO_INDEX || recording->extras[i].open ||
		    is_brief_look(recording, i))
			continue;
		bool writes = op->kind == KIND_IO &&
			      (flow_direction_of(recording->strings[op->name]) == FLOW_WRITE ||
			       strcmp(recording->strings[op->name], "connect") == 0);
		if (op->kind == KIND_POLL || writes)
			events[(*count)++] =
				(struct event){ op->start_ns, op->thread, writes ? NO_INDEX : i };
	}
	for (size_t i = 0; i < recording->link_count; i++)
		if (has_woken(&recording->links[i]))
			events[(*count)++] = (struct event){ recording->links[i].at_ns,
							     recording->links[i].thread, NO_INDEX };
	qsort(events, *count, sizeof(*events), compare_events);
	return events;
}

/* By op: calls in which a thread waited for a child's end. To be freed. */
static bool *calls_for_children(const struct recording *recording)
{
	bool *is_for_child = memory_new(recording->op_count, sizeof(*is_for_child));
	for (size_t i = 0; i < recording->wait_count; i++)
		if (recording->waits[i].reason == REASON_EXEC &&
		    recording->waits[i].waiter != NO_INDEX)
			is_for_child[recording->waits[i].waiter] = true;
	return is_for_child;
}

static void polls_await_timers(struct recording *recording)
{
	size_t count;
	bool *is_for_child = calls_for_children(recording);
	struct event *events = events_of_loops(recording, &count);
	for (size_t i = 1; i < count; i++) {
		uint32_t poll = events[i - 1].poll;
		if (events[i].thread == events[i - 1].thread && events[i].poll == NO_INDEX &&
		    poll != NO_INDEX && is_wait_in_vain(recording, poll) && !is_for_child[poll])
			recording->extras[poll].timer = true;
	}
	free(is_for_child);
	free(events);
}

/* --- waits --- */

static void op_of_wait(struct recording *recording, uint32_t op, const struct rec_wait *wait)
{
	const struct rec_op *waiter = &recording->ops[wait->waiter];
	recording->ops[op] = (struct rec_op){ .dump_id = waiter->dump_id,
					      .start_ns = wait->start_ns,
					      .end_ns = wait->end_ns,
					      .parent = wait->waiter,
					      .name = wait->name,
					      .client = waiter->client,
					      .kind = KIND_SLEEP,
					      .work = WORK_EXTERNAL,
					      .outcome = OUTCOME_OK,
					      .thread = wait->thread };
	recording->extras[op] =
		(struct rec_op_extra){ .amount = wait->asked_ns, .stack = wait->stack, .fd = -1 };
}

static int compare_waits(const void *left, const void *right)
{
	const struct rec_wait *a = left, *b = right;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* Of the new ops, by thread and time, the one that the hold begins in; NULL = none. */
static struct rec_op *sleep_of(struct rec_op *sleeps, size_t count, const struct rec_op *hold)
{
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (sleeps[middle].thread < hold->thread ||
		    (sleeps[middle].thread == hold->thread &&
		     sleeps[middle].end_ns < hold->start_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && sleeps[low].thread == hold->thread &&
			       sleeps[low].start_ns <= hold->start_ns
		       ? &sleeps[low]
		       : NULL;
}

static void end_at_holds(struct recording *recording, size_t first)
{
	struct rec_op *sleeps = recording->ops + first;
	size_t count = recording->op_count - first;
	for (size_t i = 0; i < first; i++) {
		const struct rec_op *hold = &recording->ops[i];
		if (hold->kind != KIND_HOLD || hold->thread == NO_INDEX)
			continue;
		struct rec_op *sleep = sleep_of(sleeps, count, hold);
		if (sleep && hold->start_ns > sleep->start_ns)
			sleep->end_ns = hold->start_ns;
	}
}

/* By wait: no other thread ever waits for its object. To be freed. */
static bool *waits_for_own(const struct recording *recording)
{
	struct addresses objects = { 0 };
	uint32_t *objects_of = memory_new(recording->wait_count, sizeof(*objects_of));
	uint32_t *waiters = memory_new(recording->wait_count, sizeof(*waiters));
	bool *is_shared = memory_new(recording->wait_count, sizeof(*is_shared));
	bool *is_own = memory_new(recording->wait_count, sizeof(*is_own));
	for (size_t i = 0; i < recording->wait_count; i++) {
		const struct rec_wait *wait = &recording->waits[i];
		if (!may_sleep(wait))
			continue;
		size_t known = objects.count;
		uint32_t object = addresses_add(&objects, recording->threads[wait->thread].process,
						wait->address);
		if (object == known)
			waiters[object] = wait->thread;
		is_shared[object] |= waiters[object] != wait->thread;
		objects_of[i] = object;
	}
	for (size_t i = 0; i < recording->wait_count; i++)
		is_own[i] = may_sleep(&recording->waits[i]) && !is_shared[objects_of[i]];
	addresses_free(&objects);
	free(objects_of);
	free(waiters);
	free(is_shared);
	return is_own;
}

/* Takes the waits that are sleeps out of the others; by thread and time. To be freed. */
static struct rec_wait *waits_take(struct recording *recording, size_t *count)
{
	struct rec_wait *taken = memory_new(recording->wait_count, sizeof(*taken));
	struct places places = { .count = 0 };
	size_t kept = 0;
	bool *is_sleep = memory_new(recording->wait_count, sizeof(*is_sleep));
	bool *is_sleep_site = memory_new(recording->wait_count, sizeof(*is_sleep_site));
	bool *is_own = waits_for_own(recording);
	find_waits(&places, recording);
	tell_sleeps(is_sleep, &places);
	tell_sleeps_of_sites(is_sleep_site, recording);
	*count = 0;
	for (size_t i = 0; i < recording->wait_count; i++) {
		const struct rec_wait wait = recording->waits[i];
		bool is_timed =
			wait.stack ? is_sleep_site[i] && (is_sleep[i] || is_own[i]) : is_sleep[i];
		if (is_timed && wait.waiter != NO_INDEX)
			taken[(*count)++] = wait;
		else
			recording->waits[kept++] = wait;
	}
	recording->wait_count = kept;
	if (*count)
		qsort(taken, *count, sizeof(*taken), compare_waits);
	free(is_sleep);
	free(is_sleep_site);
	free(is_own);
	return taken;
}

static void waits_become_sleeps(struct recording *recording)
{
	size_t count, first = recording->op_count, capacity = first, extra_capacity = first;
	struct rec_wait *waits = waits_take(recording, &count);
	if (count) {
		recording->ops = memory_grow(recording->ops, &capacity, first + count,
					     sizeof(*recording->ops));
		recording->extras = memory_grow(recording->extras, &extra_capacity, first + count,
						sizeof(*recording->extras));
		for (size_t i = 0; i < count; i++)
			op_of_wait(recording, (uint32_t)recording->op_count++, &waits[i]);
		end_at_holds(recording, first);
	}
	free(waits);
}

void timers_find(struct recording *recording)
{
	if (!recording->extras)
		return;
	polls_become_sleeps(recording);
	polls_await_timers(recording);
	waits_become_sleeps(recording);
}

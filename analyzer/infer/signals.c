/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the calls that a recorded signal put an end to; signals.h has the contract.
 *
 * Method. A call may be for signals alone: sigwait, or a read of a signalfd. Any other call may be
 * interrupted by one. The signal that ended it is the first one during it to its thread or
 * process. Where the number that came is known, others do not count. A call that found a signal
 * there has the last one before it that no other call had. Threads and processes go by the kernel's
 * numbers, which a process shares with its first thread. A signal ends one call: those that say
 * which one came are served first. Only a group's processes have one each.
 *
 * A call that a child's end put an end to is left alone. So is one during which nobody was seen to
 * send a signal: it was a timer, the terminal, or a process that was not recorded. One thread.
 */
#include "signals.h"

#include "base/bound.h"
#include "base/memory.h"
#include "format.h"
#include "recording/hosts.h"
#include "recording/timeline.h"

#include <stdlib.h>

struct sent {
	uint64_t at_ns;
	uint32_t to; /* thread or process, as the kernel numbers them; 0 = a group of processes */
	uint32_t link;
};

struct signaling {
	struct recording *rec;
	struct timeline timeline;
	struct sent *sent; /* in order of receiver, then time */
	size_t sent_count;
	bool *is_taken;    /* by link: a call found it there */
	bool *is_awaiting; /* by op: it was a wait for something else */
	size_t wait_capacity;
};

static int compare_sent(const void *left, const void *right)
{
	const struct sent *a = left, *b = right;

	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return (a->link > b->link) - (a->link < b->link);
}

static uint32_t receiver_of(const struct recording *rec, const struct rec_link *link)
{
	bool is_thread = link->to != NO_INDEX && rec->ops[link->to].kind == KIND_THREAD &&
			 rec->ops[link->to].thread != NO_INDEX;

	return is_thread ? rec->threads[rec->ops[link->to].thread].tid : (uint32_t)link->address;
}

static void sent_collect(struct signaling *signaling)
{
	const struct recording *rec = signaling->rec;
	size_t capacity = 0;

	for (uint32_t i = 0; i < rec->link_count; i++) {
		const struct rec_link *link = &rec->links[i];

		if (link->kind != LINK_SIGNAL || link->thread == NO_INDEX)
			continue;
		signaling->sent = memory_grow(signaling->sent, &capacity, signaling->sent_count + 1,
					      sizeof(*signaling->sent));
		signaling->sent[signaling->sent_count++] =
			(struct sent){ link->at_ns, receiver_of(rec, link), i };
	}
	if (signaling->sent_count)
		qsort(signaling->sent, signaling->sent_count, sizeof(*signaling->sent),
		      compare_sent);
}

/* The first signal to this receiver after that time. */
static size_t first_after(const struct signaling *signaling, uint32_t to, uint64_t at_ns)
{
	const struct sent last = { at_ns, to, UINT32_MAX };

	return bound_lower(&last, signaling->sent, signaling->sent_count, sizeof(last),
			   compare_sent);
}

/* A thread that waits for a signal, in a call that has or has not been given it. */
struct listener {
	uint64_t from_ns;
	uint64_t to_ns;
	uint32_t thread;
	uint32_t number; /* of the signal that came, 0 = not known */
};

static bool is_of(const struct signaling *signaling, size_t at, uint32_t to,
		  const struct listener *listener)
{
	const struct sent *sent = &signaling->sent[at];
	const struct rec_link *link = &signaling->rec->links[sent->link];

	return sent->to == to && link->thread != listener->thread &&
	       hosts_are_one(signaling->rec, signaling->rec->threads[link->thread].process,
			     signaling->rec->threads[listener->thread].process) &&
	       (!to || !signaling->is_taken[sent->link]) &&
	       (!listener->number || link->count == listener->number);
}

/* The earlier of two links, or the later one. */
static uint32_t choose(const struct recording *rec, uint32_t one, uint32_t other, bool is_earlier)
{
	if (one == NO_INDEX || other == NO_INDEX)
		return one == NO_INDEX ? other : one;
	return (rec->links[one].at_ns <= rec->links[other].at_ns) == is_earlier ? one : other;
}

static uint32_t sent_during(const struct signaling *signaling, uint32_t to,
			    const struct listener *listener)
{
	for (size_t at = first_after(signaling, to, listener->from_ns);
	     at < signaling->sent_count && signaling->sent[at].to == to &&
	     signaling->sent[at].at_ns <= listener->to_ns;
	     at++)
		if (is_of(signaling, at, to, listener))
			return signaling->sent[at].link;
	return NO_INDEX;
}

/* Only of a known number: any other signal is blocked, and stays there. */
static uint32_t sent_before(const struct signaling *signaling, uint32_t to,
			    const struct listener *listener)
{
	if (!listener->number)
		return NO_INDEX;
	for (size_t at = first_after(signaling, to, listener->from_ns);
	     at-- > 0 && signaling->sent[at].to == to;) {
		if (signaling->is_taken[signaling->sent[at].link])
			break;
		if (is_of(signaling, at, to, listener))
			return signaling->sent[at].link;
	}
	return NO_INDEX;
}

static uint32_t signal_for(const struct signaling *signaling, const struct listener *listener)
{
	const struct recording *rec = signaling->rec;
	const struct rec_thread *thread = &rec->threads[listener->thread];
	const uint32_t receivers[] = { thread->tid, rec->processes[thread->process].pid, 0 };
	uint32_t during = NO_INDEX, before = NO_INDEX;

	for (size_t i = 0; i < sizeof(receivers) / sizeof(receivers[0]); i++) {
		during = choose(rec, during, sent_during(signaling, receivers[i], listener), true);
		before = choose(rec, before, sent_before(signaling, receivers[i], listener), false);
	}
	return during == NO_INDEX ? before : during;
}

static bool is_of_signals(const struct recording *rec, uint32_t op)
{
	return strcmp(rec->strings[rec->ops[op].ident], "signalfd") == 0;
}

/* The call on its thread that comes next, if nothing else does: what a poll was for. */
static uint32_t call_after(const struct signaling *signaling, size_t at, size_t end)
{
	const struct timeline *timeline = &signaling->timeline;

	if (at + 2 >= end || moment_type(&timeline->moments[at + 1]) != MOMENT_OP_END)
		return NO_INDEX;
	enum moment_type type = moment_type(&timeline->moments[at + 2]);
	return type == MOMENT_OP_BEGIN || type == MOMENT_OP_POINT ? timeline->moments[at + 2].index
								  : NO_INDEX;
}

/* Whether the call that begins at a moment was ended by a signal, and by which number. */
static bool listens(const struct signaling *signaling, size_t at, size_t end, uint32_t *number)
{
	const struct recording *rec = signaling->rec;
	uint32_t op = signaling->timeline.moments[at].index;
	bool has_failed = rec->ops[op].outcome == OUTCOME_ERROR;

	*number = 0;
	if (signaling->is_awaiting[op] || rec->extras[op].open)
		return false;
	switch (rec->ops[op].kind) {
	case KIND_POLL:
		if (rec_waits_for_signal(rec, op))
			*number = (uint32_t)rec->extras[op].amount;
		uint32_t next = call_after(signaling, at, end);
		return has_failed || *number || is_of_signals(rec, op) ||
		       (next != NO_INDEX && is_of_signals(rec, next));
	case KIND_IO:
		return has_failed || is_of_signals(rec, op);
	case KIND_SLEEP:
		return has_failed;
	default:
		return false;
	}
}

static void call_begins(struct signaling *signaling, uint32_t thread, size_t at, size_t end,
			bool is_known)
{
	struct recording *rec = signaling->rec;
	const struct moment *moment = &signaling->timeline.moments[at];
	struct listener listener = { moment->at_ns, moment[1].at_ns, thread, 0 };

	if (!listens(signaling, at, end, &listener.number) || (listener.number != 0) != is_known)
		return;
	uint32_t link = signal_for(signaling, &listener);
	if (link == NO_INDEX)
		return;
	signaling->is_taken[link] = true;
	rec->waits = memory_grow(rec->waits, &signaling->wait_capacity, rec->wait_count + 1,
				 sizeof(*rec->waits));
	rec->waits[rec->wait_count++] =
		(struct rec_wait){ .start_ns = listener.from_ns,
				   .end_ns = listener.to_ns,
				   .waiter = moment->index,
				   .target = rec->links[link].from,
				   .reason = REASON_SIGNAL,
				   .thread = thread,
				   .stack = rec->extras[moment->index].stack,
				   .name = rec->ops[moment->index].name,
				   .holder = NO_INDEX,
				   .address = link };
}

static void calls_go_through(struct signaling *signaling, bool is_known)
{
	const struct timeline *timeline = &signaling->timeline;

	for (uint32_t t = 0; t < timeline->thread_count; t++) {
		size_t end = timeline->first[t + 1];

		for (size_t i = timeline->first[t]; i + 1 < end; i++)
			if (moment_type(&timeline->moments[i]) == MOMENT_OP_BEGIN)
				call_begins(signaling, t, i, end, is_known);
	}
}

static bool *waiters_of(const struct recording *rec)
{
	bool *is_awaiting = memory_new(rec->op_count, sizeof(*is_awaiting));

	for (size_t i = 0; i < rec->wait_count; i++)
		if (rec->waits[i].waiter != NO_INDEX)
			is_awaiting[rec->waits[i].waiter] = true;
	return is_awaiting;
}

void signals_find(struct recording *rec)
{
	struct signaling signaling = { .rec = rec, .wait_capacity = rec->wait_count };

	if (!rec->extras || !rec->thread_count)
		return;
	sent_collect(&signaling);
	if (signaling.sent_count) {
		signaling.is_taken = memory_new(rec->link_count, sizeof(*signaling.is_taken));
		signaling.is_awaiting = waiters_of(rec);
		timeline_build(&signaling.timeline, rec);
		calls_go_through(&signaling, true);
		calls_go_through(&signaling, false);
		timeline_free(&signaling.timeline);
		free(signaling.is_awaiting);
		free(signaling.is_taken);
	}
	free(signaling.sent);
}

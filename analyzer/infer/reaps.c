/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the calls that a child's end put an end to; reaps.h has the contract.
 *
 * Method. A parent may learn of a child's end otherwise than by waiting for it: SIGCHLD interrupts
 * a call, or a descriptor becomes ready. Then it asks for the child's status, which is there. So of
 * a child whose status was there already, the call in which its parent's thread was as it ended is
 * looked at. If that returned early or with something ready, it was a wait for the child. A program
 * goes on only when it has the status, so without such a call the child's end is waited for there.
 *
 * A parent may sleep for a while, look around, and sleep again, until the end of a child interrupts
 * a sleep. It would have interrupted each of the row: they all are waits for the child.
 *
 * A wait ends where the next thing happens on its thread, which may be a handler's doing. One
 * thread.
 */
#include "reaps.h"

#include "base/assumptions.h"
#include "base/memory.h"
#include "format.h"
#include "recording/timeline.h"

#include <assert.h>
#include <stdlib.h>

/* A child of which parent and child tell. */
struct reap {
	uint64_t ended_ns;
	uint32_t op; /* of kind exec */
};

/* The last image of a process, by what its parent calls it. */
struct ending {
	uint64_t start_ns;
	uint64_t end_ns; /* of its first thread, 0 = it had not ended */
	uint32_t client;
};

struct reaping {
	struct recording *rec;
	struct timeline timeline;
	struct ending *endings; /* in order of clients */
	size_t ending_count;
	struct reap *reaps; /* in order of ends */
	size_t reap_count;
	uint32_t *wait_of; /* by op of kind exec: the recorded wait for it */
	size_t wait_capacity;
};

static int compare_endings(const void *left, const void *right)
{
	const struct ending *a = left, *b = right;

	if (a->client != b->client)
		return a->client < b->client ? -1 : 1;
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static int compare_reaps(const void *left, const void *right)
{
	const struct reap *a = left, *b = right;

	if (a->ended_ns != b->ended_ns)
		return a->ended_ns < b->ended_ns ? -1 : 1;
	return (a->op > b->op) - (a->op < b->op);
}

static void endings_find(struct reaping *reaping)
{
	const struct recording *rec = reaping->rec;

	reaping->endings = memory_new(rec->process_count, sizeof(*reaping->endings));
	for (size_t t = 0; t < rec->thread_count; t++) {
		const struct rec_process *process = &rec->processes[rec->threads[t].process];
		uint32_t op = rec->threads[t].op;

		if (rec->threads[t].tid != process->pid || !process->client || op == NO_INDEX ||
		    reaping->ending_count == rec->process_count)
			continue;
		reaping->endings[reaping->ending_count++] =
			(struct ending){ rec->ops[op].start_ns,
					 rec->extras[op].open ? 0 : rec->ops[op].end_ns,
					 process->client };
	}
	if (reaping->ending_count)
		qsort(reaping->endings, reaping->ending_count, sizeof(*reaping->endings),
		      compare_endings);
}

/* When a process came to its end, 0 = that is not known. */
static uint64_t ended_ns(const struct reaping *reaping, uint32_t client)
{
	size_t low = 0, high = reaping->ending_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (reaping->endings[middle].client <= client)
			low = middle + 1;
		else
			high = middle;
	}
	return low && reaping->endings[low - 1].client == client ? reaping->endings[low - 1].end_ns
								 : 0;
}

static bool is_reaped(const struct recording *rec, uint32_t op)
{
	return rec->ops[op].kind == KIND_EXEC && rec->ops[op].thread != NO_INDEX &&
	       rec->ops[op].ident && !rec->extras[op].open;
}

static void reaps_collect(struct reaping *reaping)
{
	const struct recording *rec = reaping->rec;
	size_t capacity = 0;

	for (uint32_t op = 0; op < rec->op_count; op++) {
		if (!is_reaped(rec, op))
			continue;
		if (!reaping->endings)
			endings_find(reaping);
		uint64_t end_ns = ended_ns(reaping, rec->ops[op].ident);
		if (!end_ns || end_ns > rec->ops[op].end_ns)
			continue;
		reaping->reaps = memory_grow(reaping->reaps, &capacity, reaping->reap_count + 1,
					     sizeof(*reaping->reaps));
		reaping->reaps[reaping->reap_count++] = (struct reap){ end_ns, op };
	}
	if (reaping->reap_count)
		qsort(reaping->reaps, reaping->reap_count, sizeof(*reaping->reaps), compare_reaps);
}

static void waits_note(struct reaping *reaping)
{
	const struct recording *rec = reaping->rec;

	reaping->wait_of = memory_new(rec->op_count, sizeof(*reaping->wait_of));
	memset(reaping->wait_of, 0xff, rec->op_count * sizeof(*reaping->wait_of));
	for (uint32_t i = 0; i < rec->wait_count; i++)
		if (rec->waits[i].reason == REASON_EXEC && rec->waits[i].target != NO_INDEX)
			reaping->wait_of[rec->waits[i].target] = i;
}

/* A call that waited for something, and got it, or was interrupted. */
static bool may_have_waited(const struct recording *rec, uint32_t op)
{
	bool has_failed = rec->ops[op].outcome == OUTCOME_ERROR;

	switch (rec->ops[op].kind) {
	case KIND_POLL:
		return has_failed || rec->extras[op].amount;
	case KIND_SLEEP:
	case KIND_IO:
		return has_failed;
	default:
		return false;
	}
}

/* The call in which a thread was at that time, from its begin to the next moment. NULL: it was in
 * none that may have waited. */
static const struct moment *call_at(const struct reaping *reaping, uint32_t thread, uint64_t at_ns)
{
	const struct timeline *timeline = &reaping->timeline;
	size_t next = timeline_at(timeline, thread, at_ns);

	if (next == timeline->first[thread] || next == timeline->first[thread + 1])
		return NULL;
	const struct moment *moment = &timeline->moments[next - 1];

	return moment_type(moment) == MOMENT_OP_BEGIN &&
			       may_have_waited(reaping->rec, moment->index)
		       ? moment
		       : NULL;
}

static void wait_add(struct reaping *reaping, const struct rec_wait *wait)
{
	struct recording *rec = reaping->rec;

	rec->waits = memory_grow(rec->waits, &reaping->wait_capacity, rec->wait_count + 1,
				 sizeof(*rec->waits));
	rec->waits[rec->wait_count++] = *wait;
}

/* The thread called it in vain, in the same place as the call that was interrupted. */
static bool is_vain_call(const struct recording *rec, uint32_t op, uint32_t interrupted)
{
	enum kind kind = (enum kind)rec->ops[op].kind;

	return (kind == KIND_SLEEP || kind == KIND_POLL) && rec->ops[op].outcome == OUTCOME_OK &&
	       !(kind == KIND_POLL && rec->extras[op].amount) &&
	       rec->ops[op].name == rec->ops[interrupted].name &&
	       rec->extras[op].stack == rec->extras[interrupted].stack;
}

/* Between the end of a sleep and the next one is a look around, no work. */
static bool is_look(const struct rec_op *sleep, uint64_t next_ns)
{
	return (double)(next_ns - sleep->end_ns) <=
	       assume.look_gap * (double)(sleep->end_ns - sleep->start_ns);
}

/* The sleep of the row before the one that began at a moment; NULL = there is none. */
static const struct moment *sleep_before(const struct reaping *reaping, const struct moment *next,
					 uint32_t interrupted)
{
	const struct recording *rec = reaping->rec;
	uint32_t thread = rec->ops[interrupted].thread;
	const struct moment *first = &reaping->timeline.moments[reaping->timeline.first[thread]];

	for (const struct moment *moment = next; moment-- > first;) {
		enum moment_type type = moment_type(moment);

		if (type != MOMENT_OP_BEGIN && type != MOMENT_OP_END && type != MOMENT_OP_POINT)
			return NULL;
		if (type == MOMENT_OP_BEGIN && is_vain_call(rec, moment->index, interrupted))
			return is_look(&rec->ops[moment->index], next->at_ns) ? moment : NULL;
		if (rec->ops[moment->index].kind != KIND_IO &&
		    !is_vain_call(rec, moment->index, interrupted))
			return NULL;
	}
	return NULL;
}

/* Sleeps before the one that a child's end interrupted, since the child began. */
static void row_waits(struct reaping *reaping, const struct moment *call,
		      const struct rec_wait *wait)
{
	const struct recording *rec = reaping->rec;
	uint64_t from_ns = rec->ops[wait->target].start_ns;
	struct rec_wait before = *wait;

	if (rec->ops[call->index].outcome != OUTCOME_ERROR)
		return;
	for (const struct moment *sleep = call;
	     (sleep = sleep_before(reaping, sleep, call->index)) && sleep->at_ns >= from_ns;) {
		before.start_ns = sleep->at_ns;
		before.end_ns = rec->ops[sleep->index].end_ns;
		before.waiter = sleep->index;
		wait_add(reaping, &before);
	}
}

static void reap_happens(struct reaping *reaping, const struct reap *reap, uint64_t *waited_ns)
{
	const struct recording *rec = reaping->rec;
	const struct rec_op *child = &rec->ops[reap->op];
	uint32_t recorded = reaping->wait_of[reap->op];

	if (recorded != NO_INDEX && rec->waits[recorded].start_ns <= reap->ended_ns)
		return;
	uint32_t thread = recorded == NO_INDEX ? child->thread : rec->waits[recorded].thread;
	if (thread == NO_INDEX)
		return;
	const struct moment *call = call_at(reaping, thread, reap->ended_ns);
	bool is_first = call && call->at_ns >= waited_ns[thread];
	struct rec_wait wait = { .start_ns = child->end_ns,
				 .end_ns = child->end_ns,
				 .waiter = rec->threads[thread].op,
				 .target = reap->op,
				 .reason = REASON_EXEC,
				 .thread = thread,
				 .name = child->name,
				 .holder = NO_INDEX };

	if (is_first) {
		wait.start_ns = call->at_ns;
		wait.end_ns = call[1].at_ns;
		wait.waiter = call->index;
		wait.stack = rec->extras[call->index].stack;
		wait.name = rec->ops[call->index].name;
		waited_ns[thread] = wait.end_ns;
		row_waits(reaping, call, &wait);
	}
	if (is_first || recorded == NO_INDEX)
		wait_add(reaping, &wait);
}

void reaps_find(struct recording *rec)
{
	struct reaping reaping = { .rec = rec, .wait_capacity = rec->wait_count };

	if (!rec->extras || !rec->thread_count)
		return;
	reaps_collect(&reaping);
	if (reaping.reap_count) {
		uint64_t *waited_ns = memory_new(rec->thread_count, sizeof(*waited_ns));

		timeline_build(&reaping.timeline, rec);
		waits_note(&reaping);
		for (size_t i = 0; i < reaping.reap_count; i++)
			reap_happens(&reaping, &reaping.reaps[i], waited_ns);
		timeline_free(&reaping.timeline);
		free(waited_ns);
	}
	free(reaping.wait_of);
	free(reaping.reaps);
	free(reaping.endings);
}

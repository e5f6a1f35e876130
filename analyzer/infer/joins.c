/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds waits for the ends of threads; joins.h has the contract.
 *
 * Method. A thread that says by a semaphore that it ends posts it once, in the last small part of
 * its life. That post is what the other one waited for. So may a thread that tells another one to
 * end. But it waits for that one then, or it is the first of its process.
 */
#include "joins.h"

#include <stdlib.h>
#include <stdio.h>

#include "base/assumptions.h"
#include "base/memory.h"
#include "format.h"
#include "posters.h"

static bool is_last_act(const struct recording *recording, const struct rec_link *link)
{
	uint32_t op = recording->threads[link->thread].op;
	if (op == NO_INDEX)
		return false;
	const struct rec_op *life = &recording->ops[op];
	return life->end_ns >= link->at_ns &&
	       (double)(life->end_ns - link->at_ns) <=
		       assume.ended_within * (double)(life->end_ns - life->start_ns);
}

/* By thread: its last wait for another one by a permit or a join, NO_INDEX = none. */
static uint32_t *last_find(const struct recording *recording)
{
	uint32_t *last = memory_new(recording->thread_count, sizeof(*last));
	for (size_t t = 0; t < recording->thread_count; t++)
		last[t] = NO_INDEX;
	for (uint32_t i = 0; i < recording->wait_count; i++) {
		const struct rec_wait *wait = &recording->waits[i];
		if (wait->thread == NO_INDEX || wait->target == NO_INDEX || wait->timed_out ||
		    wait->end_ns == wait->start_ns ||
		    (wait->reason != REASON_SEM && wait->reason != REASON_JOIN))
			continue;
		uint32_t *of = &last[wait->thread];
		if (*of == NO_INDEX || recording->waits[*of].end_ns <= wait->end_ns)
			*of = i;
	}
	return last;
}

/* The thread whose post that is waits for the other one afterwards. */
static bool waits_for(const struct recording *recording, const struct rec_link *post,
		      uint32_t other, const uint32_t *last)
{
	uint32_t wait = last[post->thread];
	return wait != NO_INDEX && recording->waits[wait].start_ns >= post->at_ns &&
	       recording->ops[recording->waits[wait].target].thread == other;
}

static bool is_first_of_process(const struct recording *recording, uint32_t thread)
{
	const struct rec_thread *of = &recording->threads[thread];
	return recording->processes[of->process].pid == of->tid;
}

static struct join posted_by(const struct recording *recording, uint32_t index,
			     const struct poster *poster, const uint32_t *last)
{
	const struct join none = { NO_INDEX, NO_INDEX };
	uint32_t waiter = recording->waits[index].thread;
	if (poster->link == NO_INDEX || !poster->is_only || waiter == NO_INDEX)
		return none;
	const struct rec_link *post = &recording->links[poster->link];
	if (is_first_of_process(recording, post->thread) || !is_last_act(recording, post) ||
	    waits_for(recording, post, waiter, last))
		return none;
	return (struct join){ post->thread, poster->link };
}

struct join *joins_find(const struct recording *recording)
{
	struct join *joins = memory_new(recording->wait_count, sizeof(*joins));
	struct poster *posters = posters_of(recording);
	uint32_t *last = last_find(recording);
	for (uint32_t i = 0; i < recording->wait_count; i++) {
		const struct rec_wait *wait = &recording->waits[i];
		bool has_thread = wait->target != NO_INDEX &&
				  recording->ops[wait->target].kind == KIND_THREAD;
		joins[i] = posted_by(recording, i, &posters[i], last);
		if (wait->reason == REASON_JOIN && has_thread)
			joins[i].thread = recording->ops[wait->target].thread;
	}
	free(posters);
	free(last);
	return joins;
}

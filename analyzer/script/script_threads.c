/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts, joins and ends of threads: which thread starts which, and the images that a process went
 * through.
 *
 * A thread that was started past every hook has no link from its creator: by clone, or by an
 * allocator that looks for pthread_create itself. It is taken to be started by the thread of its
 * process that ran last before. A start at a fixed time would hold up all that meet it, however
 * fast they get.
 *
 * A process that was recorded over several images (by exec) is as many processes of one client. One
 * thread.
 */
#include "base/assumptions.h"
#include "base/memory.h"
#include "format.h"
#include "recording/words.h"
#include "script_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Each looks through all threads; a program with more has links, or no order to be found. */
enum { ADOPTIONS_MAX = 1000 };

uint32_t script_first_thread(const struct recording *rec, uint32_t process)
{
	assert(process < rec->process_count);
	for (size_t t = 0; t < rec->thread_count; t++)
		if (rec->threads[t].process == process &&
		    rec->threads[t].tid == rec->processes[process].pid)
			return (uint32_t)t;
	return NO_INDEX;
}

static uint64_t image_start_ns(const struct recording *rec, uint32_t process)
{
	uint32_t op = rec->processes[process].op;

	return op == NO_INDEX ? 0 : rec->ops[op].start_ns;
}

uint32_t script_next_image(const struct recording *rec, uint32_t process)
{
	uint32_t next = NO_INDEX;

	assert(process < rec->process_count);
	for (uint32_t p = 0; p < rec->process_count; p++)
		if (p != process && rec->processes[p].client &&
		    rec->processes[p].client == rec->processes[process].client &&
		    image_start_ns(rec, p) > image_start_ns(rec, process) &&
		    (next == NO_INDEX || image_start_ns(rec, p) < image_start_ns(rec, next)))
			next = p;
	return next;
}

/* A child that went on by exec before it did anything has an image without threads. */
uint32_t script_thread_of_client(const struct recording *rec, uint32_t client, bool last)
{
	uint32_t image = NO_INDEX, thread = NO_INDEX;

	for (uint32_t p = 0; client && p < rec->process_count; p++) {
		if (rec->processes[p].client != client ||
		    (image != NO_INDEX &&
		     (image_start_ns(rec, p) > image_start_ns(rec, image)) != last))
			continue;
		uint32_t first = script_first_thread(rec, p);

		if (first == NO_INDEX)
			continue;
		image = p;
		thread = first;
	}
	return thread;
}

uint32_t script_started_actor(const struct recording *rec, const struct rec_link *link)
{
	if (link->kind == LINK_NESTED_CLIENT)
		return script_thread_of_client(rec, link->ident, false);
	if (link->kind != LINK_SPAWN || link->to == NO_INDEX ||
	    rec->ops[link->to].kind != KIND_THREAD)
		return NO_INDEX;
	return rec->ops[link->to].thread;
}

static bool is_joined(const struct recording *rec, uint32_t op)
{
	for (size_t i = 0; i < rec->wait_count; i++)
		if (rec->waits[i].reason == REASON_JOIN && rec->waits[i].target == op &&
		    !rec->waits[i].timed_out)
			return true;
	return false;
}

/*
 * The recorder does not always know whose end was waited for. A thread without a CPU may have
 * locked the table in which joins find threads. The end is known all the same if just one thread
 * ended meanwhile that no other joined.
 */
static uint32_t joined_by_elimination(const struct recording *rec, const struct rec_wait *wait)
{
	uint32_t found = NO_INDEX;

	for (uint32_t t = 0; t < rec->thread_count; t++) {
		uint32_t op = rec->threads[t].op;

		if (op == NO_INDEX || t == wait->thread || rec->extras[op].open ||
		    rec->threads[t].process != rec->threads[wait->thread].process ||
		    rec->ops[op].end_ns < wait->start_ns || rec->ops[op].end_ns > wait->end_ns ||
		    is_joined(rec, op))
			continue;
		if (found != NO_INDEX)
			return NO_INDEX;
		found = t;
	}
	return found;
}

/* A thread is joined once. A later join of it is of a new thread, to which libc gave the handle of
 * the old one. That had not begun when the recorder looked whose handle it was. */
static bool is_joined_before(const struct recording *rec, const struct rec_wait *wait)
{
	if (rec->ops[wait->target].end_ns > wait->start_ns ||
	    wait->end_ns - wait->start_ns <= assume.ending)
		return false;
	for (size_t i = 0; i < rec->wait_count; i++) {
		const struct rec_wait *other = &rec->waits[i];

		if (other->reason == REASON_JOIN && other->target == wait->target &&
		    !other->timed_out && other->end_ns <= wait->start_ns)
			return true;
	}
	return false;
}

uint32_t script_joined_actor(const struct recording *rec, const struct rec_wait *wait)
{
	if (wait->timed_out)
		return NO_INDEX;
	if (wait->target == NO_INDEX ||
	    (wait->reason == REASON_JOIN && is_joined_before(rec, wait)))
		return wait->reason == REASON_JOIN ? joined_by_elimination(rec, wait) : NO_INDEX;
	const struct rec_op *target = &rec->ops[wait->target];
	uint32_t actor = NO_INDEX;
	if (target->kind == KIND_EXEC)
		actor = script_thread_of_client(rec, target->ident, true);
	else if (target->kind == KIND_THREAD)
		actor = target->thread;
	return actor != NO_INDEX && rec->threads[actor].op != NO_INDEX ? actor : NO_INDEX;
}

/* --- who starts whom, where no link says it --- */

/* A thread in such a call starts nobody until it returns. */
static bool is_call(const struct recording *rec, const struct moment *moment)
{
	if (moment_type(moment) != MOMENT_OP_BEGIN)
		return moment_type(moment) == MOMENT_WAIT_BEGIN;
	return words_is_call(rec->ops[moment->index].kind);
}

/* The last moment of a thread before a time that it may have started another one after; SIZE_MAX =
 * there is none. */
static size_t moment_before(const struct recording *rec, const struct timeline *timeline,
			    uint32_t thread, uint64_t before_ns)
{
	size_t low = timeline_at(timeline, thread, before_ns);

	while (low > timeline->first[thread] && is_call(rec, &timeline->moments[low - 1]))
		low--;
	return low > timeline->first[thread] ? low - 1 : SIZE_MAX;
}

/* Of all threads of the process the one that was seen last, not being in a call. */
static size_t creation_moment(const struct recording *rec, const struct timeline *timeline,
			      uint32_t thread, uint64_t start_ns)
{
	size_t best = SIZE_MAX;

	for (uint32_t t = 0; t < rec->thread_count; t++) {
		if (t == thread || rec->threads[t].process != rec->threads[thread].process)
			continue;
		size_t moment = moment_before(rec, timeline, t, start_ns);

		if (moment != SIZE_MAX &&
		    (best == SIZE_MAX ||
		     timeline->moments[moment].at_ns > timeline->moments[best].at_ns))
			best = moment;
	}
	return best;
}

static int compare_adoptions(const void *left, const void *right)
{
	const struct adoption *a = left, *b = right;

	if (a->moment != b->moment)
		return a->moment < b->moment ? -1 : 1;
	return (a->actor > b->actor) - (a->actor < b->actor);
}

struct adoption *script_adoptions_find(const struct recording *rec, const struct timeline *timeline,
				       const struct actor *actors, size_t *count)
{
	struct adoption *adoptions = memory_new(ADOPTIONS_MAX, sizeof(*adoptions));
	bool *is_started = memory_new(rec->thread_count, sizeof(*is_started));

	*count = 0;
	for (size_t i = 0; i < rec->link_count; i++) {
		uint32_t actor = script_started_actor(rec, &rec->links[i]);

		if (actor != NO_INDEX)
			is_started[actor] = true;
	}
	for (uint32_t t = 0; t < rec->thread_count && *count < ADOPTIONS_MAX; t++) {
		if (is_started[t] || rec->threads[t].op == NO_INDEX ||
		    rec->threads[t].tid == rec->processes[rec->threads[t].process].pid)
			continue;
		size_t moment = creation_moment(rec, timeline, t, actors[t].start_ns);

		if (moment != SIZE_MAX)
			adoptions[(*count)++] = (struct adoption){ moment, t };
	}
	qsort(adoptions, *count, sizeof(*adoptions), compare_adoptions);
	free(is_started);
	return adoptions;
}

/* --- ends --- */

uint32_t script_ending_thread(const struct recording *rec, uint32_t process)
{
	uint32_t ending = NO_INDEX;

	assert(process < rec->process_count);
	if (rec->processes[process].op == NO_INDEX || rec->extras[rec->processes[process].op].open)
		return NO_INDEX;
	for (uint32_t t = 0; t < rec->thread_count; t++) {
		if (rec->threads[t].process != process || rec->threads[t].op == NO_INDEX ||
		    rec->extras[rec->threads[t].op].open)
			continue;
		if (ending == NO_INDEX ||
		    rec->ops[rec->threads[t].op].end_ns > rec->ops[rec->threads[ending].op].end_ns)
			ending = t;
	}
	return ending;
}

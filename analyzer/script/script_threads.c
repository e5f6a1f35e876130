/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts, joins and ends of threads: which thread starts which, the images that a process went
 * through, and whose finish is the makespan.
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

/* The first thread of a client's first image, or of its last one. A child that went on by exec
 * before it did anything has an image without threads. */
static uint32_t thread_of_client(const struct recording *rec, uint32_t client, bool last)
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
		return thread_of_client(rec, link->ident, false);
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
		actor = thread_of_client(rec, target->ident, true);
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
	size_t low = timeline->first[thread], high = timeline->first[thread + 1];

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (timeline->moments[middle].at_ns < before_ns)
			low = middle + 1;
		else
			high = middle;
	}
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

/* --- whose finish is the makespan --- */

/* Nobody in the recording started it. An image that another went on with by exec was started by
 * that. */
static bool is_root(const struct recording *rec, uint32_t process, const struct actor *actors)
{
	uint32_t client = rec->processes[process].client;
	uint32_t thread =
		client ? thread_of_client(rec, client, false) : script_first_thread(rec, process);

	return thread == NO_INDEX || !actors[thread].is_spawned;
}

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

/* Another one ended the call: a peer sent something, or a descriptor was ready. */
static bool is_woken_in(const struct recording *rec, size_t index)
{
	const struct rec_op *op = &rec->ops[index];
	const char *ident = rec->strings[op->ident];

	if (op->kind == KIND_POLL)
		return !script_poll_timed_out(rec, (uint32_t)index);
	return op->kind == KIND_IO && rec->extras[index].amount && ident[0] &&
	       strncmp(ident, "file ", strlen("file ")) != 0 && strcmp(ident, "timerfd") != 0 &&
	       flow_direction_of(rec->strings[op->name]) == FLOW_READ;
}

static bool is_for_lock(const struct rec_wait *wait)
{
	return wait->reason == REASON_MUTEX || wait->reason == REASON_RWLOCK_READ ||
	       wait->reason == REASON_RWLOCK_WRITE;
}

/* When another thread last ended one of its waits, but for locks; 0 = never. To be freed. */
static uint64_t *woken_find(const struct compiler *compiler)
{
	const struct recording *rec = compiler->rec;
	const uint64_t *finish_ns = compiler->gathered.finish_ns;
	uint64_t *woken_ns = memory_new(rec->thread_count, sizeof(*woken_ns));

	for (size_t i = 0; i < rec->op_count; i++) {
		const struct rec_op *op = &rec->ops[i];

		if (op->thread != NO_INDEX && op->end_ns <= finish_ns[op->thread] &&
		    op->end_ns > woken_ns[op->thread] && is_woken_in(rec, i))
			woken_ns[op->thread] = op->end_ns;
	}
	for (size_t i = 0; i < rec->wait_count; i++) {
		const struct rec_wait *wait = &rec->waits[i];

		if (wait->thread != NO_INDEX && wait->end_ns <= finish_ns[wait->thread] &&
		    wait->end_ns > wait->start_ns && wait->end_ns > woken_ns[wait->thread] &&
		    !is_for_lock(wait) && !wait->timed_out)
			woken_ns[wait->thread] = wait->end_ns;
	}
	return woken_ns;
}

/* By thread: until its finish it slept, or waited until a timeout, and no other thread ever ended a
 * wait of its. Or it only polled in vain since one did: what it slept for then may be its work. To
 * be freed. */
static bool *clocked_find(const struct compiler *compiler)
{
	const struct recording *rec = compiler->rec;
	const uint64_t *finish_ns = compiler->gathered.finish_ns;
	uint64_t *woken_ns = woken_find(compiler);
	bool *is_clocked = memory_new(rec->thread_count, sizeof(*is_clocked));
	bool *works = memory_new(rec->thread_count, sizeof(*works));

	for (size_t i = 0; i < rec->op_count; i++) {
		const struct rec_op *op = &rec->ops[i];

		if (op->thread == NO_INDEX || op->end_ns > finish_ns[op->thread] ||
		    op->start_ns < woken_ns[op->thread])
			continue;
		is_clocked[op->thread] |= op->kind == KIND_SLEEP || op->kind == KIND_POLL;
		works[op->thread] |= op->kind == KIND_SLEEP && woken_ns[op->thread];
	}
	for (size_t i = 0; i < rec->wait_count; i++) {
		const struct rec_wait *wait = &rec->waits[i];

		if (wait->thread == NO_INDEX || wait->end_ns > finish_ns[wait->thread] ||
		    wait->start_ns < woken_ns[wait->thread] || is_for_lock(wait))
			continue;
		is_clocked[wait->thread] |= wait->timed_out;
		works[wait->thread] |= woken_ns[wait->thread] > 0;
	}
	for (size_t t = 0; t < rec->thread_count; t++)
		is_clocked[t] = is_clocked[t] && !works[t];
	free(works);
	free(woken_ns);
	return is_clocked;
}

/* When each thread last let another one go. To be freed. */
static uint64_t *served_find(const struct compiler *compiler)
{
	const struct recording *rec = compiler->rec;
	const struct flows *flows = &compiler->script->flows;
	uint64_t *served_ns = memory_new(rec->thread_count, sizeof(*served_ns));

	for (size_t i = 0; i < rec->link_count; i++) {
		const struct rec_link *link = &rec->links[i];
		bool is_wake = (link->kind == LINK_WAKE || link->kind == LINK_SIGNAL ||
				link->kind == LINK_END) &&
			       compiler->found->is_awaited[i];

		if (link->thread != NO_INDEX && link->at_ns > served_ns[link->thread] &&
		    (is_wake || link->kind == LINK_POST || link->kind == LINK_SPAWN ||
		     link->kind == LINK_NESTED_CLIENT))
			served_ns[link->thread] = link->at_ns;
	}
	for (size_t i = 0; i < rec->op_count; i++) {
		const struct rec_op *op = &rec->ops[i];
		uint32_t transfer = flows->transfer_of[i];

		if (op->thread != NO_INDEX && transfer != NO_INDEX &&
		    flows->transfers[transfer].is_write && op->end_ns > served_ns[op->thread])
			served_ns[op->thread] = op->end_ns;
	}
	return served_ns;
}

static uint64_t run_of(const struct script *script, size_t actor)
{
	const struct step *step = &script->steps[script->actors[actor].first_step];
	uint64_t run_ns = 0;

	for (; step->type != STEP_END; step++)
		run_ns += step->type == STEP_RUN ? step->ns : 0;
	return run_ns;
}

static bool is_still_there(const struct recording *rec, size_t thread)
{
	uint32_t op = rec->threads[thread].op;

	return op != NO_INDEX && rec->extras[op].open;
}

/*
 * A thread that wakes up now and then to look after something goes on doing so for as long as it is
 * left alone. Its last work is the recording's end, and no finish. Only the clock wakes it, it lets
 * no thread go after the others have finished, and it runs less than one of them.
 */
static void tickers_leave(struct script *script, const struct compiler *compiler)
{
	const struct recording *rec = compiler->rec;
	uint64_t *served_ns = served_find(compiler);
	bool *ticks = clocked_find(compiler);
	uint64_t most_ns = 0, finish_ns = 0;

	for (size_t t = 0; t < script->actor_count; t++) {
		ticks[t] = ticks[t] && script->actors[t].counts && is_still_there(rec, t);
		if (!script->actors[t].counts || ticks[t])
			continue;
		uint64_t run_ns = run_of(script, t);
		most_ns = run_ns > most_ns ? run_ns : most_ns;
		if (compiler->gathered.finish_ns[t] > finish_ns)
			finish_ns = compiler->gathered.finish_ns[t];
	}
	for (size_t t = 0; t < script->actor_count; t++) {
		if (!ticks[t] || served_ns[t] > finish_ns || run_of(script, t) >= most_ns)
			continue;
		script->actors[t].counts = false;
		script->actors[t].ticks = true;
	}
	free(served_ns);
	free(ticks);
}

/* Counts the threads of a process that was still running, as far as they did anything. */
static bool count_workers(struct script *script, const struct compiler *compiler, uint32_t process)
{
	const struct recording *rec = compiler->rec;
	bool any = false;

	for (uint32_t t = 0; t < rec->thread_count; t++) {
		if (rec->threads[t].process != process)
			continue;
		script->actors[t].counts = compiler->gathered.worked[t];
		any = any || compiler->gathered.worked[t];
	}
	return any;
}

/* Servers that serve on are done when their clients are, which they know nothing of. */
static void count_clients(struct script *script)
{
	for (size_t t = 0; t < script->actor_count; t++)
		script->actors[t].counts = t >= script->clients.first_thread;
}

/*
 * A program that has ended did so with the thread that ended it, whatever its children go on with.
 * One that serves on may have its children do the work.
 */
void script_choose_finishers(struct script *script, const struct compiler *compiler)
{
	const struct recording *rec = compiler->rec;
	bool any = false, has_ended = false, serves_on = script->clients.count > 0;

	assert(script->actor_count == rec->thread_count);
	for (uint32_t p = 0; p < rec->process_count; p++) {
		if (script_next_image(rec, p) != NO_INDEX || !is_root(rec, p, script->actors))
			continue;
		uint32_t ending = script_ending_thread(rec, p);

		if (ending != NO_INDEX) {
			script->actors[ending].counts = true;
			any = has_ended = true;
			serves_on = serves_on && ending >= script->clients.first_thread;
		} else {
			any = count_workers(script, compiler, p) || any;
		}
	}
	for (uint32_t p = 0; p < rec->process_count && !has_ended; p++)
		if (script_next_image(rec, p) == NO_INDEX && !is_root(rec, p, script->actors) &&
		    script_ending_thread(rec, p) == NO_INDEX)
			any = count_workers(script, compiler, p) || any;
	for (size_t t = 0; !any && t < script->actor_count; t++)
		script->actors[t].counts = true;
	if (serves_on)
		count_clients(script);
	tickers_leave(script, compiler);
	uint64_t finish_ns = script->start_ns;
	for (size_t t = 0; t < script->actor_count; t++)
		if (script->actors[t].counts && compiler->gathered.finish_ns[t] > finish_ns)
			finish_ns = compiler->gathered.finish_ns[t];
	script->actual_ns = finish_ns - script->start_ns;
}

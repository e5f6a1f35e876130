/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose finish is the makespan.
 *
 * One thread.
 */
#include "base/memory.h"
#include "format.h"
#include "recording/hosts.h"
#include "script_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Nobody in the recording started it. An image that another went on with by exec was started by
 * that. */
static bool is_root(const struct recording *rec, uint32_t process, const struct actor *actors)
{
	uint32_t client = rec->processes[process].client;
	uint32_t thread = client ? script_thread_of_client(rec, client, false)
				 : script_first_thread(rec, process);

	return thread == NO_INDEX || !actors[thread].is_spawned;
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

/* --- servers --- */

/* The first process of its family: nobody in the recording is the parent of that one. */
static uint32_t family_of(const struct recording *rec, uint32_t process)
{
	for (uint32_t climbed = 0; climbed < rec->process_count; climbed++) {
		uint32_t parent = NO_INDEX;

		for (uint32_t p = 0; p < rec->process_count && parent == NO_INDEX; p++)
			if (rec->processes[p].pid == rec->processes[process].ppid && p != process &&
			    hosts_are_one(rec, p, process))
				parent = p;
		if (parent == NO_INDEX)
			break;
		process = parent;
	}
	return process;
}

/* By process: its family answered requests of another one. NULL = none did; to be freed. */
static bool *servers_find(const struct script *script, const struct recording *rec)
{
	const struct requests *requests = &script->requests;
	uint32_t *family_by = NULL;
	bool *serves = NULL;

	for (size_t i = 0; i < requests->count; i++) {
		const struct request *request = &requests->requests[i];

		if (request->source != REQUEST_SERVED || request->of == NO_INDEX ||
		    request->thread == NO_INDEX ||
		    requests->requests[request->of].thread == NO_INDEX)
			continue;
		if (!family_by) {
			family_by = memory_new(rec->process_count, sizeof(*family_by));
			serves = memory_new(rec->process_count, sizeof(*serves));
			for (uint32_t p = 0; p < rec->process_count; p++)
				family_by[p] = family_of(rec, p);
		}
		uint32_t asker = requests->requests[request->of].thread;
		uint32_t family = family_by[rec->threads[request->thread].process];

		serves[family] |= family != family_by[rec->threads[asker].process];
	}
	for (uint32_t p = 0; family_by && p < rec->process_count; p++)
		if (serves[family_by[p]])
			serves[p] = true;
	free(family_by);
	return serves;
}

/* Nobody waits for the other work of a server that serves on, if those that it serves are
 * recorded. Servers of each other are none. */
static void servers_leave(struct script *script, const struct recording *rec)
{
	bool *serves = servers_find(script, rec);
	bool is_any_left = false;

	if (!serves)
		return;
	for (size_t t = 0; t < script->actor_count; t++)
		is_any_left |= script->actors[t].counts && !serves[rec->threads[t].process];
	for (size_t t = 0; t < script->actor_count && is_any_left; t++)
		if (serves[rec->threads[t].process] && is_still_there(rec, t))
			script->actors[t].counts = false;
	free(serves);
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
	servers_leave(script, rec);
	if (serves_on)
		count_clients(script);
	tickers_leave(script, compiler);
	uint64_t finish_ns = script->start_ns;
	for (size_t t = 0; t < script->actor_count; t++)
		if (script->actors[t].counts && compiler->gathered.finish_ns[t] > finish_ns)
			finish_ns = compiler->gathered.finish_ns[t];
	script->actual_ns = finish_ns - script->start_ns;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recorded waits, as steps. Each names what ended the wait, with the latency from there to the
 * return; the replay decides anew how long it takes.
 *
 * A wait whose waker is not known stays as long as it was, and is counted. A wait for a lock is
 * left to the hold that comes next, if that is of the same lock. One thread.
 */
#include "base/assumptions.h"
#include "format.h"
#include "script_parts.h"

#include <assert.h>
#include <string.h>

static uint64_t since(const struct rec_wait *wait, uint64_t event_ns)
{
	uint64_t from_ns = event_ns > wait->start_ns ? event_ns : wait->start_ns;

	return wait->end_ns > from_ns ? wait->end_ns - from_ns : 0;
}

/* The wait that begins there goes on with another one, for the same object or one made anew. */
static bool is_taken_up(const struct rec_wait *wait, const struct rec_wait *next)
{
	bool is_same_site = wait->stack && next->stack == wait->stack && next->name == wait->name;

	return next->reason == wait->reason && (next->address == wait->address || is_same_site);
}

/* Doings of a thread between two waits that are one to it. */
static bool is_only_looking(const struct compiler *compiler, const struct moment *moment,
			    const struct rec_wait *wait)
{
	enum moment_type type = moment_type(moment);

	if (type == MOMENT_WAIT_END || type == MOMENT_LINK)
		return true;
	if (type == MOMENT_WAIT_BEGIN || type == MOMENT_WAIT_POINT)
		return !is_taken_up(wait, &compiler->rec->waits[moment->index]);
	return (type == MOMENT_OP_BEGIN || type == MOMENT_OP_END || type == MOMENT_OP_POINT) &&
	       compiler->rec->ops[moment->index].kind == KIND_HOLD;
}

/* The wait for the same object that the thread goes on with after a timeout, as a moment; 0 = it
 * does something else. */
static size_t next_try(const struct compiler *compiler, size_t at, const struct rec_wait *wait)
{
	const struct timeline *timeline = compiler->timeline;
	uint64_t brief_ns = (wait->end_ns - wait->start_ns) / assume.retry_parts;

	for (size_t i = at + 1; i < timeline->first[compiler->thread.index + 1]; i++) {
		const struct moment *moment = &timeline->moments[i];

		if (moment->at_ns > wait->end_ns + brief_ns)
			return 0;
		if (is_only_looking(compiler, moment, wait))
			continue;
		return moment_type(moment) == MOMENT_WAIT_BEGIN ||
				       moment_type(moment) == MOMENT_WAIT_POINT
			       ? i
			       : 0;
	}
	return 0;
}

/*
 * A wait with a timeout may be taken up again at once, and end by a signal or permit: all are one
 * wait then. A signal that comes sooner ends it without any timeout.
 */
static bool is_retried(struct compiler *compiler, const struct rec_wait *wait)
{
	size_t at = compiler->thread.at;

	if (at < compiler->thread.retried_until)
		return compiler->thread.is_retried;
	compiler->thread.is_retried = false;
	while (wait->timed_out) {
		size_t next = next_try(compiler, at, wait);

		if (!next)
			return false;
		wait = &compiler->rec->waits[compiler->timeline->moments[next].index];
		compiler->thread.retried_until = at = next;
	}
	compiler->thread.is_retried = !wait->open;
	return compiler->thread.is_retried;
}

static void timeout_passes(struct compiler *compiler, uint32_t index)
{
	const struct rec_wait *wait = &compiler->rec->waits[index];

	if (is_retried(compiler, wait))
		return;
	script_race(compiler, false);
	script_emit(compiler, STEP_FIXED, index, wait->end_ns - wait->start_ns);
}

static void condition_wait_begins(struct compiler *compiler, uint32_t index)
{
	const struct monitors *monitors = &compiler->script->monitors;
	uint32_t s = monitors->section_of_wait[index];

	if (s == NO_INDEX || monitors->sections[s].first_wait != index ||
	    compiler->thread.is_skipping)
		return;
	const struct section *section = &monitors->sections[s];
	if (!script_by_tokens(compiler, section) || section->last_hold == NO_INDEX)
		return;
	if (section->takes_late) {
		script_take(compiler, section);
	} else if (section->first_hold == NO_INDEX) {
		script_emit(compiler, STEP_ACQUIRE, compiler->releases->lock_of[section->last_hold],
			    LATENCY_UNKNOWN);
		script_take(compiler, section);
		compiler->thread.is_skipping = true;
		compiler->thread.skip_section = section;
	}
}

static void waits_for_link(struct compiler *compiler, uint32_t index, uint32_t link)
{
	script_emit(compiler, STEP_AFTER, link,
		    since(&compiler->rec->waits[index], compiler->rec->links[link].at_ns));
	script_race_ends(compiler, index, false);
}

/* A token was put, and another thread came first. The thread waits for one to the end, or comes
 * back for it. */
static bool waits_in_vain(const struct compiler *compiler, uint32_t index)
{
	const struct monitors *monitors = &compiler->script->monitors;
	uint32_t s = monitors->section_of_wait[index];

	return s != NO_INDEX && monitors->sections[s].in_vain;
}

static void condition_wait_ends(struct compiler *compiler, uint32_t index)
{
	const struct monitors *monitors = &compiler->script->monitors;
	const struct rec_wait *wait = &compiler->rec->waits[index];
	uint32_t s = monitors->section_of_wait[index];
	uint32_t link = monitors->waking_link[index];

	if (compiler->thread.is_skipping || script_quantum_switches(compiler, index) ||
	    waits_in_vain(compiler, index))
		return;
	if (s != NO_INDEX && script_by_tokens(compiler, &monitors->sections[s]) &&
	    monitors->sections[s].takes_late)
		return;
	if (wait->timed_out) {
		timeout_passes(compiler, index);
		return;
	}
	if (monitors->waking_link[monitors->met_by_wait[index]] != NO_INDEX)
		link = monitors->waking_link[monitors->met_by_wait[index]];
	if (link == NO_INDEX)
		script_stays(compiler, index, wait->end_ns - wait->start_ns);
	else
		waits_for_link(compiler, index, link);
}

static const struct moment *next_moment(const struct compiler *compiler)
{
	size_t next = compiler->thread.at + 1;

	return next < compiler->timeline->first[compiler->thread.index + 1]
		       ? &compiler->timeline->moments[next]
		       : NULL;
}

static bool is_hold_begin(const struct compiler *compiler, const struct moment *moment)
{
	return moment &&
	       (moment_type(moment) == MOMENT_OP_BEGIN || moment_type(moment) == MOMENT_OP_POINT) &&
	       compiler->rec->ops[moment->index].kind == KIND_HOLD;
}

static void lock_wait_ends(struct compiler *compiler, uint32_t index)
{
	const struct rec_wait *wait = &compiler->rec->waits[index];
	const struct moment *next = next_moment(compiler);

	if (script_try_failed(compiler, index))
		return;
	if (is_hold_begin(compiler, next) &&
	    compiler->rec->extras[next->index].address == wait->address)
		compiler->thread.lock_wait = index;
	else if (!compiler->thread.is_skipping)
		script_stays(compiler, index, wait->end_ns - wait->start_ns);
}

static void join_ends(struct compiler *compiler, uint32_t index)
{
	const struct rec_wait *wait = &compiler->rec->waits[index];
	uint32_t actor = script_joined_actor(compiler->rec, wait);

	if (actor == NO_INDEX || actor == compiler->thread.index) {
		script_stays(compiler, index, wait->end_ns - wait->start_ns);
		return;
	}
	const struct child *child = &compiler->found->children[actor];
	if (child->wait == index && child->last_wait != NO_INDEX)
		wait = &compiler->rec->waits[child->last_wait];
	uint64_t latency_ns =
		since(wait, compiler->rec->ops[compiler->rec->threads[actor].op].end_ns);

	if (child->semaphore == NO_INDEX)
		script_emit(compiler, STEP_JOIN, actor, latency_ns);
	else if (child->wait == index)
		script_emit(compiler, STEP_PERMIT, child->semaphore, latency_ns);
}

static void semaphore_wait_ends(struct compiler *compiler, uint32_t index)
{
	const struct rec_wait *wait = &compiler->rec->waits[index];
	uint32_t semaphore = addresses_find(&compiler->found->semaphores, compiler->thread.process,
					    wait->address);

	/* for several semaphores at once, or for none to be left */
	if (!wait->address || compiler->found->permit_latency_ns[index] == POST_UNSEEN) {
		script_stays(compiler, index, wait->end_ns - wait->start_ns);
		return;
	}
	if (wait->timed_out || semaphore == NO_INDEX) {
		timeout_passes(compiler, index);
		return;
	}
	uint32_t post = compiler->script->monitors.waking_link[index];
	if (post != NO_INDEX && compiler->found->is_given[post]) {
		script_emit(compiler, STEP_AFTER, post, 0);
		script_race_ends(compiler, index, false);
	}
	script_emit(compiler, STEP_PERMIT, semaphore, compiler->found->permit_latency_ns[index]);
	script_race_ends(compiler, index, false);
	script_taken_add(compiler, wait->end_ns);
	struct taken *taken = &compiler->gathered.taken[compiler->gathered.taken_count - 1];
	taken->is_tried = strcmp(compiler->rec->strings[wait->name], "sem_trywait") == 0;
	taken->has_waited = wait->end_ns > wait->start_ns;
}

static void barrier_wait_ends(struct compiler *compiler, uint32_t index)
{
	const struct rec_wait *wait = &compiler->rec->waits[index];
	uint32_t barrier =
		addresses_find(&compiler->found->barriers, compiler->thread.process, wait->address);

	uint64_t latency_ns = compiler->found->barrier_latency_ns[index];

	if (latency_ns == NOT_ALL_SEEN)
		script_stays(compiler, index, wait->end_ns - wait->start_ns);
	else
		script_emit(compiler, STEP_BARRIER, barrier, latency_ns);
}

/* An event loop's poll that is part of a visit. The end that it met may come when the loop is at
 * another connection. */
static bool is_visited(const struct compiler *compiler, uint32_t index)
{
	const struct rec_wait *wait = &compiler->rec->waits[index];
	const struct loops *loops = &compiler->script->loops;

	if (wait->reason != REASON_END || wait->waiter == NO_INDEX ||
	    compiler->rec->ops[wait->waiter].kind != KIND_POLL ||
	    loops->loop_of_thread[wait->thread] == NO_INDEX)
		return false;
	uint32_t visit = loops->visit_of[wait->waiter];
	return visit == NO_INDEX || loops->visits[visit].sort != VISIT_BARRIER;
}

void script_wait_ends(struct compiler *compiler, uint32_t index)
{
	const struct rec_wait *wait = &compiler->rec->waits[index];

	assert(index < compiler->rec->wait_count);
	if (is_visited(compiler, index))
		return;
	if (script_frame_ends(compiler, index))
		return;
	if (wait->end_ns > wait->start_ns)
		script_runs_slept(&compiler->gathered.runs, wait->end_ns - wait->start_ns);
	compiler->thread.is_waiting = false;
	compiler->thread.now_ns = wait->end_ns;
	if (script_turn_awaited(compiler, index) || wait->open)
		return;
	if (compiler->found->meetings.of_wait[index] != NO_INDEX)
		script_meets(compiler, index);
	else if (wait->reason == REASON_COND)
		condition_wait_ends(compiler, index);
	else if (wait->reason == REASON_MUTEX || wait->reason == REASON_RWLOCK_READ ||
		 wait->reason == REASON_RWLOCK_WRITE)
		lock_wait_ends(compiler, index);
	else if (compiler->thread.is_skipping || compiler->script->halts.is_halted[index])
		return;
	else if (wait->reason == REASON_JOIN || wait->reason == REASON_EXEC)
		join_ends(compiler, index);
	else if (wait->reason == REASON_SEM)
		semaphore_wait_ends(compiler, index);
	else if (wait->reason == REASON_BARRIER)
		barrier_wait_ends(compiler, index);
	else if (compiler->script->monitors.waking_link[index] != NO_INDEX && !wait->timed_out)
		condition_wait_ends(compiler, index);
	else if (wait->timed_out)
		timeout_passes(compiler, index);
	else
		script_stays(compiler, index, wait->end_ns - wait->start_ns);
}

void script_wait_begins(struct compiler *compiler, uint32_t index)
{
	assert(index < compiler->rec->wait_count);
	if (is_visited(compiler, index))
		return;
	script_belongs(compiler, compiler->rec->waits[index].waiter);
	script_pass(compiler, compiler->rec->waits[index].start_ns);
	if (script_frame_begins(compiler, index))
		return;
	if (!rec_is_try(compiler->rec, &compiler->rec->waits[index]))
		script_tries_give_up(compiler);
	if (!script_turn_awaits(compiler, index) &&
	    compiler->rec->waits[index].reason == REASON_COND)
		condition_wait_begins(compiler, index);
	compiler->thread.is_waiting = true;
}

/* The thread comes from its sleep, to halt others. */
void script_halts_until(struct compiler *compiler, uint64_t at_ns)
{
	const struct halts *halts = &compiler->script->halts;
	const struct thread_state *thread = &compiler->thread;
	size_t *next = &compiler->gathered.next_halt;

	for (; *next < halts->count; (*next)++) {
		const struct halt *halt = &halts->halts[*next];

		if (halt->thread < thread->index)
			continue;
		if (halt->thread > thread->index || halt->begin_ns > at_ns || thread->is_skipping ||
		    thread->is_waiting)
			return;
		script_emit(compiler, STEP_HALT, halt->link, 0);
	}
}

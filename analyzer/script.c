/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiles each thread's timeline to steps.
 *
 * Method. One sweep over a thread's moments with a stack of its open ops. The time between two
 * moments is run by the innermost op's class, or is a delay when that op is a call that waits for
 * something outside. Time inside a recorded wait is dropped: a step that names what ended the wait
 * takes its place, with the latency from there to the return, and the replay decides anew how long
 * that takes. A wait whose waker is not known stays as long as it was, and is counted.
 *
 * A section that takes a token becomes: acquire, take, and what it did from its last hold on. What
 * it did before, in between its waits, is the looking and is not replayed.
 *
 * Actors finish where their last piece of work ended: a server's thread that sits in a poll when
 * the recording ends, or has seen nothing but timeouts for a while, had finished before that.
 *
 * One thread.
 */
#include "script.h"

#include "addresses.h"
#include "format.h"
#include "memory.h"
#include "script_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void script_emit(struct compiler *compiler, enum step_type type, uint32_t arg, uint64_t ns)
{
	struct script *script = compiler->script;

	script->steps = memory_grow(script->steps, &compiler->step_capacity, script->step_count + 1,
				    sizeof(*script->steps));
	script->steps[script->step_count++] = (struct step){ ns, arg, type };
}

/* --- time that passes --- */

static uint32_t current_scope(struct compiler *compiler)
{
	uint32_t held[OPEN_OPS_MAX];
	size_t held_count = 0;
	uint32_t leaf = compiler->thread_class;

	if (compiler->scope != NO_INDEX)
		return compiler->scope;
	for (size_t i = 0; i < compiler->open_count; i++) {
		uint32_t op = compiler->open[i];

		leaf = compiler->classes->of_op[op];
		if (compiler->rec->ops[op].kind == KIND_HOLD)
			held[held_count++] = leaf;
	}
	compiler->scope = scopes_add(&compiler->script->scopes, leaf, held, held_count);
	return compiler->scope;
}

static bool waits_outside(const struct compiler *compiler)
{
	if (!compiler->open_count)
		return false;
	uint32_t op = compiler->open[compiler->open_count - 1];
	uint16_t kind = compiler->rec->ops[op].kind;

	/* what does not wait for the other end of a pipe or socket copies */
	if (compiler->script->was_crowded && compiler->script->flows.transfer_of[op] != NO_INDEX)
		return false;
	return kind == KIND_IO || kind == KIND_POLL || kind == KIND_SLEEP || kind == KIND_DNS;
}

/* The time since the last moment, as a step. */
static void pass(struct compiler *compiler, uint64_t to_ns)
{
	uint64_t from_ns = compiler->now_ns;

	if (to_ns <= from_ns)
		return;
	compiler->now_ns = to_ns;
	if (compiler->is_skipping || compiler->waiting)
		return;
	bool is_outside = waits_outside(compiler);
	if (!is_outside && compiler->script->was_crowded)
		script_runs_add(&compiler->runs, (uint32_t)compiler->script->step_count,
				to_ns - from_ns);
	script_emit(compiler, is_outside ? STEP_DELAY : STEP_RUN, current_scope(compiler),
		    to_ns - from_ns);
}

/* A sample ends a stretch: it says how much CPU time was used since the last one. */
static void stretch_ends(struct compiler *compiler, const struct rec_sample *sample)
{
	bool is_first = sample == compiler->samples;

	pass(compiler, sample->at_ns);
	script_runs_end_stretch(&compiler->runs,
				is_first ? UINT64_MAX : sample->cpu_ns - compiler->cpu_ns);
	compiler->cpu_ns = sample->cpu_ns;
}

/* A sleep scales by what was asked for; what it took beyond that stays as long as it sleeps at all.
 * Absolute deadlines stay. */
static void pass_sleep(struct compiler *compiler, uint32_t op, uint64_t to_ns)
{
	const struct rec_op_extra *extra = &compiler->rec->extras[op];
	uint64_t start_ns = compiler->rec->ops[op].start_ns, asked_ns = extra->bytes;
	uint64_t length_ns = to_ns - compiler->now_ns;
	uint64_t overrun_max_ns = compiler->script->was_crowded ? WAKE_UP_NS_MAX : UINT64_MAX;

	if (compiler->is_skipping || compiler->waiting || to_ns <= compiler->now_ns)
		return;
	uint64_t overrun_ns = asked_ns && length_ns > asked_ns ? length_ns - asked_ns : 0;
	if (extra->absolute && asked_ns <= to_ns - start_ns) {
		script_emit(compiler, STEP_UNTIL, 0, start_ns + asked_ns);
		overrun_ns = to_ns - (start_ns + asked_ns);
	} else {
		script_emit(compiler, STEP_DELAY, current_scope(compiler), length_ns - overrun_ns);
	}
	script_emit(compiler, STEP_OVERRUN, current_scope(compiler),
		    overrun_ns < overrun_max_ns ? overrun_ns : overrun_max_ns);
	compiler->now_ns = to_ns;
}

static void open_push(struct compiler *compiler, uint32_t op)
{
	if (compiler->open_count < OPEN_OPS_MAX)
		compiler->open[compiler->open_count++] = op;
	compiler->scope = NO_INDEX;
}

static void open_remove(struct compiler *compiler, uint32_t op)
{
	for (size_t i = compiler->open_count; i-- > 0;) {
		if (compiler->open[i] != op)
			continue;
		memmove(&compiler->open[i], &compiler->open[i + 1],
			(compiler->open_count - i - 1) * sizeof(compiler->open[0]));
		compiler->open_count--;
		break;
	}
	compiler->scope = NO_INDEX;
}

/* --- locks --- */

static const struct moment *next_moment(const struct compiler *compiler)
{
	size_t next = compiler->at + 1;

	return next < compiler->timeline->first[compiler->thread + 1]
		       ? &compiler->timeline->moments[next]
		       : NULL;
}

static bool is_hold_begin(const struct compiler *compiler, const struct moment *moment)
{
	return moment &&
	       (moment_type(moment) == MOMENT_OP_BEGIN || moment_type(moment) == MOMENT_OP_POINT) &&
	       compiler->rec->ops[moment->index].kind == KIND_HOLD;
}

static void stays(struct compiler *compiler, uint64_t ns)
{
	compiler->script->unresolved_waits++;
	compiler->script->unresolved_ns += ns;
	uint32_t scope = current_scope(compiler);
	uint32_t leaf = compiler->script->scopes.scopes[scope].leaf;
	if (leaf != NO_INDEX)
		compiler->script->unresolved_of_class_ns[leaf] += ns;
	script_emit(compiler, STEP_FIXED, 0, ns);
}

/* The latency of a lock wait that just ended, from the release that ended it. */
static uint64_t lock_latency(struct compiler *compiler, uint32_t lock, uint32_t hold)
{
	uint32_t index = compiler->lock_wait;

	compiler->lock_wait = NO_INDEX;
	if (index == NO_INDEX)
		return LATENCY_UNKNOWN;
	const struct rec_wait *wait = &compiler->rec->waits[index];
	const struct release *release =
		releases_granting(compiler->releases, compiler->rec, lock, hold, wait->start_ns,
				  wait->end_ns, compiler->thread);
	if (!release) {
		stays(compiler, wait->end_ns - wait->start_ns);
		return LATENCY_UNKNOWN;
	}
	compiler->latencies_ns = memory_grow(compiler->latencies_ns, &compiler->latency_capacity,
					     compiler->latency_count + 1, sizeof(uint64_t));
	compiler->latencies_ns[compiler->latency_count++] = wait->end_ns - release->at_ns;
	return wait->end_ns - release->at_ns;
}

static bool by_tokens(const struct compiler *compiler, const struct section *section)
{
	return section->take != NO_INDEX &&
	       compiler->script->monitors.conditions[section->take].model != PUT_NONE;
}

static const struct section *section_of(const struct compiler *compiler, uint32_t hold)
{
	uint32_t section = compiler->script->monitors.section_of_hold[hold];

	return section == NO_INDEX ? NULL : &compiler->script->monitors.sections[section];
}

/* The step that was emitted last takes a job, if there is a pool. */
static void taken_add(struct compiler *compiler, uint64_t end_ns)
{
	const struct script *script = compiler->script;

	compiler->taken = memory_grow(compiler->taken, &compiler->taken_capacity,
				      compiler->taken_count + 1, sizeof(*compiler->taken));
	compiler->taken[compiler->taken_count++] =
		(struct taken){ end_ns,
				script_source(script, &script->steps[script->step_count - 1]),
				(uint32_t)script->step_count, compiler->thread };
}

static void take(struct compiler *compiler, const struct section *section)
{
	struct job_list *jobs = &compiler->script->jobs[section->take];

	jobs->lock = compiler->releases->lock_of[section->last_hold];
	script_emit(compiler, STEP_TAKE, section->take,
		    compiler->script->monitors.conditions[section->take].latency_ns);
	taken_add(compiler, section->end_ns);
}

static bool is_reader(const struct compiler *compiler, uint32_t hold)
{
	return compiler->rec->extras[hold].shared;
}

static void hold_begins(struct compiler *compiler, uint32_t op)
{
	const struct section *section = section_of(compiler, op);
	uint32_t lock = compiler->releases->lock_of[op];
	bool tokens = section && by_tokens(compiler, section);

	if (tokens && section->takes_late && op != section->first_hold)
		return;
	if (!tokens && script_try_gained(compiler, op))
		return;
	if (compiler->is_skipping) {
		if (section && op == section->last_hold && compiler->skip_section == section)
			compiler->is_skipping = false;
		return;
	}
	uint64_t latency_ns = lock_latency(compiler, lock, op);
	script_emit(compiler,
		    is_reader(compiler, op)           ? STEP_SHARE
		    : compiler->rec->extras[op].tried ? STEP_GRAB
						      : STEP_ACQUIRE,
		    lock, latency_ns);
	if (!tokens || section->takes_late)
		return;
	take(compiler, section);
	if (op != section->last_hold) {
		compiler->is_skipping = true;
		compiler->skip_section = section;
	}
}

static void hold_ends(struct compiler *compiler, uint32_t op)
{
	const struct section *section = section_of(compiler, op);
	bool tokens = section && by_tokens(compiler, section);

	if (compiler->is_skipping)
		return;
	if (section && op == section->last_hold) {
		if (tokens && section->takes_late && section->first_wait == NO_INDEX)
			take(compiler, section);
		if (section->put != NO_INDEX &&
		    compiler->script->monitors.conditions[section->put].model == PUT_BY_SECTION)
			script_emit(compiler, STEP_PUT, section->put, 0);
	} else if (tokens && section->takes_late) {
		return;
	}
	script_emit(compiler, is_reader(compiler, op) ? STEP_UNSHARE : STEP_RELEASE,
		    compiler->releases->lock_of[op], 0);
}

/* --- waits --- */

static uint64_t since(const struct rec_wait *wait, uint64_t event_ns)
{
	uint64_t from_ns = event_ns > wait->start_ns ? event_ns : wait->start_ns;

	return wait->end_ns > from_ns ? wait->end_ns - from_ns : 0;
}

static void condition_wait_begins(struct compiler *compiler, uint32_t index)
{
	const struct monitors *monitors = &compiler->script->monitors;
	uint32_t s = monitors->section_of_wait[index];

	if (s == NO_INDEX || monitors->sections[s].first_wait != index || compiler->is_skipping)
		return;
	const struct section *section = &monitors->sections[s];
	if (!by_tokens(compiler, section) || section->last_hold == NO_INDEX)
		return;
	if (section->takes_late) {
		take(compiler, section);
	} else if (section->first_hold == NO_INDEX) {
		script_emit(compiler, STEP_ACQUIRE, compiler->releases->lock_of[section->last_hold],
			    LATENCY_UNKNOWN);
		take(compiler, section);
		compiler->is_skipping = true;
		compiler->skip_section = section;
	}
}

static void condition_wait_ends(struct compiler *compiler, uint32_t index)
{
	const struct monitors *monitors = &compiler->script->monitors;
	const struct rec_wait *wait = &compiler->rec->waits[index];
	uint32_t s = monitors->section_of_wait[index];
	uint32_t link = monitors->waking_link[index];

	if (compiler->is_skipping)
		return;
	if (s != NO_INDEX && by_tokens(compiler, &monitors->sections[s]) &&
	    monitors->sections[s].takes_late)
		return;
	if (wait->timed_out) {
		script_emit(compiler, STEP_FIXED, 0, wait->end_ns - wait->start_ns);
		return;
	}
	if (s != NO_INDEX && monitors->waking_link[monitors->sections[s].last_wait] != NO_INDEX)
		link = monitors->waking_link[monitors->sections[s].last_wait];
	if (link == NO_INDEX)
		stays(compiler, wait->end_ns - wait->start_ns);
	else
		script_emit(compiler, STEP_AFTER, link,
			    since(wait, compiler->rec->links[link].at_ns));
}

static void lock_wait_ends(struct compiler *compiler, uint32_t index)
{
	const struct rec_wait *wait = &compiler->rec->waits[index];
	const struct moment *next = next_moment(compiler);

	if (script_try_failed(compiler, index))
		return;
	if (is_hold_begin(compiler, next) &&
	    compiler->rec->extras[next->index].address == wait->address)
		compiler->lock_wait = index;
	else if (!compiler->is_skipping)
		script_emit(compiler, STEP_FIXED, 0, wait->end_ns - wait->start_ns);
}

static void join_ends(struct compiler *compiler, uint32_t index)
{
	const struct rec_wait *wait = &compiler->rec->waits[index];
	uint32_t actor = script_joined_actor(compiler->rec, wait);

	if (actor == NO_INDEX || actor == compiler->thread)
		stays(compiler, wait->end_ns - wait->start_ns);
	else
		script_emit(
			compiler, STEP_JOIN, actor,
			since(wait, compiler->rec->ops[compiler->rec->threads[actor].op].end_ns));
}

static void semaphore_wait_ends(struct compiler *compiler, uint32_t index)
{
	const struct rec_wait *wait = &compiler->rec->waits[index];
	uint32_t semaphore = addresses_find(compiler->semaphores, compiler->process, wait->address);

	if (wait->timed_out || semaphore == NO_INDEX) {
		script_emit(compiler, STEP_FIXED, 0, wait->end_ns - wait->start_ns);
		return;
	}
	script_emit(compiler, STEP_PERMIT, semaphore, compiler->permit_latency_ns[index]);
	taken_add(compiler, wait->end_ns);
}

static void barrier_wait_ends(struct compiler *compiler, uint32_t index)
{
	const struct rec_wait *wait = &compiler->rec->waits[index];
	uint32_t barrier = addresses_find(compiler->barriers, compiler->process, wait->address);

	script_emit(compiler, STEP_BARRIER, barrier, compiler->barrier_latency_ns[index]);
}

static void wait_ends(struct compiler *compiler, uint32_t index)
{
	const struct rec_wait *wait = &compiler->rec->waits[index];

	compiler->waiting = false;
	compiler->now_ns = wait->end_ns;
	if (wait->open)
		return;
	if (wait->reason == REASON_COND)
		condition_wait_ends(compiler, index);
	else if (wait->reason == REASON_MUTEX || wait->reason == REASON_RWLOCK_READ ||
		 wait->reason == REASON_RWLOCK_WRITE)
		lock_wait_ends(compiler, index);
	else if (compiler->is_skipping)
		return;
	else if (wait->reason == REASON_JOIN || wait->reason == REASON_EXEC)
		join_ends(compiler, index);
	else if (wait->reason == REASON_SEM)
		semaphore_wait_ends(compiler, index);
	else if (wait->reason == REASON_BARRIER)
		barrier_wait_ends(compiler, index);
	else if (compiler->script->monitors.waking_link[index] != NO_INDEX && !wait->timed_out)
		condition_wait_ends(compiler, index);
	else
		stays(compiler, wait->end_ns - wait->start_ns);
}

static void wait_begins(struct compiler *compiler, uint32_t index)
{
	pass(compiler, compiler->rec->waits[index].start_ns);
	if (compiler->rec->waits[index].reason == REASON_COND)
		condition_wait_begins(compiler, index);
	compiler->waiting = true;
}

/* Work was done: the finish comes after it, when the thread goes idle. */
static void note_work(struct compiler *compiler, bool is_work)
{
	if (is_work) {
		compiler->has_worked = true;
		compiler->idle_step = NO_INDEX;
	} else if (compiler->idle_step == NO_INDEX) {
		compiler->idle_step = (uint32_t)compiler->script->step_count;
		compiler->idle_ns = compiler->now_ns;
	}
}

static void link_happens(struct compiler *compiler, uint32_t index)
{
	const struct rec_link *link = &compiler->rec->links[index];

	pass(compiler, link->at_ns);
	note_work(compiler, true);
	if (compiler->is_skipping)
		return;
	if (link->kind == LINK_WAKE && compiler->is_awaited[index])
		script_emit(compiler, STEP_SIGNAL, index, 0);
	if (link->kind == LINK_POST)
		script_emit(compiler, STEP_POST,
			    addresses_find(compiler->semaphores, compiler->process, link->address),
			    0);
	uint32_t actor = script_started_actor(compiler->rec, link);
	if (actor != NO_INDEX && !compiler->script->actors[actor].is_spawned) {
		uint64_t start_ns = compiler->script->actors[actor].start_ns;

		compiler->script->actors[actor].is_spawned = true;
		script_emit(compiler, STEP_SPAWN, actor,
			    start_ns > link->at_ns ? start_ns - link->at_ns : 0);
	}
}

/* --- one thread --- */

static bool is_idle(const struct compiler *compiler, uint32_t op)
{
	uint16_t kind = compiler->rec->ops[op].kind;
	bool is_open = compiler->rec->extras && compiler->rec->extras[op].open;

	return kind == KIND_SLEEP || is_open ||
	       (kind == KIND_POLL && (!compiler->rec->extras || !compiler->rec->extras[op].bytes));
}

static const struct transfer *transfer_of(const struct compiler *compiler, uint32_t op)
{
	uint32_t transfer = compiler->script->flows.transfer_of[op];

	return transfer == NO_INDEX ? NULL : &compiler->script->flows.transfers[transfer];
}

/* The read that a poll was for: the next call of the thread, if it reads what another actor
 * wrote. */
static uint32_t read_after(const struct compiler *compiler, uint32_t poll)
{
	const struct timeline *timeline = compiler->timeline;

	for (size_t i = compiler->at + 1; i < timeline->first[compiler->thread + 1]; i++) {
		const struct moment *moment = &timeline->moments[i];
		enum moment_type type = moment_type(moment);

		if (moment->index == poll && type == MOMENT_OP_END)
			continue;
		if (type != MOMENT_OP_BEGIN && type != MOMENT_OP_POINT)
			break;
		const struct transfer *transfer = transfer_of(compiler, moment->index);

		return transfer && !transfer->is_write ? moment->index : NO_INDEX;
	}
	return NO_INDEX;
}

static void poll_begins(struct compiler *compiler, uint32_t op)
{
	const struct rec_op *poll = &compiler->rec->ops[op];
	uint32_t read = compiler->rec->extras[op].bytes ? read_after(compiler, op) : NO_INDEX;

	if (read == NO_INDEX || transfer_of(compiler, read)->first_ns <= poll->start_ns)
		return;
	uint64_t first_ns = transfer_of(compiler, read)->first_ns;

	script_emit(compiler, STEP_AWAIT, compiler->script->flows.transfer_of[read],
		    poll->end_ns > first_ns ? poll->end_ns - first_ns : 0);
	compiler->awaited_op = op;
	compiler->waiting = true;
}

static bool transfer_step(struct compiler *compiler, uint32_t op, uint32_t index)
{
	const struct flows *flows = &compiler->script->flows;

	if (index == NO_INDEX)
		return false;
	const struct transfer *transfer = &flows->transfers[index];

	script_emit(compiler, transfer->is_write ? STEP_SEND : STEP_RECEIVE, index,
		    transfer->latency_ns);
	if (!transfer->is_write && flows->flows[transfer->flow].is_shared)
		taken_add(compiler, compiler->rec->ops[op].end_ns);
	return transfer->has_waited;
}

/* A call between two descriptors takes first, and then gives. */
static void transfer_begins(struct compiler *compiler, uint32_t op)
{
	const struct flows *flows = &compiler->script->flows;
	uint32_t own = flows->transfer_of[op], other = flows->other_of[op];
	bool is_own_first = own == NO_INDEX || !flows->transfers[own].is_write;
	bool has_waited = transfer_step(compiler, op, is_own_first ? own : other);

	if (transfer_step(compiler, op, is_own_first ? other : own) || has_waited) {
		compiler->awaited_op = op;
		compiler->waiting = true;
	}
}

static void stamps(struct compiler *compiler, uint32_t op, bool is_at_end)
{
	size_t count;
	const struct stamp_place *places =
		requests_places(&compiler->script->requests, op, is_at_end, &count);

	for (size_t i = 0; i < count && !compiler->is_skipping; i++)
		script_emit(compiler, STEP_STAMP, places[i].stamp, 0);
}

static void op_begins(struct compiler *compiler, uint32_t op)
{
	pass(compiler, compiler->rec->ops[op].start_ns);
	stamps(compiler, op, false);
	note_work(compiler, !is_idle(compiler, op));
	if (compiler->rec->ops[op].kind == KIND_HOLD)
		hold_begins(compiler, op);
	else if (compiler->rec->ops[op].kind == KIND_POLL && !compiler->is_skipping)
		poll_begins(compiler, op);
	else if (compiler->rec->ops[op].kind == KIND_IO && !compiler->is_skipping)
		transfer_begins(compiler, op);
	open_push(compiler, op);
}

static void op_ends(struct compiler *compiler, uint32_t op)
{
	uint64_t end_ns = compiler->rec->ops[op].end_ns;

	if (compiler->awaited_op == op) {
		compiler->awaited_op = NO_INDEX;
		compiler->waiting = false;
		compiler->now_ns = end_ns;
	}
	if (compiler->rec->ops[op].kind == KIND_SLEEP && compiler->rec->extras)
		pass_sleep(compiler, op, end_ns);
	pass(compiler, end_ns);
	stamps(compiler, op, true);
	if (compiler->rec->ops[op].kind == KIND_HOLD)
		hold_ends(compiler, op);
	open_remove(compiler, op);
}

/* A sample at the end of a call comes after it. */
static void stretches_end(struct compiler *compiler, uint64_t before_ns)
{
	while (compiler->next_sample < compiler->sample_count &&
	       compiler->samples[compiler->next_sample].at_ns < before_ns)
		stretch_ends(compiler, &compiler->samples[compiler->next_sample++]);
}

/* What a moment is, for telling one stretch of code from another: the call, and where it was
 * made. */
static uint32_t moment_key(const struct compiler *compiler, const struct moment *moment)
{
	const struct recording *rec = compiler->rec;
	enum moment_type type = moment_type(moment);
	uint32_t stack = 0, name = 0;

	if (type == MOMENT_LINK) {
		name = rec->links[moment->index].kind;
	} else if (type == MOMENT_WAIT_BEGIN || type == MOMENT_WAIT_END ||
		   type == MOMENT_WAIT_POINT) {
		stack = rec->waits[moment->index].stack;
		name = rec->waits[moment->index].reason;
	} else {
		stack = rec->extras[moment->index].stack;
		name = rec->ops[moment->index].kind;
	}
	return (stack * 64 + name) * 8 + (uint32_t)type;
}

/* What ran since the last moment was the code between that and this one; 0 = the thread's end. */
static void gap_ends(struct compiler *compiler, uint32_t key)
{
	struct script *script = compiler->script;
	uint32_t place = (compiler->last_key * 0x9e3779b1u ^ key) | 1;

	compiler->last_key = key;
	for (size_t i = compiler->gap_run; i < compiler->runs.run_count; i++)
		compiler->runs.runs[i].key = place;
	compiler->gap_run = compiler->runs.run_count;
	if (!compiler->scope_of_sample)
		return;
	for (size_t i = compiler->gap_step; i < script->step_count; i++) {
		if (script->steps[i].type != STEP_RUN)
			continue;
		script->steps[i].arg =
			scopes_add_place(&script->scopes, script->steps[i].arg, place);
		for (size_t s = compiler->gap_sample; s < compiler->next_sample; s++)
			compiler->scope_of_sample[compiler->samples + s - compiler->rec->samples] =
				script->steps[i].arg;
	}
	compiler->gap_step = script->step_count;
	compiler->gap_sample = compiler->next_sample;
}

static void happen(struct compiler *compiler, const struct moment *moment)
{
	stretches_end(compiler, moment->at_ns);
	switch (moment_type(moment)) {
	case MOMENT_OP_BEGIN:
		op_begins(compiler, moment->index);
		break;
	case MOMENT_OP_END:
		op_ends(compiler, moment->index);
		break;
	case MOMENT_OP_POINT:
		op_begins(compiler, moment->index);
		op_ends(compiler, moment->index);
		break;
	case MOMENT_WAIT_BEGIN:
		note_work(compiler, !compiler->rec->waits[moment->index].open);
		wait_begins(compiler, moment->index);
		break;
	case MOMENT_WAIT_END:
		wait_ends(compiler, moment->index);
		break;
	case MOMENT_WAIT_POINT:
		wait_begins(compiler, moment->index);
		wait_ends(compiler, moment->index);
		break;
	case MOMENT_LINK:
		link_happens(compiler, moment->index);
		break;
	}
	gap_ends(compiler, moment_key(compiler, moment));
}

static void thread_prepare(struct compiler *compiler, uint32_t thread)
{
	const struct rec_thread *rec_thread = &compiler->rec->threads[thread];

	compiler->thread = thread;
	compiler->process = rec_thread->process;
	compiler->thread_class =
		rec_thread->op == NO_INDEX ? NO_INDEX : compiler->classes->of_op[rec_thread->op];
	compiler->scope = compiler->lock_wait = compiler->idle_step = compiler->awaited_op =
		NO_INDEX;
	compiler->open_count = 0;
	compiler->is_skipping = compiler->waiting = compiler->has_worked = false;
	compiler->tries = (struct tries){ .lock = NO_INDEX };
	compiler->now_ns = compiler->script->actors[thread].start_ns;
	compiler->sample_count = compiler->next_sample = 0;
	compiler->last_key = 0;
	compiler->gap_step = compiler->script->step_count;
	compiler->gap_sample = 0;
	compiler->gap_run = compiler->runs.run_count;
	if (compiler->script->was_crowded || compiler->scope_of_sample)
		compiler->samples =
			samples_of_thread(compiler->rec, thread, &compiler->sample_count);
	compiler->cpu_ns = 0;
	compiler->script->actors[thread].first_step = (uint32_t)compiler->script->step_count;
}

/* The first thread of an image that ended by exec starts that of the next. */
static void goes_on_by_exec(struct compiler *compiler, uint32_t thread)
{
	const struct recording *rec = compiler->rec;
	uint32_t process = compiler->process;
	uint32_t next = script_first_thread(rec, process) == thread
				? script_next_image(rec, process)
				: NO_INDEX;
	uint32_t actor = next == NO_INDEX ? NO_INDEX : script_first_thread(rec, next);

	if (actor == NO_INDEX)
		return;
	uint64_t start_ns = compiler->script->actors[actor].start_ns;

	compiler->script->actors[actor].is_spawned = true;
	script_emit(compiler, STEP_SPAWN, actor,
		    start_ns > compiler->now_ns ? start_ns - compiler->now_ns : 0);
}

/*
 * The finish of a thread that was still there at the end of the recording is where it last went
 * idle: nothing that comes after that starts or ends anything, and it is left out.
 */
static void thread_finish(struct compiler *compiler, uint32_t thread)
{
	const struct rec_thread *rec_thread = &compiler->rec->threads[thread];
	const struct rec_op *op =
		rec_thread->op == NO_INDEX ? NULL : &compiler->rec->ops[rec_thread->op];
	bool ended = op && !compiler->rec->extras[rec_thread->op].open;

	if (ended) {
		stretches_end(compiler, op->end_ns);
		pass(compiler, op->end_ns);
		stretches_end(compiler, UINT64_MAX);
		gap_ends(compiler, 0);
	}
	/* the last sample was taken on the way out */
	script_runs_end_stretch(&compiler->runs,
				ended && compiler->sample_count ? ENDING_NS_MAX : UINT64_MAX);
	compiler->finish_ns[thread] = compiler->now_ns;
	compiler->worked[thread] = compiler->has_worked;
	if (!ended && compiler->has_worked && compiler->idle_step != NO_INDEX) {
		compiler->script->step_count = compiler->idle_step;
		script_runs_drop(&compiler->runs, compiler->idle_step);
		compiler->finish_ns[thread] = compiler->idle_ns;
	}
	goes_on_by_exec(compiler, thread);
	script_emit(compiler, STEP_MARK, 0, 0);
	script_emit(compiler, STEP_END, 0, 0);
}

void script_compile_thread(struct compiler *compiler, uint32_t thread)
{
	thread_prepare(compiler, thread);
	for (compiler->at = compiler->timeline->first[thread];
	     compiler->at < compiler->timeline->first[thread + 1]; compiler->at++)
		happen(compiler, &compiler->timeline->moments[compiler->at]);
	thread_finish(compiler, thread);
}

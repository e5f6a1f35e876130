/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiles each thread's timeline to steps.
 *
 * Method. One sweep over a thread's moments, each of which goes to the file for its sort:
 * script_locks.c, _waits.c, _transfers.c, _tries.c, _declared.c. All of them write their steps by
 * script_emit.c, which also keeps the stack of the thread's open ops.
 *
 * Actors finish where their last piece of work ended: a server's thread that sits in a poll when
 * the recording ends, or has seen nothing but timeouts for a while, had finished before that.
 *
 * One thread.
 */
#include "format.h"
#include "script_parts.h"

/* A sample ends a stretch: it says how much CPU time was used since the last one. */
static void stretch_ends(struct compiler *compiler, const struct rec_sample *sample)
{
	bool is_first = sample == compiler->samples;

	script_pass(compiler, sample->at_ns);
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
	uint64_t overrun_max_ns = compiler->script->made_crowd ? WAKE_UP_NS_MAX : UINT64_MAX;

	if (compiler->is_skipping || compiler->waiting || to_ns <= compiler->now_ns)
		return;
	script_runs_called(&compiler->runs);
	uint64_t overrun_ns = asked_ns && length_ns > asked_ns ? length_ns - asked_ns : 0;
	if (extra->absolute && asked_ns <= to_ns - start_ns) {
		script_emit(compiler, STEP_UNTIL, 0, start_ns + asked_ns);
		overrun_ns = to_ns - (start_ns + asked_ns);
	} else {
		script_emit(compiler, STEP_DELAY, script_scope(compiler), length_ns - overrun_ns);
	}
	script_emit(compiler, STEP_OVERRUN, script_scope(compiler),
		    overrun_ns < overrun_max_ns ? overrun_ns : overrun_max_ns);
	compiler->now_ns = to_ns;
}

/* --- what happens --- */

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

static void spawn(struct compiler *compiler, uint32_t actor)
{
	if (actor == NO_INDEX || compiler->script->actors[actor].is_spawned)
		return;
	uint64_t start_ns = compiler->script->actors[actor].start_ns;

	compiler->script->actors[actor].is_spawned = true;
	script_emit(compiler, STEP_SPAWN, actor,
		    start_ns > compiler->now_ns ? start_ns - compiler->now_ns : 0);
}

static void link_happens(struct compiler *compiler, uint32_t index)
{
	const struct rec_link *link = &compiler->rec->links[index];

	script_pass(compiler, link->at_ns);
	script_tries_give_up(compiler);
	note_work(compiler, true);
	if (compiler->is_skipping)
		return;
	if (link->kind == LINK_WAKE && compiler->is_awaited[index]) {
		script_emit(compiler, STEP_SIGNAL, index, 0);
		if (script_wake_costs(compiler->script, index))
			script_emit(compiler, STEP_WAKING, script_scope(compiler), 0);
	}
	if (link->kind == LINK_POST)
		script_emit(compiler, STEP_POST,
			    addresses_find(compiler->semaphores, compiler->process, link->address),
			    0);
	spawn(compiler, script_started_actor(compiler->rec, link));
}

/* Threads that were started past every hook, by their likely creator. */
static void adopt(struct compiler *compiler)
{
	while (compiler->next_adoption < compiler->adoption_count &&
	       compiler->adoptions[compiler->next_adoption].moment <= compiler->at &&
	       !compiler->is_skipping && !compiler->waiting) {
		note_work(compiler, true);
		spawn(compiler, compiler->adoptions[compiler->next_adoption++].actor);
	}
}

/* --- one thread --- */

static bool is_idle(const struct compiler *compiler, uint32_t op)
{
	uint16_t kind = compiler->rec->ops[op].kind;
	bool is_open = compiler->rec->extras && compiler->rec->extras[op].open;

	if (compiler->rec->extras && script_is_holding(compiler))
		return false;
	return kind == KIND_SLEEP || is_open ||
	       (kind == KIND_POLL && (!compiler->rec->extras || !compiler->rec->extras[op].bytes));
}

static void op_begins(struct compiler *compiler, uint32_t op)
{
	script_op_belongs(compiler, op);
	script_pass(compiler, compiler->rec->ops[op].start_ns);
	if (compiler->script->flows.transfer_of[op] != NO_INDEX)
		script_tries_give_up(compiler);
	script_stamps(compiler, op, STAMP_BEGIN);
	note_work(compiler, !is_idle(compiler, op));
	if (compiler->rec->ops[op].kind == KIND_HOLD)
		script_hold_begins(compiler, op);
	else if (compiler->rec->ops[op].kind == KIND_POLL && !compiler->is_skipping)
		script_poll_begins(compiler, op);
	else if (compiler->rec->ops[op].kind == KIND_IO && !compiler->is_skipping)
		script_transfer_begins(compiler, op);
	script_open(compiler, op);
}

static void op_ends(struct compiler *compiler, uint32_t op)
{
	uint64_t end_ns = compiler->rec->ops[op].end_ns;

	if (compiler->awaited_op == op) {
		script_runs_slept(&compiler->runs, end_ns - compiler->rec->ops[op].start_ns);
		compiler->awaited_op = NO_INDEX;
		compiler->waiting = false;
		compiler->now_ns = end_ns;
	}
	if (compiler->rec->ops[op].kind == KIND_SLEEP && compiler->rec->extras)
		pass_sleep(compiler, op, end_ns);
	script_pass(compiler, end_ns);
	if (script_write_wakes(compiler, op))
		script_emit(compiler, STEP_WAKING, script_scope(compiler), 0);
	if (!script_ends_elsewhere(compiler, op))
		script_stamps(compiler, op, STAMP_END);
	if (compiler->rec->ops[op].kind == KIND_HOLD)
		script_hold_ends(compiler, op);
	script_close(compiler, op);
}

/* A sample at the end of a call comes after it. */
static void stretches_end(struct compiler *compiler, uint64_t before_ns)
{
	while (compiler->next_sample < compiler->sample_count &&
	       compiler->samples[compiler->next_sample].at_ns < before_ns)
		stretch_ends(compiler, &compiler->samples[compiler->next_sample++]);
}

static size_t samples_passed(const struct compiler *compiler)
{
	return compiler->first_sample + compiler->next_sample;
}

static void gap_ends(struct compiler *compiler, const struct moment *moment)
{
	script_places_end(&compiler->places, compiler->script, &compiler->runs, moment,
			  samples_passed(compiler));
}

static void happen(struct compiler *compiler, const struct moment *moment)
{
	script_adopted_until(compiler, moment->at_ns);
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
		script_wait_begins(compiler, moment->index);
		break;
	case MOMENT_WAIT_END:
		script_wait_ends(compiler, moment->index);
		break;
	case MOMENT_WAIT_POINT:
		script_wait_begins(compiler, moment->index);
		script_wait_ends(compiler, moment->index);
		break;
	case MOMENT_LINK:
		link_happens(compiler, moment->index);
		break;
	}
	gap_ends(compiler, moment);
}

static void thread_prepare(struct compiler *compiler, uint32_t thread)
{
	const struct rec_thread *rec_thread = &compiler->rec->threads[thread];

	compiler->thread = thread;
	compiler->process = rec_thread->process;
	compiler->thread_class =
		rec_thread->op == NO_INDEX ? NO_INDEX : compiler->classes->of_op[rec_thread->op];
	compiler->scope = compiler->lock_wait = compiler->idle_step = compiler->awaited_op =
		compiler->adopted = NO_INDEX;
	compiler->open_count = compiler->frame_count = compiler->retried_until = 0;
	compiler->is_skipping = compiler->waiting = compiler->has_worked = false;
	compiler->tries = (struct tries){ .lock = NO_INDEX };
	compiler->now_ns = compiler->script->actors[thread].start_ns;
	compiler->sample_count = compiler->next_sample = 0;
	compiler->first_sample = 0;
	if (compiler->script->was_crowded || compiler->places.step_of_sample) {
		compiler->samples =
			samples_of_thread(compiler->rec, thread, &compiler->sample_count);
		compiler->first_sample = (size_t)(compiler->samples - compiler->rec->samples);
	}
	script_places_begin_thread(&compiler->places, compiler->script->step_count,
				   compiler->runs.run_count, compiler->first_sample);
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

	spawn(compiler, actor);
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
		script_adopted_until(compiler, op->end_ns);
		stretches_end(compiler, op->end_ns);
		script_pass(compiler, op->end_ns);
		stretches_end(compiler, UINT64_MAX);
		gap_ends(compiler, NULL);
	}
	script_tries_end(compiler);
	/* the last sample was taken on the way out */
	script_runs_end_stretch(&compiler->runs,
				ended && compiler->sample_count ? ENDING_NS_MAX : UINT64_MAX);
	compiler->finish_ns[thread] = compiler->now_ns;
	compiler->worked[thread] = compiler->has_worked;
	if (!ended && compiler->has_worked && compiler->idle_step != NO_INDEX) {
		compiler->script->step_count = compiler->idle_step;
		script_runs_drop(&compiler->runs, compiler->idle_step);
		script_places_drop(&compiler->places, compiler->idle_step,
				   samples_passed(compiler));
		compiler->finish_ns[thread] = compiler->idle_ns;
	}
	goes_on_by_exec(compiler, thread);
	script_emit(compiler, STEP_MARK, 0, 0);
	script_emit(compiler, STEP_END, 0, 0);
}

void script_compile_thread(struct compiler *compiler, uint32_t thread)
{
	size_t end = compiler->timeline->first[thread + 1];

	thread_prepare(compiler, thread);
	for (compiler->at = compiler->timeline->first[thread]; compiler->at < end; compiler->at++) {
		happen(compiler, &compiler->timeline->moments[compiler->at]);
		adopt(compiler);
	}
	while (compiler->next_adoption < compiler->adoption_count &&
	       compiler->adoptions[compiler->next_adoption].moment < end)
		compiler->next_adoption++;
	thread_finish(compiler, thread);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiles each thread's timeline to steps.
 *
 * Method. One sweep over a thread's moments, each of which goes to the file for its sort:
 * script_locks.c, _waits.c, _transfers.c, _tries.c, _declared.c. All of them write their steps by
 * script_emit.c, which also keeps the stack of the thread's open ops.
 *
 * An actor finishes where its last piece of work ended. A server's thread that sits in a poll when
 * the recording ends, or saw nothing but timeouts for a while, had finished before that.
 *
 * One thread.
 */
#include "base/assumptions.h"
#include "format.h"
#include "script_parts.h"

#include <assert.h>
#include <math.h>

/* A sample ends a stretch: it says how much CPU time was used since the last one. */
static void stretch_ends(struct compiler *compiler, const struct rec_sample *sample)
{
	bool is_first = sample == compiler->thread.samples;

	assert(sample->thread == compiler->thread.index);
	script_pass(compiler, sample->at_ns);
	script_runs_end_stretch(&compiler->gathered.runs,
				is_first ? UINT64_MAX : sample->cpu_ns - compiler->thread.cpu_ns);
	compiler->thread.cpu_ns = sample->cpu_ns;
}

static bool is_in_sleep(const struct compiler *compiler)
{
	const struct thread_state *thread = &compiler->thread;

	return thread->open_count &&
	       compiler->rec->ops[thread->open[thread->open_count - 1]].kind == KIND_SLEEP;
}

/* The schedules that the thread has come to by then. */
static void schedules_until(struct compiler *compiler, uint64_t at_ns)
{
	const struct deadlines *deadlines = &compiler->found->deadlines;
	struct thread_state *thread = &compiler->thread;
	size_t *next = &compiler->gathered.next_origin;

	for (; *next < deadlines->origin_count; (*next)++) {
		const struct deadline_origin *origin = &deadlines->origins[*next];

		if (origin->thread < thread->index)
			continue;
		if (origin->thread > thread->index || origin->at_ns > at_ns ||
		    thread->is_skipping || thread->is_waiting || is_in_sleep(compiler))
			return;
		script_pass(compiler, origin->at_ns);
		script_emit(compiler, STEP_SCHEDULE, 0, 0);
		thread->beat_ns = thread->now_ns;
	}
}

/* Loops that end by the clock do so however fast their turns are. */
static void clock_until(struct compiler *compiler, uint64_t at_ns)
{
	const struct clock_reads *reads = &compiler->script->clock_reads;
	struct thread_state *thread = &compiler->thread;
	size_t *next = &compiler->gathered.next_clock_mark;

	for (; *next < reads->mark_count; (*next)++) {
		const struct clock_mark *mark = &reads->marks[*next];

		if (mark->thread < thread->index)
			continue;
		if (mark->thread > thread->index || mark->at_ns > at_ns || thread->is_skipping ||
		    thread->is_waiting || is_in_sleep(compiler))
			return;
		script_pass(compiler, mark->at_ns);
		script_emit(compiler, mark->is_end ? STEP_TIMED : STEP_TIMING, mark->loop,
			    mark->is_end ? reads->loops[mark->loop].length_ns : 0);
	}
}

static void pass_deadline(struct compiler *compiler, uint64_t deadline_ns)
{
	uint64_t beat_ns = compiler->thread.beat_ns;

	script_emit(compiler, STEP_UNTIL, script_scope(compiler),
		    deadline_ns > beat_ns ? deadline_ns - beat_ns : 0);
	if (deadline_ns > beat_ns)
		compiler->thread.beat_ns = deadline_ns;
}

/* A sleep scales by the time that was asked for, and a schedule by the distance of its deadlines.
 * The overrun stays as long as it sleeps at all. */
static void pass_sleep(struct compiler *compiler, uint32_t op, uint64_t to_ns)
{
	const struct rec_op_extra *extra = &compiler->rec->extras[op];
	uint64_t start_ns = compiler->rec->ops[op].start_ns, asked_ns = extra->amount;
	uint64_t length_ns = to_ns - compiler->thread.now_ns;

	if (compiler->thread.is_skipping || compiler->thread.is_waiting ||
	    to_ns <= compiler->thread.now_ns)
		return;
	script_runs_called(&compiler->gathered.runs);
	uint64_t overrun_ns = asked_ns && length_ns > asked_ns ? length_ns - asked_ns : 0;
	if (compiler->found->deadlines.is_scheduled[op] && asked_ns <= to_ns - start_ns) {
		pass_deadline(compiler, start_ns + asked_ns);
		overrun_ns = to_ns - (start_ns + asked_ns);
	} else {
		script_emit(compiler, STEP_DELAY, script_scope(compiler), length_ns - overrun_ns);
	}
	script_emit(compiler, STEP_OVERRUN, script_scope(compiler), overrun_ns);
	script_quantum_passes(compiler, length_ns);
	compiler->thread.now_ns = to_ns;
}

/* --- timers with a descriptor --- */

static bool is_of_timer(const struct compiler *compiler, uint32_t op)
{
	const struct rec_op *call = &compiler->rec->ops[op];

	return call->kind == KIND_IO && !compiler->thread.is_skipping &&
	       strcmp(compiler->rec->strings[call->ident], "timerfd") == 0;
}

/* The times of the timer are so long after this. */
static void timer_begins(struct compiler *compiler, uint32_t op)
{
	if (!is_of_timer(compiler, op) ||
	    strcmp(compiler->rec->strings[compiler->rec->ops[op].name], "timerfd_settime") != 0)
		return;
	script_emit(compiler, STEP_SCHEDULE, 0, 0);
	compiler->thread.beat_ns = compiler->thread.now_ns;
}

/* A read that waited did so until the timer's next time. */
static void timer_ends(struct compiler *compiler, uint32_t op)
{
	const struct rec_op *call = &compiler->rec->ops[op];

	if (!is_of_timer(compiler, op) || compiler->thread.is_waiting ||
	    call->end_ns - call->start_ns <= assume.copy ||
	    flow_direction_of(compiler->rec->strings[call->name]) != FLOW_READ)
		return;
	script_runs_called(&compiler->gathered.runs);
	pass_deadline(compiler, call->end_ns);
	compiler->thread.now_ns = call->end_ns;
}

/* --- what happens --- */

/* Work was done: the finish comes after it, when the thread goes idle. */
static void note_work(struct compiler *compiler, bool is_work)
{
	if (is_work) {
		compiler->thread.has_worked = true;
		compiler->thread.idle_step = NO_INDEX;
	} else if (compiler->thread.idle_step == NO_INDEX) {
		compiler->thread.idle_step = (uint32_t)compiler->script->step_count;
		compiler->thread.idle_ns = compiler->thread.now_ns;
	}
}

static void spawn(struct compiler *compiler, uint32_t actor)
{
	if (actor == NO_INDEX || compiler->script->actors[actor].is_spawned)
		return;
	uint64_t start_ns = compiler->script->actors[actor].start_ns;

	compiler->script->actors[actor].is_spawned = true;
	script_emit(compiler, STEP_SPAWN, actor,
		    start_ns > compiler->thread.now_ns ? start_ns - compiler->thread.now_ns : 0);
}

static void link_happens(struct compiler *compiler, uint32_t index)
{
	const struct rec_link *link = &compiler->rec->links[index];

	assert(index < compiler->rec->link_count);
	script_pass(compiler, link->at_ns);
	script_tries_give_up(compiler);
	note_work(compiler, true);
	if (compiler->thread.is_skipping)
		return;
	bool is_signal =
		link->kind == LINK_WAKE || link->kind == LINK_SIGNAL || link->kind == LINK_END;
	if ((is_signal && compiler->found->is_awaited[index]) || compiler->found->is_given[index]) {
		script_emit(compiler, STEP_SIGNAL, index, 0);
		if (link->kind == LINK_WAKE && script_wake_costs(compiler->script, index))
			script_emit(compiler, STEP_WAKING, script_scope(compiler), 0);
	}
	bool is_call = compiler->found->turns.is_call && compiler->found->turns.is_call[index];
	if (link->kind == LINK_POST && !compiler->found->meetings.is_post[index] && !is_call)
		script_posts(compiler, index);
	spawn(compiler, script_started_actor(compiler->rec, link));
	script_turn_at_link(compiler, index);
	if (compiler->found->meetings.of_link[index] != NO_INDEX) {
		compiler->thread.meeting = compiler->found->meetings.of_link[index];
		script_meets_last(compiler);
	}
}

/* Threads that were started past every hook, by their likely creator. */
static void adopt(struct compiler *compiler)
{
	while (compiler->gathered.next_adoption < compiler->found->adoption_count &&
	       compiler->found->adoptions[compiler->gathered.next_adoption].moment <=
		       compiler->thread.at &&
	       !compiler->thread.is_skipping && !compiler->thread.is_waiting) {
		note_work(compiler, true);
		spawn(compiler,
		      compiler->found->adoptions[compiler->gathered.next_adoption++].actor);
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
	       (kind == KIND_POLL && (!compiler->rec->extras || !compiler->rec->extras[op].amount));
}

static void op_begins(struct compiler *compiler, uint32_t op)
{
	assert(op < compiler->rec->op_count);
	enum kind kind = (enum kind)compiler->rec->ops[op].kind;
	script_op_belongs(compiler, op);
	script_pass(compiler, compiler->rec->ops[op].start_ns);
	if (compiler->script->flows.transfer_of[op] != NO_INDEX)
		script_tries_give_up(compiler);
	note_work(compiler, !is_idle(compiler, op));
	if (kind == KIND_SLEEP)
		script_look_begins(compiler, op);
	timer_begins(compiler, op);
	bool is_done = !compiler->thread.is_skipping && script_visit_begins(compiler, op);
	script_stamps(compiler, op, STAMP_BEGIN);
	if (kind != KIND_HOLD)
		script_turn_opens(compiler, op);
	if (kind == KIND_HOLD)
		script_hold_begins(compiler, op);
	else if (kind == KIND_POLL && !compiler->thread.is_skipping && !is_done)
		script_poll_begins(compiler, op);
	else if (kind == KIND_IO && !compiler->thread.is_skipping)
		script_transfer_begins(compiler, op);
	script_open(compiler, op);
}

static void op_ends(struct compiler *compiler, uint32_t op)
{
	uint64_t end_ns = compiler->rec->ops[op].end_ns;

	if (compiler->thread.awaited_op == op) {
		script_runs_slept(&compiler->gathered.runs,
				  end_ns - compiler->rec->ops[op].start_ns);
		compiler->thread.awaited_op = NO_INDEX;
		compiler->thread.is_waiting = false;
		compiler->thread.now_ns = end_ns;
		script_poll_times_out(compiler, op);
	}
	if (compiler->rec->ops[op].kind == KIND_SLEEP && compiler->rec->extras)
		pass_sleep(compiler, op, end_ns);
	timer_ends(compiler, op);
	script_pass(compiler, end_ns);
	if (compiler->rec->ops[op].kind == KIND_SLEEP)
		script_look_ends(compiler, op);
	if (script_write_wakes(compiler, op))
		script_emit(compiler, STEP_WAKING, script_scope(compiler), 0);
	if (!script_ends_elsewhere(compiler, op))
		script_stamps(compiler, op, STAMP_END);
	if (compiler->rec->ops[op].kind == KIND_HOLD)
		script_hold_ends(compiler, op);
	script_close(compiler, op);
	script_meets_last(compiler);
	if (!compiler->thread.is_skipping)
		script_loop_ends(compiler, op);
	if (compiler->rec->ops[op].kind == KIND_HOLD)
		script_turn_at_hold_end(compiler, op);
}

/* A sample at the end of a call comes after it. */
static void stretches_end(struct compiler *compiler, uint64_t before_ns)
{
	while (compiler->thread.next_sample < compiler->thread.sample_count &&
	       compiler->thread.samples[compiler->thread.next_sample].at_ns < before_ns)
		stretch_ends(compiler, &compiler->thread.samples[compiler->thread.next_sample++]);
}

static size_t samples_passed(const struct compiler *compiler)
{
	return compiler->thread.first_sample + compiler->thread.next_sample;
}

static void gap_ends(struct compiler *compiler, const struct moment *moment)
{
	script_places_end(&compiler->gathered.places, compiler->script, &compiler->gathered.runs,
			  moment, samples_passed(compiler));
}

static void happen(struct compiler *compiler, const struct moment *moment)
{
	script_adopted_until(compiler, moment->at_ns);
	stretches_end(compiler, moment->at_ns);
	schedules_until(compiler, moment->at_ns);
	clock_until(compiler, moment->at_ns);
	script_marks_until(compiler, moment->at_ns);
	script_pieces_before(compiler);
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
		/* a thread that comes to a barrier is waited for */
		if (compiler->rec->waits[moment->index].reason == REASON_BARRIER)
			note_work(compiler, true);
		script_wait_begins(compiler, moment->index);
		script_wait_ends(compiler, moment->index);
		break;
	case MOMENT_LINK:
		link_happens(compiler, moment->index);
		break;
	}
	script_halts_until(compiler, moment->at_ns);
	gap_ends(compiler, moment);
	script_pieces_behind(compiler);
}

static void samples_prepare(struct compiler *compiler)
{
	struct thread_state *thread = &compiler->thread;

	if (!compiler->script->was_crowded && !compiler->gathered.places.step_of_sample)
		return;
	thread->samples = samples_of_thread(compiler->rec, thread->index, &thread->sample_count);
	if (thread->samples)
		thread->first_sample = (size_t)(thread->samples - compiler->rec->samples);
}

/* Of one program alone all is said by what it does. */
static uint32_t program_of(const struct compiler *compiler, uint32_t process)
{
	const struct recording *rec = compiler->rec;
	uint32_t op = rec->processes[process].op;

	for (size_t p = 0; op != NO_INDEX && p < rec->process_count; p++)
		if (rec->processes[p].op != NO_INDEX &&
		    rec->ops[rec->processes[p].op].name != rec->ops[op].name)
			return CONTEXT_PROGRAM | rec->ops[op].name;
	return 0;
}

static void thread_prepare(struct compiler *compiler, uint32_t index)
{
	const struct rec_thread *rec_thread = &compiler->rec->threads[index];
	struct actor *actor = &compiler->script->actors[index];
	uint32_t class =
		rec_thread->op == NO_INDEX ? NO_INDEX : compiler->classes->of_op[rec_thread->op];

	compiler->thread = (struct thread_state){ .index = index,
						  .process = rec_thread->process,
						  .class = class,
						  .at = compiler->timeline->first[index],
						  .now_ns = actor->start_ns,
						  .scope = NO_INDEX,
						  .awaited_op = NO_INDEX,
						  .lock_wait = NO_INDEX,
						  .tries = { .lock = NO_INDEX },
						  .adopted = NO_INDEX,
						  .meeting = NO_INDEX,
						  .turn = NO_INDEX,
						  .has_token = NO_INDEX,
						  .idle_step = NO_INDEX };
	actor->first_step = (uint32_t)compiler->script->step_count;
	if (compiler->found->startup_ns[index])
		actor->startup_steps = compiler->found->recorder_ns[index] ? 2 : 1;
	/* how much of it is known when its start is */
	for (uint32_t i = 0; i < actor->startup_steps; i++)
		script_emit(compiler, STEP_RUN, script_scope(compiler), 0);
	samples_prepare(compiler);
	script_places_begin_thread(&compiler->gathered.places,
				   program_of(compiler, rec_thread->process),
				   compiler->script->step_count, compiler->gathered.runs.run_count,
				   compiler->thread.first_sample);
}

/* The first thread of an image that ended by exec starts that of the next. */
static void goes_on_by_exec(struct compiler *compiler, uint32_t thread)
{
	const struct recording *rec = compiler->rec;
	uint32_t process = compiler->thread.process;
	uint32_t next = script_first_thread(rec, process) == thread
				? script_next_image(rec, process)
				: NO_INDEX;
	uint32_t actor = next == NO_INDEX ? NO_INDEX : script_first_thread(rec, next);

	spawn(compiler, actor);
}

/* The thread's script ends where it went idle; a take that came after that takes no job. */
static void idle_end_drop(struct compiler *compiler)
{
	struct gathered *gathered = &compiler->gathered;
	uint32_t idle_step = compiler->thread.idle_step;

	assert(idle_step >= compiler->script->actors[compiler->thread.index].first_step &&
	       idle_step <= compiler->script->step_count);
	compiler->script->step_count = idle_step;
	script_origins_drop(compiler, idle_step);
	script_tries_drop(compiler->script, compiler->thread.index);
	script_turns_drop(compiler->script, compiler->thread.index);
	script_runs_drop(&gathered->runs, idle_step);
	script_places_drop(&gathered->places, idle_step, samples_passed(compiler));
	while (gathered->taken_count && gathered->taken[gathered->taken_count - 1].step > idle_step)
		gathered->taken_count--;
	gathered->finish_ns[compiler->thread.index] = compiler->thread.idle_ns;
}

/*
 * A thread that was still there at the end of the recording finishes where it last went idle. Its
 * later steps start and end nothing, and are left out.
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
		clock_until(compiler, op->end_ns);
		script_pass(compiler, op->end_ns);
		stretches_end(compiler, UINT64_MAX);
		gap_ends(compiler, NULL);
		script_marks_until(compiler, UINT64_MAX);
	}
	script_tries_end(compiler);
	/* the last sample was taken on the way out */
	script_runs_end_stretch(&compiler->gathered.runs, ended && compiler->thread.sample_count
								  ? assume.ending
								  : UINT64_MAX);
	const struct waited queued = script_waited(compiler);

	script_runs_end_thread(&compiler->gathered.runs,
			       script_waited_most_ns(compiler, &queued, ended));
	compiler->gathered.queued_ns[thread] = queued.ns;
	compiler->gathered.knows_queue[thread] = queued.is_known;
	compiler->gathered.finish_ns[thread] = compiler->thread.now_ns;
	compiler->gathered.worked[thread] = compiler->thread.has_worked;
	compiler->script->actors[thread].rests = !ended && !compiler->thread.has_worked;
	if (!ended && compiler->thread.has_worked && compiler->thread.idle_step != NO_INDEX)
		idle_end_drop(compiler);
	script_quantum_ends(compiler);
	script_loop_ends(compiler, NO_INDEX);
	script_told_ends(compiler);
	goes_on_by_exec(compiler, thread);
	if (compiler->found->children[thread].semaphore != NO_INDEX)
		script_emit(compiler, STEP_POST, compiler->found->children[thread].semaphore, 0);
	script_emit(compiler, STEP_MARK, 0, 0);
	script_emit(compiler, STEP_END, 0, 0);
}

void script_compile_thread(struct compiler *compiler, uint32_t thread)
{
	size_t end = compiler->timeline->first[thread + 1];

	assert(thread < compiler->rec->thread_count);
	thread_prepare(compiler, thread);
	for (; compiler->thread.at < end; compiler->thread.at++) {
		happen(compiler, &compiler->timeline->moments[compiler->thread.at]);
		adopt(compiler);
	}
	while (compiler->gathered.next_adoption < compiler->found->adoption_count &&
	       compiler->found->adoptions[compiler->gathered.next_adoption].moment < end)
		compiler->gathered.next_adoption++;
	thread_finish(compiler, thread);
}

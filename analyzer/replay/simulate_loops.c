/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event loops in a simulation: which connection is visited next.
 *
 * A poll finds the connections whose data are there, those first whose data came first. Their
 * visits are made one after the other, whatever the recorded order was. Then come the work of the
 * turn and the visits that were put off, and the next poll. Visits of one connection keep their
 * order. An answer to it for others comes when they have done what it needs. All visits before a
 * barrier come first (infer/loops.h). In a replay with more turns than
 * were recorded the list of their work begins anew.
 *
 * A connection may be to be answered when a timer has run. That begins with the end of the visit
 * before. A loop that sleeps goes on when the first one has run.
 *
 * A tick, which follows a poll in vain, comes so long after the thread came to its loop. A loop
 * that slept until later is taken to have made it. Ticks behind the last visit are left out.
 *
 * Any thread of a loop makes any visit, and finds one at a time. Where one of several threads has
 * barriers between its visits there is no telling whose visits they keep back. Those threads keep
 * the recorded order.
 *
 * Barriers keep something of that order, too. Time in which a loop waits, and data are there for a
 * visit behind the barrier, is the replay's error. In the unchanged run there is next to none.
 *
 * All is done in time linear in the number of visits. One thread a simulation.
 */
#include "simulate_loops_parts.h"

#include <assert.h>

/* There must be one. */
static const struct planned_visit *next_visit(const struct event_loops *loops,
					      const struct source *source)
{
	return &loops->plan[source->first + source->done];
}

/* Of all that the visit needs. */
static bool jobs_are_done(const struct simulation *sim, uint32_t job)
{
	while (job != NO_INDEX && sim->is_done[job])
		job = sim->script->also_of_job[job];
	return job == NO_INDEX;
}

/* Loops that share a listener get the connections that they had: those stay theirs. */
static bool has_data(const struct simulation *sim, const struct source *source,
		     const struct planned_visit *visit)
{
	const struct channel *channel = &sim->channels[source->flow];

	if (visit->job != NO_INDEX)
		return jobs_are_done(sim, visit->job);
	if (visit->is_accept)
		return channel->written >= visit->needed && channel->claimed + 1 >= visit->needed;
	return !visit->needed || channel->written >= channel->claimed + visit->needed;
}

static void becomes_early(struct loop *loop, struct source *source, uint64_t now_ns)
{
	loop->early_count += !source->is_early;
	source->is_early = true;
	if (loop->sleepers.first != NO_INDEX && loop->since_ns == UINT64_MAX)
		loop->since_ns = now_ns;
}

static void queue_add(struct event_loops *loops, struct source_queue *queue, uint32_t index)
{
	loops->sources[index].is_ready = true;
	loops->sources[index].next = NO_INDEX;
	if (queue->first == NO_INDEX)
		queue->first = index;
	else
		loops->sources[queue->last].next = index;
	queue->last = index;
	queue->count++;
}

static uint32_t queue_take(struct event_loops *loops, struct source_queue *queue)
{
	uint32_t index = queue->first;

	if (index == NO_INDEX)
		return NO_INDEX;
	queue->first = loops->sources[index].next;
	queue->count--;
	loops->sources[index].is_ready = false;
	return index;
}

/* The timer of the source's next visit is still to run. */
static bool is_to_run(struct loop *loop, struct source *source, uint32_t index, uint64_t now_ns)
{
	if (source->due_ns <= now_ns)
		return false;
	if (!source->is_armed)
		agenda_add(&loop->timers, index, source->due_ns);
	source->is_armed = true;
	return true;
}

/* Puts it into the queue, if it is to be visited now. */
static void source_offer(struct simulation *sim, uint32_t index, uint64_t now_ns)
{
	struct event_loops *loops = sim->loops;
	struct source *source = &loops->sources[index];
	struct loop *loop = &loops->loops[source->loop];

	if (source->is_ready || source->is_visited || source->done == source->count)
		return;
	const struct planned_visit *visit = next_visit(loops, source);

	if (visit->is_timed ? is_to_run(loop, source, index, now_ns)
			    : !has_data(sim, source, visit))
		return;
	if (visit->stretch != loop->stretch) {
		becomes_early(loop, source, now_ns);
		return;
	}
	queue_add(loops, &loop->ready, index);
	__builtin_prefetch(&sim->script->steps[visit->step + 1]); /* far from other visits */
	simulate_wake_first(sim, &loop->sleepers, now_ns, false);
}

void simulate_loop_has(struct simulation *sim, uint32_t flow, uint64_t now_ns)
{
	uint32_t source = sim->loops ? sim->loops->source_of_flow[flow] : NO_INDEX;

	for (; source != NO_INDEX; source = sim->loops->sources[source].next_of_flow)
		source_offer(sim, source, now_ns);
}

void simulate_loop_may_answer(struct simulation *sim, uint32_t job, uint64_t now_ns)
{
	uint32_t source = sim->loops ? sim->loops->source_of_job[job] : NO_INDEX;

	if (source != NO_INDEX)
		source_offer(sim, source, now_ns);
}

static void stretch_enter(struct simulation *sim, struct loop *loop, const struct stretch *stretch,
			  uint64_t now_ns)
{
	struct event_loops *loops = sim->loops;

	loop->left += stretch->end - stretch->first;
	for (uint32_t i = stretch->first; i < stretch->end; i++) {
		uint32_t index = loops->in_step_order[i];
		struct source *source = &loops->sources[index];

		loop->early_count -= source->is_early;
		source->is_early = false;
		source_offer(sim, index, now_ns);
	}
}

static const struct source_queue no_sources = { NO_INDEX, NO_INDEX, 0 };

static void looper_reset(struct simulation *sim, uint32_t actor)
{
	struct event_loops *loops = sim->loops;
	struct looper *looper = &loops->loopers[actor];

	*looper = (struct looper){ .loop = looper->loop,
				   .first_turn = looper->first_turn,
				   .turn_count = looper->turn_count,
				   .first_tick = looper->first_tick,
				   .tick_count = looper->tick_count,
				   .visits_stretch = looper->visits_stretch,
				   .entered_ns = UINT64_MAX,
				   .visited = NO_INDEX,
				   .put_off = no_sources };
	if (looper->loop != NO_INDEX)
		stretch_enter(
			sim, &loops->loops[looper->loop],
			&loops->stretches[loops->first_stretch[actor] + looper->visits_stretch], 0);
}

void simulate_loops_reset(struct simulation *sim)
{
	struct event_loops *loops = sim->loops;

	if (!loops)
		return;
	for (size_t i = 0; i < loops->loop_count; i++) {
		struct loop *loop = &loops->loops[i];

		agenda_clear(&loop->timers);
		*loop = (struct loop){ .is_pinned = loop->is_pinned,
				       .is_shared = loop->is_shared,
				       .timers = loop->timers,
				       .sleepers = { NO_INDEX, NO_INDEX },
				       .ready = no_sources,
				       .since_ns = UINT64_MAX };
	}
	for (size_t i = 0; i < loops->source_count; i++) {
		struct source *source = &loops->sources[i];

		source->done = 0;
		source->is_ready = source->is_visited = source->is_early = false;
		source->is_armed = false;
		source->due_ns = 0;
	}
	for (uint32_t i = 0; i < sim->script->actor_count; i++)
		looper_reset(sim, i);
}

/* No visit is left before it. */
static bool pass_barrier(struct simulation *sim, struct loop *loop, uint32_t actor)
{
	struct event_loops *loops = sim->loops;
	struct player *player = &sim->players[actor];
	uint32_t next = loops->first_stretch[actor] + ++loops->loopers[actor].stretch;

	loops->loopers[actor].entered_ns = player->now_ns;

	assert(next < loops->first_stretch[actor + 1]);
	const struct stretch *stretch = &loops->stretches[next];

	if (!loop->is_shared) {
		loop->stretch = loops->loopers[actor].stretch;
		stretch_enter(sim, loop, stretch, player->now_ns);
	}
	player->step = stretch->step + 1;
	return true;
}

/* None is ready, and nobody else can go on: the one that is next in the recording. */
static uint32_t source_by_force(const struct event_loops *loops, uint32_t loop)
{
	uint32_t best = NO_INDEX;

	for (uint32_t i = 0; i < loops->source_count; i++) {
		const struct source *source = &loops->sources[i];

		if (source->loop != loop || source->is_visited || source->done == source->count ||
		    next_visit(loops, source)->stretch != loops->loops[loop].stretch)
			continue;
		if (best == NO_INDEX || next_visit(loops, source)->step <
						next_visit(loops, &loops->sources[best])->step)
			best = i;
	}
	return best;
}

static void loop_sleeps(struct simulation *sim, struct loop *loop, uint32_t actor)
{
	if (loop->early_count && loop->since_ns == UINT64_MAX)
		loop->since_ns = sim->players[actor].now_ns;
	simulate_sleep(sim, &loop->sleepers, actor);
	sim->players[actor].is_timed = loop->timers.count > 0;
	if (loop->timers.count)
		agenda_add(&sim->agenda, actor, agenda_next_ns(&loop->timers));
}

static void loop_goes_on(struct loop *loop, uint64_t now_ns)
{
	if (loop->since_ns < now_ns)
		loop->waited_ns += now_ns - loop->since_ns;
	loop->since_ns = UINT64_MAX;
}

/* The loop is left at the source's next visit. */
static void visit(struct simulation *sim, struct loop *loop, uint32_t actor, uint32_t index)
{
	struct event_loops *loops = sim->loops;
	struct source *source = &loops->sources[index];
	struct player *player = &sim->players[actor];

	player->step = next_visit(loops, source)->step + 1 + next_visit(loops, source)->is_timed;
	source->done++;
	__builtin_prefetch(next_visit(loops, source)); /* far from those of other sources */
	source->is_visited = true;
	loops->loopers[actor].visited = index;
	loop_goes_on(loop, player->now_ns);
	if (!--loop->left)
		simulate_wake_all(sim, &loop->sleepers, player->now_ns, false);
}

/* In the recorded order: a wait for the data that were read then. */
static bool await_data(struct simulation *sim, const struct visit *awaited, uint32_t actor)
{
	struct channel *channel = awaited->flow == NO_INDEX ? NULL : &sim->channels[awaited->flow];

	bool is_timer = awaited->sort == VISIT_TIMER;

	if (awaited->sort == VISIT_TICK ||
	    (is_timer && awaited->latency_ns != VISIT_HAS_NOT_WAITED)) {
		const struct rec_op *poll = &sim->script->recording->ops[awaited->op];

		sim->players[actor].now_ns += poll->end_ns - poll->start_ns;
	}
	if (awaited->transfer == NO_INDEX || sim->players[actor].is_forced ||
	    channel->written > channel->claimed) {
		sim->players[actor].step += 1 + is_timer;
		return true;
	}
	simulate_sleep(sim, &channel->readers, actor);
	return false;
}

/* Of the source's next visit: the step behind it. */
static uint64_t timer_ns(struct simulation *sim, const struct source *source, uint32_t actor)
{
	const struct step *timer = &sim->script->steps[next_visit(sim->loops, source)->step + 1];

	assert(timer->type == STEP_DELAY);
	return simulate_scaled_ns(sim, &sim->players[actor], timer);
}

/* The source may be visited again. */
static void visit_ends(struct simulation *sim, uint32_t actor)
{
	struct event_loops *loops = sim->loops;
	struct looper *looper = &loops->loopers[actor];
	uint32_t index = looper->visited;

	if (index == NO_INDEX)
		return;
	struct source *source = &loops->sources[index];

	looper->visited = NO_INDEX;
	source->is_visited = false;
	if (source->done < source->count && next_visit(loops, source)->is_timed)
		source->due_ns = sim->players[actor].now_ns + timer_ns(sim, source, actor);
	if (source->done < source->count && next_visit(loops, source)->is_put_off &&
	    next_visit(loops, source)->stretch == loops->loops[looper->loop].stretch)
		queue_add(loops, &looper->put_off, index);
	else
		source_offer(sim, index, sim->players[actor].now_ns);
}

/* True: there is such work, and the loop is left there. */
static bool does_own_work(struct simulation *sim, uint32_t actor)
{
	struct event_loops *loops = sim->loops;
	struct looper *looper = &loops->loopers[actor];

	if (!looper->is_in_turn)
		return false;
	looper->is_in_turn = false;
	if (!looper->turn_count)
		return false;
	uint32_t turn = looper->first_turn + looper->turns++ % looper->turn_count;
	uint32_t step = loops->turn_steps[turn];
	if (step == NO_INDEX)
		return false;
	sim->players[actor].step = step + 1;
	return true;
}

/* From one visit to the next, if nobody else is in the way. */
static uint64_t tick_ns(const struct simulation *sim, uint32_t step)
{
	uint64_t ns = 0;

	for (step++; sim->script->steps[step].type != STEP_VISIT; step++) {
		const struct step *in = &sim->script->steps[step];

		if (in->type == STEP_RUN || in->type == STEP_DELAY)
			ns += (uint64_t)((double)in->ns * sim->factor[in->arg]);
		else if (in->type == STEP_FIXED || in->type == STEP_OVERRUN)
			ns += in->ns;
	}
	return ns;
}

/* True: a tick is due, and the loop is left there. A loop that was asleep has made those that it
 * had time for. */
static bool does_tick(struct simulation *sim, uint32_t actor)
{
	struct event_loops *loops = sim->loops;
	struct looper *looper = &loops->loopers[actor];
	struct player *player = &sim->players[actor];

	while (looper->ticks < looper->tick_count) {
		const struct planned_tick *tick = &loops->ticks[looper->first_tick + looper->ticks];
		uint64_t due_ns = looper->entered_ns + tick->after_ns;
		bool is_of_now = tick->stretch == looper->stretch;

		if (tick->stretch > looper->stretch || (is_of_now && due_ns > player->now_ns))
			return false;
		looper->ticks++;
		if (!is_of_now ||
		    (player->is_back && due_ns + tick_ns(sim, tick->step) <= player->now_ns))
			continue;
		player->step = tick->step + 1;
		return true;
	}
	return false;
}

/* Those that have run make their sources ready. */
static void timers_end(struct simulation *sim, struct loop *loop, uint64_t now_ns)
{
	while (agenda_next_ns(&loop->timers) <= now_ns) {
		uint32_t index = agenda_take(&loop->timers).actor;

		sim->loops->sources[index].is_armed = false;
		source_offer(sim, index, now_ns);
	}
}

/* The first source that a poll finds; NO_INDEX = the actor sleeps. */
static uint32_t poll(struct simulation *sim, struct loop *loop, uint32_t actor)
{
	struct event_loops *loops = sim->loops;
	struct looper *looper = &loops->loopers[actor];

	timers_end(sim, loop, sim->players[actor].now_ns);
	uint32_t count = loop->ready.count, index = queue_take(loops, &loop->ready);

	if (index == NO_INDEX && sim->players[actor].is_forced)
		index = source_by_force(loops, looper->loop);
	if (index == NO_INDEX) {
		loop_sleeps(sim, loop, actor);
		return NO_INDEX;
	}
	looper->to_visit = loop->is_shared || count < 2 ? 0 : count - 1;
	looper->is_in_turn = true;
	return index;
}

/* Behind its last barrier. A job that another loop's thread had may lead to a visit still. */
static bool has_left_loop(const struct event_loops *loops, uint32_t actor)
{
	return loops->first_stretch[actor] + loops->loopers[actor].stretch + 1 ==
	       loops->first_stretch[actor + 1];
}

bool simulate_visit(struct simulation *sim, const struct step *step, uint32_t actor)
{
	struct event_loops *loops = sim->loops;
	struct looper *looper = loops ? &loops->loopers[actor] : NULL;

	if (!looper || looper->loop == NO_INDEX || has_left_loop(loops, actor))
		return await_data(sim, &sim->script->loops.visits[step->arg], actor);
	struct loop *loop = &loops->loops[looper->loop];
	uint32_t index = NO_INDEX;
	const struct player *player = &sim->players[actor];

	if (looper->entered_ns == UINT64_MAX)
		looper->entered_ns = player->now_ns;
	visit_ends(sim, actor);
	if (looper->to_visit) {
		looper->to_visit--;
		index = queue_take(loops, &loop->ready);
	}
	if (index == NO_INDEX && does_own_work(sim, actor))
		return true;
	if (index == NO_INDEX)
		index = queue_take(loops, &looper->put_off);
	if (index == NO_INDEX && (!loop->left || looper->stretch < looper->visits_stretch))
		return pass_barrier(sim, loop, actor);
	if (index == NO_INDEX && does_tick(sim, actor))
		return true;
	if (index == NO_INDEX)
		index = poll(sim, loop, actor);
	if (index == NO_INDEX)
		return false;
	visit(sim, loop, actor, index);
	return true;
}

void simulate_loops_answer(const struct simulation *sim, struct replay_answer *answer)
{
	const struct event_loops *loops = sim->loops;

	answer->order_actor = NO_INDEX;
	for (uint32_t i = 0; loops && i < sim->script->actor_count; i++) {
		uint32_t loop = loops->loopers[i].loop;

		if (loop == NO_INDEX || (double)loops->loops[loop].waited_ns <= answer->order_ns)
			continue;
		answer->order_ns = (double)loops->loops[loop].waited_ns;
		answer->order_actor = i;
	}
}

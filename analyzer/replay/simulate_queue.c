/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queues that actors sleep in until another actor wakes them.
 *
 * A queue is a list through its players, first come first served. A player knows the queue that it
 * sleeps in, so leaving it out of turn is a look-up. One thread a simulation.
 */
#include "simulate_parts.h"

#include <assert.h>

void simulate_sleep(struct simulation *sim, struct queue *queue, uint32_t actor)
{
	struct player *player = &sim->players[actor];

	assert(!player->sleeps_in && player->life == PLAYER_STARTED);
	player->sleeps_in = queue;
	player->next = NO_INDEX;
	if (queue->first == NO_INDEX)
		queue->first = actor;
	else
		sim->players[queue->last].next = actor;
	queue->last = actor;
}

static uint32_t queue_take(struct simulation *sim, struct queue *queue)
{
	uint32_t actor = queue->first;

	if (actor == NO_INDEX)
		return NO_INDEX;
	assert(sim->players[actor].sleeps_in == queue);
	queue->first = sim->players[actor].next;
	sim->players[actor].sleeps_in = NULL;
	return actor;
}

void simulate_leave_queue(struct simulation *sim, uint32_t actor)
{
	struct queue *queue = sim->players[actor].sleeps_in;
	uint32_t previous = NO_INDEX, at;

	assert(queue);
	for (at = queue->first; at != actor; at = sim->players[at].next) {
		assert(at != NO_INDEX);
		previous = at;
	}
	if (previous == NO_INDEX)
		queue->first = sim->players[at].next;
	else
		sim->players[previous].next = sim->players[at].next;
	if (queue->last == actor)
		queue->last = previous;
	sim->players[actor].sleeps_in = NULL;
}

uint64_t simulate_sleep_run_ns(const struct simulation *sim, uint32_t actor)
{
	return sim->is_crowded && !sim->script->actors[actor].is_client ? sim->script->sleep_run_ns
									: 0;
}

/*
 * How long a wake-up takes. A step's own latency is that of its recorded wake-up. An actor that
 * sleeps there again, as another was quicker, comes back as fast as is usual, or one slow wake-up
 * would never end. The part of it that runs on a CPU comes when there is one.
 */
static uint64_t wake_up_ns(const struct simulation *sim, const struct queue *queue, uint32_t actor)
{
	const struct step *step = simulate_step_of(sim, actor);

	if (step->type == STEP_COME)
		return 0; /* nobody wakes up: the thread goes on with it */
	if (script_is_race((enum step_type)step->type))
		step = simulate_raced(step);
	bool is_usual = sim->players[actor].has_lost ||
			(step->type == STEP_TAKE && queue != &sim->tokens[step->arg].sleepers);
	bool is_for_lock = is_usual || step->type == STEP_ACQUIRE || step->type == STEP_SHARE;
	uint64_t ns = is_usual ? sim->script->lock_latency_ns
		      : step->type == STEP_TURN || step->type == STEP_BEGUN
			      ? sim->script->circles[step->arg].latency_ns
			      : step->ns;

	if (is_for_lock || sim->crossing.is_of_all) {
		ns = ns < sim->crossing.least_ns ? sim->crossing.least_ns : ns;
		ns = ns > sim->crossing.most_ns ? sim->crossing.most_ns : ns;
	}
	uint64_t run_ns = simulate_sleep_run_ns(sim, actor);

	return ns > run_ns ? ns - run_ns : 0;
}

/* The waker owes the cost of waking, and may have the woken actor come to its CPU. */
static void note_waker(struct simulation *sim, uint32_t actor)
{
	uint32_t type = simulate_step_of(sim, actor)->type;
	bool is_by_bytes = type == STEP_RECEIVE || type == STEP_AWAIT || type == STEP_VISIT;

	if (sim->acting == NO_INDEX || type == STEP_COME)
		return;
	if (sim->crossing.is_of_all)
		sim->players[sim->acting].owed_ns += sim->crossing.run_ns;
	simulate_cpus_woken(sim, actor, sim->acting);
	if (sim->crossing.pulls && sim->has_queues && is_by_bytes)
		simulate_cpus_pull(sim, actor, sim->acting);
}

bool simulate_wake_first(struct simulation *sim, struct queue *queue, uint64_t now_ns,
			 bool is_granted)
{
	uint32_t actor = queue_take(sim, queue);

	if (actor == NO_INDEX)
		return false;
	uint64_t back_ns = now_ns + wake_up_ns(sim, queue, actor);

	note_waker(sim, actor);
	bool races = script_is_race((enum step_type)simulate_step_of(sim, actor)->type);

	if (races || sim->players[actor].is_timed)
		agenda_remove(&sim->agenda, actor);
	sim->players[actor].is_timed = false;
	sim->players[actor].is_granted = is_granted && !races;
	if (sim->trace)
		trace_woken(sim->trace, actor, sim->players[actor].step, sim->acting, now_ns,
			    back_ns);
	agenda_add(&sim->agenda, actor, back_ns);
	return true;
}

void simulate_wake_all(struct simulation *sim, struct queue *queue, uint64_t now_ns,
		       bool is_granted)
{
	while (simulate_wake_first(sim, queue, now_ns, is_granted))
		;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens of conditions, signals, permits of semaphores, and barriers in a simulation; how they are
 * arbitrated is said in simulate.c.
 *
 * One thread a simulation.
 */
#include "simulate_parts.h"

#include <assert.h>

/*
 * Takes all that is there. There may be more takes than in the recording, of less each: then the
 * last job stands for all that come after it. The last take is the one that finds nothing more, or
 * that gets the last of as many as there were.
 */
static uint32_t take_all(struct simulation *sim, const struct step *step, uint32_t actor)
{
	struct tokens *tokens = &sim->tokens[step->arg];
	uint32_t items = tokens->count;

	tokens->taken += items;
	tokens->count = 0;
	return simulate_next_batch(sim, step, actor, items);
}

static bool has_enough(const struct simulation *sim, uint32_t condition)
{
	return sim->tokens[condition].count >= sim->script->monitors.conditions[condition].least;
}

/* Where a take waits for several: it has come to its timeout, and takes what is there. Before that
 * it has a turn then. When all was taken there is nothing more to come in time. */
static bool is_due(struct simulation *sim, const struct step *step, uint32_t actor)
{
	uint64_t timeout_ns = sim->script->monitors.conditions[step->arg].timeout_ns;
	const struct tokens *tokens = &sim->tokens[step->arg];
	struct player *player = &sim->players[actor];

	if (!timeout_ns || tokens->taken >= sim->script->jobs[step->arg].all_items)
		return false;
	if (player->due_ns && player->now_ns >= player->due_ns && tokens->count)
		return true;
	if (!player->due_ns || player->now_ns >= player->due_ns)
		player->due_ns = player->now_ns + timeout_ns;
	return false;
}

/* Somebody else may yet do something. */
static bool goes_on(const struct simulation *sim)
{
	return agenda_next_ns(&sim->agenda) != UINT64_MAX ||
	       simulate_cpus_next_ns(sim) != UINT64_MAX;
}

/* It lets the lock go meanwhile. If nothing is there, and all wait, the timeout changes nothing. */
static void wait_for_tokens(struct simulation *sim, const struct step *step, uint32_t actor)
{
	struct player *player = &sim->players[actor];

	simulate_sleep(sim, &sim->tokens[step->arg].sleepers, actor);
	player->needs_lock = true;
	if (player->due_ns > player->now_ns && (sim->tokens[step->arg].count || goes_on(sim))) {
		player->is_timed = true;
		agenda_add(&sim->agenda, actor, player->due_ns);
	}
	simulate_mutex_release(sim, &sim->locks[sim->script->jobs[step->arg].lock], player->now_ns);
}

bool simulate_take(struct simulation *sim, const struct step *step, uint32_t actor)
{
	assert(step->arg < sim->script->monitors.condition_count);
	assert(sim->script->jobs[step->arg].lock < sim->script->lock_count);
	struct player *player = &sim->players[actor];
	struct tokens *tokens = &sim->tokens[step->arg];
	struct lock *lock = &sim->locks[sim->script->jobs[step->arg].lock];

	simulate_comes_for_job(sim, step, actor);
	if (player->needs_lock && !simulate_mutex_acquire(sim, lock, actor, true))
		return false;
	player->needs_lock = false;
	if (!has_enough(sim, step->arg) && !tokens->is_open && !player->is_forced &&
	    !is_due(sim, step, actor)) {
		wait_for_tokens(sim, step, actor);
		return false;
	}
	player->due_ns = 0;
	if (sim->script->jobs[step->arg].items) {
		player->step = take_all(sim, step, actor);
		return true;
	}
	tokens->count -= tokens->count > 0;
	tokens->since_ns = player->now_ns;
	if (sim->script->monitors.conditions[step->arg].is_given_back)
		player->token = step->arg + 1;
	player->step = simulate_next_job(sim, step, actor);
	return true;
}

/* A thread has waited for it since it was handed over last, for the quantum. */
static bool is_asked_for(const struct simulation *sim, const struct step *step, uint64_t now_ns)
{
	const struct tokens *tokens = &sim->tokens[step->arg];

	if (tokens->sleepers.first == NO_INDEX || tokens->count)
		return false;
	uint64_t from_ns = sim->players[tokens->sleepers.first].now_ns;
	from_ns = from_ns > tokens->since_ns ? from_ns : tokens->since_ns;
	return now_ns >= from_ns + sim->script->monitors.conditions[step->arg].quantum_ns;
}

bool simulate_yield(struct simulation *sim, const struct step *step, uint32_t actor)
{
	assert(step->arg < sim->script->monitors.condition_count);
	struct player *player = &sim->players[actor];
	struct tokens *tokens = &sim->tokens[step->arg];

	if (!player->has_yielded) {
		if (!is_asked_for(sim, step, player->now_ns))
			return true;
		player->has_yielded = true;
		tokens->count++;
		simulate_wake_first(sim, &tokens->sleepers, player->now_ns, false);
		simulate_sleep(sim, &tokens->sleepers, actor);
		return false;
	}
	if (!tokens->count && !player->is_forced) {
		simulate_sleep(sim, &tokens->sleepers, actor);
		return false;
	}
	tokens->count -= tokens->count > 0;
	tokens->since_ns = player->now_ns;
	player->has_yielded = false;
	return true;
}

/* It puts the token that it had, if it did. */
static void gives(struct simulation *sim, uint32_t condition, uint32_t actor)
{
	struct player *player = &sim->players[actor];

	if (player->token == condition + 1)
		player->token = 0;
}

void simulate_put(struct simulation *sim, const struct step *step, uint32_t actor)
{
	assert(step->arg < sim->script->monitors.condition_count);
	simulate_hand_over(sim, step);
	gives(sim, step->arg, actor);
	sim->tokens[step->arg].count++;
	if (has_enough(sim, step->arg))
		simulate_wake_first(sim, &sim->tokens[step->arg].sleepers,
				    sim->players[actor].now_ns, false);
}

bool simulate_signal(struct simulation *sim, const struct step *step, uint32_t actor)
{
	assert(step->arg < sim->script->recording->link_count);
	const struct signal_role *role = &sim->script->monitors.signals[step->arg];
	uint64_t now_ns = sim->players[actor].now_ns;

	sim->was_given[step->arg] = true;
	simulate_halt_ends(sim, step->arg, actor);
	simulate_wake_all(sim, &sim->listeners[step->arg], now_ns, true);
	if (role->condition == NO_INDEX)
		return false;
	struct tokens *tokens = &sim->tokens[role->condition];
	enum put_model model = sim->script->monitors.conditions[role->condition].model;
	if (model == PUT_NONE || (put_by_section(model) && !role->is_gate))
		return false;
	simulate_hand_over(sim, step);
	tokens->is_open = tokens->is_open || role->is_gate;
	tokens->count += !role->is_gate;
	gives(sim, role->condition, actor);
	if (!role->wakes_all)
		return simulate_wake_first(sim, &tokens->sleepers, now_ns, false);
	simulate_wake_all(sim, &tokens->sleepers, now_ns, false);
	return false;
}

/* A signal of a job that nobody has put yet is not waited for. */
static bool is_to_come(const struct simulation *sim, uint32_t link)
{
	uint32_t job = sim->script->job_of_link[link];

	return job == NO_INDEX || sim->is_put[job];
}

bool simulate_listen(struct simulation *sim, const struct step *step, uint32_t actor)
{
	assert(step->arg < sim->script->recording->link_count);
	if (sim->was_given[step->arg] || sim->players[actor].is_forced ||
	    (sim->drops_waits && sim->script->is_unruly[step->arg]) || !is_to_come(sim, step->arg))
		return true;
	simulate_sleep(sim, &sim->listeners[step->arg], actor);
	return false;
}

void simulate_post(struct simulation *sim, const struct step *step, uint32_t actor)
{
	assert(step->arg < sim->script->semaphore_count);
	struct permits *permits = &sim->semaphores[step->arg];

	if (permits->owed) {
		permits->owed--;
		return;
	}
	simulate_hand_over(sim, step);
	permits->count++;
	simulate_wake_first(sim, &permits->sleepers, sim->players[actor].now_ns, false);
}

/* Before it waits for a permit, so that others can go on meanwhile. */
static void give_back(struct simulation *sim, uint32_t actor)
{
	struct player *player = &sim->players[actor];
	struct tokens *tokens = &sim->tokens[player->token - 1];

	player->gave_back = player->token;
	player->token = 0;
	tokens->count++;
	simulate_wake_first(sim, &tokens->sleepers, player->now_ns, false);
}

/* The token that it gave back; else it sleeps until there is one. */
static bool has_again(struct simulation *sim, uint32_t actor)
{
	struct player *player = &sim->players[actor];

	if (!player->gave_back)
		return true;
	struct tokens *tokens = &sim->tokens[player->gave_back - 1];

	if (!tokens->count && !player->is_forced) {
		simulate_sleep(sim, &tokens->sleepers, actor);
		return false;
	}
	tokens->count -= tokens->count > 0;
	tokens->since_ns = player->now_ns;
	player->token = player->gave_back;
	player->gave_back = 0;
	return true;
}

bool simulate_permit(struct simulation *sim, const struct step *step, uint32_t actor)
{
	assert(step->arg < sim->script->semaphore_count);
	struct permits *permits = &sim->semaphores[step->arg];
	struct player *player = &sim->players[actor];

	assert(!permits->count || !permits->owed);
	simulate_comes_for_job(sim, step, actor);
	if (!player->has_permit && !permits->count && !player->is_forced) {
		if (step->type == STEP_CLAIM && player->token)
			give_back(sim, actor);
		simulate_sleep(sim, &permits->sleepers, actor);
		return false;
	}
	if (!player->has_permit && permits->count)
		permits->count--;
	else if (!player->has_permit && step->type == STEP_CLAIM)
		permits->owed++;
	player->has_permit = true;
	if (!has_again(sim, actor))
		return false;
	player->has_permit = false;
	player->step = simulate_next_job(sim, step, actor);
	return true;
}

bool simulate_meet(struct simulation *sim, const struct step *step, uint32_t actor)
{
	assert(step->arg < sim->script->barrier_count);
	struct meeting *meeting = &sim->barriers[step->arg];

	if (++meeting->count < sim->script->parties[step->arg] && !sim->players[actor].is_forced) {
		simulate_sleep(sim, &meeting->sleepers, actor);
		return false;
	}
	meeting->count = 0;
	simulate_wake_all(sim, &meeting->sleepers, sim->players[actor].now_ns, true);
	return true;
}

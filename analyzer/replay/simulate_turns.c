/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns of groups in a simulation: one actor works for all that came before it began.
 *
 * An actor that comes waits for the end of the first turn that begins from then on. If there is
 * none under way, it makes that turn itself. It goes on with the next recorded one, whichever
 * thread made that then, and comes back behind its own step. If there are more turns than in the
 * recording, these begin anew: an odd one is not made again and again.
 *
 * The end of a turn wakes those that it was for, and the next one to make a turn. The rest would
 * look and sleep again.
 *
 * One thread a simulation.
 */
#include "simulate_parts.h"

#include <assert.h>

/* All that wait for the next turn wait for its end now. Returns how many those are, with those
 * that have asked for it. */
static uint32_t come_aboard(struct simulation *sim, struct circle *circle)
{
	uint32_t count = circle->asked;

	circle->asked = 0;

	while (circle->late.first != NO_INDEX) {
		uint32_t actor = circle->late.first;

		simulate_leave_queue(sim, actor);
		simulate_sleep(sim, &circle->due, actor);
		count++;
	}
	return count;
}

/* The recorded turn that comes next. Beyond the last one it is that of the maker, or the first one
 * again. `own`: the actor needs it itself. */
static uint32_t turn_begins(struct simulation *sim, uint32_t number, uint32_t actor, bool own)
{
	const struct job_list *jobs = &sim->script->circles[number].turns;
	struct circle *circle = &sim->circles[number];
	uint32_t turn = circle->next++, last = (uint32_t)jobs->count - 1;
	uint32_t items = come_aboard(sim, circle) + own;

	assert(jobs->count);
	if (turn > last)
		turn = own ? turn % (last + 1) : last;
	circle->begun++;
	circle->taken += items;
	sim->players[actor].batch = (struct batch){ jobs->cost_of, items, jobs->items[turn] };
	return jobs->steps[turn];
}

static bool may_make(const struct simulation *sim, uint32_t group)
{
	const struct circle *circle = &sim->circles[group];

	return sim->script->circles[group].is_led && sim->script->circles[group].turns.count &&
	       circle->begun == circle->ended;
}

/* It goes on at that step then. */
static void make(struct simulation *sim, uint32_t group, uint32_t actor, uint32_t back_step)
{
	sim->players[actor].back_step = back_step;
	sim->players[actor].step = turn_begins(sim, group, actor, true);
}

/* For the next turn, whose end it waits for in a later step. */
static bool ask(struct simulation *sim, const struct step *step, uint32_t actor)
{
	struct circle *circle = &sim->circles[step->arg];
	struct player *player = &sim->players[actor];

	player->awaited_turn = circle->begun + 1;
	player->awaited_of = step->arg;
	if (may_make(sim, step->arg)) {
		make(sim, step->arg, actor, player->step + 1);
		return true;
	}
	player->has_asked = true;
	circle->asked++;
	simulate_wake_first(sim, &circle->maker, player->now_ns, false);
	player->step++;
	return true;
}

/* The turn that it waits for is the one that it has asked for, or the next one. */
static void wait_begins(struct circle *circle, struct player *player, uint32_t group)
{
	if (!player->awaited_turn || player->awaited_of != group)
		player->awaited_turn = circle->begun + 1;
	else if (player->has_asked && circle->begun < player->awaited_turn)
		circle->asked--;
	player->has_asked = false;
	player->awaited_of = group;
}

static bool come(struct simulation *sim, const struct step *step, uint32_t actor)
{
	struct circle *circle = &sim->circles[step->arg];
	struct player *player = &sim->players[actor];

	wait_begins(circle, player, step->arg);
	if (circle->ended >= player->awaited_turn || player->is_forced) {
		player->awaited_turn = 0;
		player->step += (uint32_t)step->jump + 1;
		return true;
	}
	if (may_make(sim, step->arg)) {
		player->awaited_turn = 0;
		make(sim, step->arg, actor, player->step + (uint32_t)step->jump + 1);
		return true;
	}
	simulate_sleep(sim, circle->begun < player->awaited_turn ? &circle->late : &circle->due,
		       actor);
	simulate_wake_first(sim, &circle->maker, player->now_ns, false);
	return false;
}

static bool begin(struct simulation *sim, const struct step *step, uint32_t actor)
{
	struct circle *circle = &sim->circles[step->arg];
	const struct script_circle *group = &sim->script->circles[step->arg];

	if (group->is_asked && circle->late.first == NO_INDEX && !circle->asked &&
	    circle->taken < group->turns.all_items && !sim->players[actor].is_forced) {
		simulate_sleep(sim, &circle->maker, actor);
		return false;
	}
	if (group->turns.count)
		turn_begins(sim, step->arg, actor, false);
	sim->players[actor].step++;
	return true;
}

/*
 * Where the thread that makes all turns goes on. If all have been served, that is behind the last
 * turn. Else it is the next one, or the last one again.
 */
static uint32_t next_turn(const struct simulation *sim, const struct step *step, uint32_t actor)
{
	const struct script_circle *group = &sim->script->circles[step->arg];
	const struct circle *circle = &sim->circles[step->arg];
	uint32_t next = sim->players[actor].step + 1;

	if (!group->is_asked || !group->turns.count)
		return next;
	if (circle->taken >= group->turns.all_items)
		return group->last_end;
	return next == group->last_end ? group->turns.steps[group->turns.count - 1] : next;
}

static void end(struct simulation *sim, const struct step *step, uint32_t actor)
{
	struct circle *circle = &sim->circles[step->arg];
	struct player *player = &sim->players[actor];

	circle->ended = circle->begun;
	simulate_wake_all(sim, &circle->due, player->now_ns, false);
	player->batch = (struct batch){ .cost_of = NULL };
	if (sim->script->circles[step->arg].is_led) {
		simulate_wake_first(sim, &circle->late, player->now_ns, false);
		player->step = player->back_step;
	} else {
		player->step = next_turn(sim, step, actor);
	}
}

bool simulate_turn(struct simulation *sim, const struct step *step, uint32_t actor)
{
	assert(step->arg < sim->script->circle_count);
	if (step->type == STEP_TURN)
		return come(sim, step, actor);
	if (step->type == STEP_ASK)
		return ask(sim, step, actor);
	if (step->type == STEP_BEGUN)
		return begin(sim, step, actor);
	end(sim, step, actor);
	return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stalls of a simulation: no actor can go on.
 *
 * Method. Added actors that nobody needs any more end. If there are none, one actor is let go. An
 * actor that only tries for what it waits for comes first. Then one goes on by force: the one that
 * has waited longest, and last of all one that nobody has started. Actors that have not finished
 * are in a heap of that order. An actor's place in it changes with its turns alone. So only actors
 * that had a turn since the last stall are looked at.
 *
 * One thread a simulation.
 */
#include "base/memory.h"
#include "simulate_parts.h"

#include <assert.h>
#include <stdlib.h>

enum { FORCED_STEPS_MAX = 5000 };

void simulate_stalls_make(struct stalls *stalls, size_t actor_count)
{
	*stalls = (struct stalls){ .heap = memory_new(actor_count, sizeof(*stalls->heap)),
				   .place = memory_new(actor_count, sizeof(*stalls->place)),
				   .moved = memory_new(actor_count, sizeof(*stalls->moved)) };
}

void simulate_stalls_free(struct stalls *stalls)
{
	free(stalls->heap);
	free(stalls->place);
	free(stalls->moved);
}

void simulate_stalls_reset(struct simulation *sim)
{
	struct stalls *stalls = &sim->stalls;

	stalls->count = stalls->moved_count = stalls->unfinished = 0;
	stalls->latest_ns = 0;
	stalls->is_source_done = true;
	for (uint32_t i = 0; i < sim->script->actor_count; i++) {
		stalls->place[i] = NO_INDEX;
		stalls->unfinished += sim->script->actors[i].counts;
		simulate_moves(sim, i);
	}
}

/* --- the heap --- */

static bool is_sooner(const struct stalled *a, const struct stalled *b)
{
	if (a->rank != b->rank)
		return a->rank < b->rank;
	return a->now_ns != b->now_ns ? a->now_ns < b->now_ns : a->actor < b->actor;
}

static void put(struct stalls *stalls, size_t at, struct stalled stalled)
{
	stalls->heap[at] = stalled;
	stalls->place[stalled.actor] = (uint32_t)at;
}

/* Up or down from where it is, to where it belongs. */
static void settle(struct stalls *stalls, size_t at, struct stalled stalled)
{
	for (; at && is_sooner(&stalled, &stalls->heap[(at - 1) / 2]); at = (at - 1) / 2)
		put(stalls, at, stalls->heap[(at - 1) / 2]);
	for (size_t child; (child = 2 * at + 1) < stalls->count; at = child) {
		if (child + 1 < stalls->count &&
		    is_sooner(&stalls->heap[child + 1], &stalls->heap[child]))
			child++;
		if (!is_sooner(&stalls->heap[child], &stalled))
			break;
		put(stalls, at, stalls->heap[child]);
	}
	put(stalls, at, stalled);
}

static void leave(struct stalls *stalls, uint32_t actor)
{
	size_t at = stalls->place[actor];

	if (at == NO_INDEX)
		return;
	struct stalled last = stalls->heap[--stalls->count];

	stalls->place[actor] = NO_INDEX;
	if (last.actor != actor)
		settle(stalls, at, last);
}

/* It tried for what it waits for, and would go on without. */
static bool only_tries(const struct simulation *sim, uint32_t actor)
{
	return sim->players[actor].life == PLAYER_STARTED &&
	       simulate_step_of(sim, actor)->type == STEP_CLAIM && !sim->players[actor].has_permit;
}

/* An actor that has not been started waits for nobody. One that waits for another one's end waits
 * for what that one waits for. */
static enum stalled_rank rank_of(const struct simulation *sim, uint32_t actor)
{
	if (sim->players[actor].life != PLAYER_STARTED)
		return STALLED_TO_START;
	if (simulate_step_of(sim, actor)->type == STEP_JOIN ||
	    script_awaits_child(sim->script, simulate_step_of(sim, actor)))
		return STALLED_JOINING;
	return only_tries(sim, actor) ? STALLED_TRYING : STALLED_WAITING;
}

/* Its place is as of now. */
static void note(struct simulation *sim, uint32_t actor)
{
	struct stalls *stalls = &sim->stalls;
	const struct player *player = &sim->players[actor];

	if (player->now_ns > stalls->latest_ns)
		stalls->latest_ns = player->now_ns;
	if (player->life == PLAYER_DONE) {
		leave(stalls, actor);
		return;
	}
	size_t at = stalls->place[actor] == NO_INDEX ? stalls->count++ : stalls->place[actor];

	settle(stalls, at, (struct stalled){ player->now_ns, actor, rank_of(sim, actor) });
}

/* --- a stall --- */

static bool retire_if_spare(struct simulation *sim, uint32_t actor)
{
	const struct script *script = sim->script;

	return (script->has_spare_actors || script->actors[actor].take_step != NO_INDEX) &&
	       simulate_retire(sim, actor, sim->stalls.latest_ns);
}

static int compare_actors(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* Added actors that nobody needs any more end; so do those whose jobs they have done. If no source
 * of jobs is newly done, these are among those that moved. */
static bool retire(struct simulation *sim)
{
	struct stalls *stalls = &sim->stalls;
	bool is_any = stalls->is_source_done, retired = false;
	size_t count = is_any ? sim->script->actor_count : stalls->moved_count;

	if (!is_any && count)
		qsort(stalls->moved, count, sizeof(*stalls->moved), compare_actors);
	for (uint32_t i = 0; i < count; i++)
		retired = retire_if_spare(sim, is_any ? i : stalls->moved[i]) || retired;
	stalls->is_source_done = false;
	return retired;
}

static bool force(struct simulation *sim)
{
	struct stalls *stalls = &sim->stalls;

	while (stalls->count && sim->players[stalls->heap[0].actor].life == PLAYER_DONE)
		leave(stalls, stalls->heap[0].actor);
	if (!stalls->count)
		return false;
	uint32_t chosen = stalls->heap[0].actor;
	struct player *player = &sim->players[chosen];

	if (!only_tries(sim, chosen) && !sim->forced_steps++)
		sim->stuck = (struct replay_place){ chosen, player->step };
	if (sim->forced_steps > FORCED_STEPS_MAX)
		return false;
	if (player->life == PLAYER_STARTED)
		simulate_leave_queue(sim, chosen);
	player->life = PLAYER_STARTED;
	player->is_forced = true;
	agenda_add(&sim->agenda, chosen, stalls->latest_ns);
	return true;
}

bool simulate_unstall(struct simulation *sim)
{
	struct stalls *stalls = &sim->stalls;

	for (size_t i = 0; i < stalls->moved_count; i++) {
		note(sim, stalls->moved[i]);
		sim->players[stalls->moved[i]].has_moved = false;
	}
	bool retired = retire(sim);

	stalls->moved_count = 0;
	return retired || (stalls->unfinished && force(sim));
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutexes and rwlocks in a simulation; how they are arbitrated is said in simulate.c.
 *
 * One thread a simulation.
 */
#include "simulate_parts.h"

#include <assert.h>

bool simulate_mutex_acquire(struct simulation *sim, struct lock *lock, uint32_t actor, bool is_back)
{
	struct player *player = &sim->players[actor];

	if (lock->owner != NO_INDEX && !player->is_forced) {
		lock->was_slept_on = true;
		player->has_lost = is_back;
		simulate_sleep(sim, &lock->sleepers, actor);
		return false;
	}
	player->has_lost = false;
	lock->owner = actor;
	lock->was_slept_on = is_back;
	return true;
}

void simulate_mutex_release(struct simulation *sim, struct lock *lock, uint64_t now_ns)
{
	uint32_t first = lock->sleepers.first;

	if (sim->is_fair && first != NO_INDEX &&
	    simulate_step_of(sim, first)->type == STEP_ACQUIRE) {
		simulate_wake_first(sim, &lock->sleepers, now_ns, true);
		lock->owner = first;
		return;
	}
	lock->owner = NO_INDEX;
	if (lock->was_slept_on)
		simulate_wake_first(sim, &lock->sleepers, now_ns, false);
}

static void hand_to_writer(struct simulation *sim, struct lock *lock, uint64_t now_ns)
{
	uint32_t writer = lock->sleepers.first;

	if (simulate_wake_first(sim, &lock->sleepers, now_ns, true))
		lock->owner = writer;
}

static bool rwlock_acquire(struct simulation *sim, struct lock *lock, uint32_t actor, bool shared)
{
	bool is_free = lock->owner == NO_INDEX && (shared || !lock->reader_count);

	if (!is_free && !sim->players[actor].is_forced) {
		simulate_sleep(sim, shared ? &lock->readers : &lock->sleepers, actor);
		return false;
	}
	if (shared)
		lock->reader_count++;
	else
		lock->owner = actor;
	return true;
}

static void rwlock_release(struct simulation *sim, struct lock *lock, uint64_t now_ns, bool shared)
{
	if (shared) {
		lock->reader_count -= lock->reader_count > 0;
		if (!lock->reader_count && lock->owner == NO_INDEX)
			hand_to_writer(sim, lock, now_ns);
		return;
	}
	lock->owner = NO_INDEX;
	if (lock->readers.first == NO_INDEX) {
		hand_to_writer(sim, lock, now_ns);
		return;
	}
	while (simulate_wake_first(sim, &lock->readers, now_ns, true))
		lock->reader_count++;
}

void simulate_lock_release(struct simulation *sim, const struct step *step, uint32_t actor)
{
	assert(step->arg < sim->script->lock_count);
	struct lock *lock = &sim->locks[step->arg];
	uint64_t now_ns = sim->players[actor].now_ns;

	if (step->type == STEP_RELEASE && lock->owner != actor)
		return;
	if (lock->is_shared)
		rwlock_release(sim, lock, now_ns, step->type == STEP_UNSHARE);
	else
		simulate_mutex_release(sim, lock, now_ns);
}

/* A single try: an actor that does not get the lock goes on without it. The program may do
 * something else then; it is taken to do the same a little later. */
static bool step_grab(struct simulation *sim, const struct step *step, uint32_t actor)
{
	struct lock *lock = &sim->locks[step->arg];

	if (lock->owner == NO_INDEX && !lock->reader_count) {
		lock->owner = actor;
		lock->was_slept_on = false;
	}
	return true;
}

/* Has it if it is free, and goes on after the loop; else another round. Rounds in which no time
 * passes, or nobody else goes on, would never end: then it sleeps like the others. */
static bool step_try(struct simulation *sim, const struct step *step, uint32_t actor)
{
	struct player *player = &sim->players[actor];
	struct lock *lock = &sim->locks[step->arg];

	if (lock->owner == NO_INDEX || player->is_back || player->tried_ns == player->now_ns ||
	    simulate_is_hopeless(sim, player)) {
		if (!simulate_mutex_acquire(sim, lock, actor, player->is_back))
			return false;
		player->rounds = 0;
		player->step += (uint32_t)step->jump;
	}
	player->tried_ns = player->now_ns;
	return true;
}

bool simulate_lock_acquire(struct simulation *sim, const struct step *step, uint32_t actor)
{
	assert(step->arg < sim->script->lock_count);
	struct lock *lock = &sim->locks[step->arg];

	if (step->type == STEP_GRAB)
		return step_grab(sim, step, actor);
	if (step->type == STEP_TRY)
		return step_try(sim, step, actor);
	if (lock->is_shared)
		return rwlock_acquire(sim, lock, actor, step->type == STEP_SHARE);
	return simulate_mutex_acquire(sim, lock, actor, sim->players[actor].is_back);
}

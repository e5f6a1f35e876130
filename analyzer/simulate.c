/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A discrete-event simulation of a script's actors.
 *
 * Method. Actors wait in a binary heap by their next point in time. The earliest one runs its steps
 * for as long as they concern nobody else; before a step that does (a lock, a token, a signal) it
 * goes back into the heap unless it is still the earliest, so that such steps happen in order of
 * simulated time. What an actor waits for is decided anew in each run:
 *
 *   mutex       as glibc's, over futexes: a release frees it and wakes the first sleeper, who
 *               comes back after its wake-up latency, tries again and may lose to a newcomer. A
 *               lock that nobody slept on is released without a wake.
 *   rwlock      readers enter while readers are in; the last one out hands over to a writer, a
 *               writer to all readers that wait, else to the next writer.
 *   condition   tokens (tokens.c); whoever wakes takes the lock again and looks.
 *   semaphore   permits; barrier: parties; spawn and join: the other actor's start and end.
 *   stream      bytes: a read goes on when as many were written as have been read with it, a
 *               write to a pipe when there is room.
 *
 * With fewer CPUs than actors, runs share them (crowd.c); else a run just takes its time.
 *
 * A take from a pool goes on with the next job in recorded order, whoever did it then. If nobody
 * can go on and somebody who counts has not finished, the one who has waited longest is let go, and
 * counted: one such step is one too many.
 *
 * Thread-safe: nothing is shared but the script, which is only read.
 */
#include "simulate.h"

#include "crowd.h"
#include "memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { FORCED_STEPS_MAX = 5000 };

struct queue {
	uint32_t first; /* actor, NO_INDEX = empty */
	uint32_t last;
};

struct lock {
	struct queue sleepers; /* mutex; rwlock: writers */
	struct queue readers;
	uint32_t owner; /* actor, NO_INDEX = free */
	uint32_t reader_count;
	bool was_slept_on;
	bool is_shared; /* an rwlock */
};

struct tokens {
	struct queue sleepers;
	uint32_t count;
	bool is_open; /* its gate was opened */
};

struct permits {
	struct queue sleepers;
	uint32_t count;
};

struct meeting {
	struct queue sleepers;
	uint32_t count;
};

/* A flow: bytes on their way. */
struct channel {
	struct queue readers;
	struct queue writers;
	uint64_t written;
	uint64_t claimed; /* bytes that reads have come for, in order */
	uint64_t received;
};

struct player {
	uint64_t needed; /* in a read: bytes to have been written */
	uint64_t now_ns;
	uint64_t finish_ns;
	uint32_t step;
	uint32_t next; /* in the queue that it sleeps in */
	struct queue joiners;
	bool is_started;
	bool is_done;
	bool is_granted; /* what it slept for is its own: go on with the next step */
	bool is_forced;
	bool has_left;   /* went on to its last body: only once, or it might go round for ever */
	bool slept;      /* in the step where it is */
	bool needs_lock; /* in a take: the lock is to be had again first */
};

struct entry {
	uint64_t at_ns;
	uint64_t order; /* of equal times, first come first served */
	uint32_t actor;
};

struct simulation {
	const struct script *script;
	double *factor; /* by scope */
	struct player *players;
	struct lock *locks;
	struct tokens *tokens;
	struct permits *semaphores;
	struct meeting *barriers;
	struct channel *channels;
	uint32_t *next_flow_job; /* by flow */
	struct queue *listeners; /* by link: who waits for this signal */
	bool *was_given;         /* by link */
	uint32_t *next_job;      /* by condition */
	struct entry *heap;
	size_t heap_count;
	struct crowd crowd; /* who runs, when there are more actors than CPUs */
	bool is_crowded;
	uint64_t order;
	uint64_t forced_steps;
};

/* --- the heap --- */

static bool entry_before(const struct entry *a, const struct entry *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

/* An actor is in the heap at most once, so it never outgrows the number of actors. */
static void schedule(struct simulation *sim, uint32_t actor, uint64_t at_ns)
{
	struct entry entry = { at_ns, sim->order++, actor };
	size_t at = sim->heap_count++;

	assert(sim->heap_count <= sim->script->actor_count);
	for (; at > 0 && entry_before(&entry, &sim->heap[(at - 1) / 2]); at = (at - 1) / 2)
		sim->heap[at] = sim->heap[(at - 1) / 2];
	sim->heap[at] = entry;
}

static struct entry take_earliest(struct simulation *sim)
{
	struct entry earliest = sim->heap[0];
	struct entry last = sim->heap[--sim->heap_count];
	size_t at = 0, child;

	for (; (child = 2 * at + 1) < sim->heap_count; at = child) {
		if (child + 1 < sim->heap_count &&
		    entry_before(&sim->heap[child + 1], &sim->heap[child]))
			child++;
		if (!entry_before(&sim->heap[child], &last))
			break;
		sim->heap[at] = sim->heap[child];
	}
	sim->heap[at] = last;
	return earliest;
}

/* --- sleeping and waking --- */

static void queue_add(struct simulation *sim, struct queue *queue, uint32_t actor)
{
	sim->players[actor].next = NO_INDEX;
	if (queue->first == NO_INDEX)
		queue->first = actor;
	else
		sim->players[queue->last].next = actor;
	queue->last = actor;
}

static uint32_t queue_take(struct simulation *sim, struct queue *queue)
{
	uint32_t actor = queue->first;

	if (actor != NO_INDEX)
		queue->first = sim->players[actor].next;
	return actor;
}

/* Out of the middle: only when somebody is forced to go on. */
static bool queue_remove(struct simulation *sim, struct queue *queue, uint32_t actor)
{
	uint32_t previous = NO_INDEX;

	for (uint32_t at = queue->first; at != NO_INDEX;
	     previous = at, at = sim->players[at].next) {
		if (at != actor)
			continue;
		if (previous == NO_INDEX)
			queue->first = sim->players[at].next;
		else
			sim->players[previous].next = sim->players[at].next;
		if (queue->last == actor)
			queue->last = previous;
		return true;
	}
	return false;
}

static const struct step *step_of(const struct simulation *sim, uint32_t actor)
{
	return &sim->script->steps[sim->players[actor].step];
}

/* Wakes whoever is first; it comes back after the latency of the step that it sleeps in. */
static bool wake_first(struct simulation *sim, struct queue *queue, uint64_t now_ns,
		       bool is_granted)
{
	uint32_t actor = queue_take(sim, queue);

	if (actor == NO_INDEX)
		return false;
	const struct step *step = step_of(sim, actor);
	uint64_t latency_ns = step->type == STEP_TAKE && queue != &sim->tokens[step->arg].sleepers
				      ? sim->script->lock_latency_ns
				      : step->ns;
	sim->players[actor].is_granted = is_granted;
	schedule(sim, actor, now_ns + latency_ns);
	return true;
}

static void wake_all(struct simulation *sim, struct queue *queue, uint64_t now_ns, bool is_granted)
{
	while (wake_first(sim, queue, now_ns, is_granted))
		;
}

/* --- mutexes and rwlocks --- */

/* True: it has the lock. False: it sleeps. `is_back`: it was woken from this lock's queue. */
static bool mutex_acquire(struct simulation *sim, struct lock *lock, uint32_t actor, bool is_back)
{
	struct player *player = &sim->players[actor];

	if (lock->owner != NO_INDEX && !player->is_forced) {
		lock->was_slept_on = true;
		queue_add(sim, &lock->sleepers, actor);
		return false;
	}
	lock->owner = actor;
	lock->was_slept_on = is_back;
	return true;
}

static void mutex_release(struct simulation *sim, struct lock *lock, uint64_t now_ns)
{
	lock->owner = NO_INDEX;
	if (lock->was_slept_on)
		wake_first(sim, &lock->sleepers, now_ns, false);
}

static void hand_to_writer(struct simulation *sim, struct lock *lock, uint64_t now_ns)
{
	uint32_t writer = lock->sleepers.first;

	if (wake_first(sim, &lock->sleepers, now_ns, true))
		lock->owner = writer;
}

static bool rwlock_acquire(struct simulation *sim, struct lock *lock, uint32_t actor, bool shared)
{
	bool is_free = lock->owner == NO_INDEX && (shared || !lock->reader_count);

	if (!is_free && !sim->players[actor].is_forced) {
		queue_add(sim, shared ? &lock->readers : &lock->sleepers, actor);
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
	while (wake_first(sim, &lock->readers, now_ns, true))
		lock->reader_count++;
}

static bool lock_acquire(struct simulation *sim, const struct step *step, uint32_t actor,
			 bool is_back)
{
	struct lock *lock = &sim->locks[step->arg];

	if (lock->is_shared)
		return rwlock_acquire(sim, lock, actor, step->type == STEP_SHARE);
	return mutex_acquire(sim, lock, actor, is_back);
}

static void lock_release(struct simulation *sim, const struct step *step, uint64_t now_ns)
{
	struct lock *lock = &sim->locks[step->arg];

	if (lock->is_shared)
		rwlock_release(sim, lock, now_ns, step->type == STEP_UNSHARE);
	else
		mutex_release(sim, lock, now_ns);
}

/* --- tokens --- */

/* The job that a take goes on with; `next` counts those that are gone. */
static uint32_t next_job(struct simulation *sim, const struct job_list *jobs, uint32_t *next,
			 uint32_t actor)
{
	if (*next < jobs->count)
		return jobs->steps[(*next)++];
	if (jobs->count && sim->script->actors[actor].last_body != NO_INDEX &&
	    !sim->players[actor].has_left) {
		sim->players[actor].has_left = true;
		return sim->script->actors[actor].last_body;
	}
	return sim->players[actor].step + 1;
}

static bool take(struct simulation *sim, const struct step *step, uint32_t actor)
{
	struct player *player = &sim->players[actor];
	struct tokens *tokens = &sim->tokens[step->arg];
	struct lock *lock = &sim->locks[sim->script->jobs[step->arg].lock];

	if (player->needs_lock && !mutex_acquire(sim, lock, actor, true))
		return false;
	player->needs_lock = false;
	if (!tokens->count && !tokens->is_open && !player->is_forced) {
		queue_add(sim, &tokens->sleepers, actor);
		player->needs_lock = true;
		mutex_release(sim, lock, player->now_ns);
		return false;
	}
	tokens->count -= tokens->count > 0;
	player->step =
		next_job(sim, &sim->script->jobs[step->arg], &sim->next_job[step->arg], actor);
	return true;
}

static void put(struct simulation *sim, uint32_t condition, uint64_t now_ns)
{
	sim->tokens[condition].count++;
	wake_first(sim, &sim->tokens[condition].sleepers, now_ns, false);
}

static void signal(struct simulation *sim, uint32_t link, uint64_t now_ns)
{
	const struct signal_role *role = &sim->script->monitors.signals[link];

	sim->was_given[link] = true;
	wake_all(sim, &sim->listeners[link], now_ns, true);
	if (role->condition == NO_INDEX)
		return;
	struct tokens *tokens = &sim->tokens[role->condition];
	enum put_model model = sim->script->monitors.conditions[role->condition].model;
	if (model == PUT_NONE || (model == PUT_BY_SECTION && !role->is_gate))
		return;
	tokens->is_open = tokens->is_open || role->is_gate;
	tokens->count += !role->is_gate;
	if (role->wakes_all)
		wake_all(sim, &tokens->sleepers, now_ns, false);
	else
		wake_first(sim, &tokens->sleepers, now_ns, false);
}

/* --- the other steps that concern others --- */

static bool permit(struct simulation *sim, const struct step *step, uint32_t actor)
{
	struct permits *permits = &sim->semaphores[step->arg];

	if (!permits->count && !sim->players[actor].is_forced) {
		queue_add(sim, &permits->sleepers, actor);
		return false;
	}
	permits->count -= permits->count > 0;
	return true;
}

static bool meet(struct simulation *sim, const struct step *step, uint32_t actor)
{
	struct meeting *meeting = &sim->barriers[step->arg];

	if (++meeting->count < sim->script->parties[step->arg] && !sim->players[actor].is_forced) {
		queue_add(sim, &meeting->sleepers, actor);
		return false;
	}
	meeting->count = 0;
	wake_all(sim, &meeting->sleepers, sim->players[actor].now_ns, true);
	return true;
}

/* --- bytes --- */

static bool send(struct simulation *sim, const struct step *step, uint32_t actor)
{
	const struct transfer *transfer = &sim->script->flows.transfers[step->arg];
	struct channel *channel = &sim->channels[transfer->flow];
	uint64_t capacity = sim->script->flows.flows[transfer->flow].capacity;
	uint64_t in_flight = channel->written - channel->received;

	if (capacity && in_flight && in_flight + transfer->bytes > capacity &&
	    !sim->players[actor].is_forced) {
		queue_add(sim, &channel->writers, actor);
		return false;
	}
	channel->written += transfer->bytes;
	wake_all(sim, &channel->readers, sim->players[actor].now_ns, false);
	return true;
}

/* Says itself where to go on: a read from a shared pipe goes on with the next job. */
static bool receive(struct simulation *sim, const struct step *step, uint32_t actor, bool is_back)
{
	const struct transfer *transfer = &sim->script->flows.transfers[step->arg];
	struct channel *channel = &sim->channels[transfer->flow];
	struct player *player = &sim->players[actor];

	if (!is_back) {
		channel->claimed += transfer->bytes;
		player->needed = channel->claimed;
	}
	if (channel->written < player->needed && !player->is_forced) {
		queue_add(sim, &channel->readers, actor);
		return false;
	}
	channel->received += transfer->bytes;
	wake_all(sim, &channel->writers, player->now_ns, false);
	if (sim->script->flows.flows[transfer->flow].is_shared)
		player->step = next_job(sim, &sim->script->flow_jobs[transfer->flow],
					&sim->next_flow_job[transfer->flow], actor);
	else
		player->step++;
	return true;
}

static bool await(struct simulation *sim, const struct step *step, uint32_t actor)
{
	struct channel *channel = &sim->channels[sim->script->flows.transfers[step->arg].flow];

	if (channel->written > channel->claimed || sim->players[actor].is_forced)
		return true;
	queue_add(sim, &channel->readers, actor);
	return false;
}

/* --- threads --- */

static void start(struct simulation *sim, uint32_t actor, uint64_t at_ns)
{
	struct player *player = &sim->players[actor];

	if (player->is_started)
		return;
	player->is_started = true;
	schedule(sim, actor, at_ns);
}

static bool join(struct simulation *sim, const struct step *step, uint32_t actor)
{
	if (sim->players[step->arg].is_done || sim->players[actor].is_forced)
		return true;
	queue_add(sim, &sim->players[step->arg].joiners, actor);
	return false;
}

static bool listen(struct simulation *sim, const struct step *step, uint32_t actor)
{
	if (sim->was_given[step->arg] || sim->players[actor].is_forced)
		return true;
	queue_add(sim, &sim->listeners[step->arg], actor);
	return false;
}

static void finish(struct simulation *sim, uint32_t actor)
{
	struct player *player = &sim->players[actor];

	player->is_done = true;
	wake_all(sim, &player->joiners, player->now_ns, true);
}

static uint64_t scaled_ns(const struct simulation *sim, const struct step *step)
{
	double factor = sim->factor[step->arg];

	return factor == 1.0 ? step->ns : (uint64_t)((double)step->ns * factor);
}

/* One step that concerns others, at the actor's time. False: it sleeps, or has ended. */
static bool interact(struct simulation *sim, const struct step *step, uint32_t actor, bool is_back)
{
	struct player *player = &sim->players[actor];
	bool goes_on = true;

	switch ((enum step_type)step->type) {
	case STEP_ACQUIRE:
	case STEP_SHARE:
		goes_on = lock_acquire(sim, step, actor, is_back);
		break;
	case STEP_RELEASE:
	case STEP_UNSHARE:
		lock_release(sim, step, player->now_ns);
		break;
	case STEP_TAKE:
		return take(sim, step, actor); /* says itself where to go on */
	case STEP_PUT:
		put(sim, step->arg, player->now_ns);
		break;
	case STEP_SIGNAL:
		signal(sim, step->arg, player->now_ns);
		break;
	case STEP_AFTER:
		goes_on = listen(sim, step, actor);
		break;
	case STEP_PERMIT:
		goes_on = permit(sim, step, actor);
		break;
	case STEP_POST:
		sim->semaphores[step->arg].count++;
		wake_first(sim, &sim->semaphores[step->arg].sleepers, player->now_ns, false);
		break;
	case STEP_BARRIER:
		goes_on = meet(sim, step, actor);
		break;
	case STEP_SEND:
		goes_on = send(sim, step, actor);
		break;
	case STEP_RECEIVE:
		return receive(sim, step, actor, is_back); /* likewise */
	case STEP_AWAIT:
		goes_on = await(sim, step, actor);
		break;
	case STEP_SPAWN:
		start(sim, step->arg, player->now_ns + step->ns);
		break;
	case STEP_JOIN:
		goes_on = join(sim, step, actor);
		break;
	case STEP_MARK:
		player->finish_ns = player->now_ns;
		break;
	case STEP_END:
		finish(sim, actor);
		return false;
	case STEP_RUN:
		crowd_enter(&sim->crowd, player->now_ns, actor, scaled_ns(sim, step));
		return false;
	case STEP_DELAY:
	case STEP_FIXED:
	case STEP_UNTIL:
		assert(!"steps of one's own are not for interact()");
		break;
	}
	player->step += goes_on;
	return goes_on;
}

/* Runs the steps that concern nobody else. Returns the first one that does. */
static const struct step *run_alone(const struct simulation *sim, struct player *player)
{
	const struct step *step = &sim->script->steps[player->step];
	uint64_t now_ns = player->now_ns;

	for (;; step++) {
		if (step->type == STEP_DELAY || (step->type == STEP_RUN && !sim->is_crowded)) {
			now_ns += scaled_ns(sim, step);
		} else if (step->type == STEP_FIXED) {
			now_ns += step->ns;
		} else if (step->type == STEP_UNTIL) {
			now_ns = step->ns > now_ns ? step->ns : now_ns;
		} else {
			break;
		}
	}
	player->now_ns = now_ns;
	player->step = (uint32_t)(step - sim->script->steps);
	return step;
}

static uint64_t next_turn_ns(const struct simulation *sim)
{
	uint64_t run_ns = crowd_next_ns(&sim->crowd);

	return sim->heap_count && sim->heap[0].at_ns < run_ns ? sim->heap[0].at_ns : run_ns;
}

/* Takes out who is earliest: an actor whose time has come, or one that has run what it had to. */
static struct entry take_turn(struct simulation *sim)
{
	uint64_t run_ns = crowd_next_ns(&sim->crowd);

	if (sim->heap_count && sim->heap[0].at_ns < run_ns)
		return take_earliest(sim);
	struct entry turn = { .at_ns = run_ns, .actor = crowd_leave(&sim->crowd) };

	sim->players[turn.actor].is_granted = true; /* it goes on after its run */
	return turn;
}

/* An actor's turn: goes on until it sleeps, ends, or is no longer the earliest. */
static void play(struct simulation *sim, struct entry turn)
{
	struct player *player = &sim->players[turn.actor];
	bool is_back = player->slept; /* woken to try again */

	player->now_ns = turn.at_ns;
	player->slept = false;
	if (player->is_granted) {
		player->is_granted = is_back = false;
		player->step++;
	}
	for (;; is_back = false) {
		const struct step *step = run_alone(sim, player);

		if (player->now_ns > next_turn_ns(sim)) {
			schedule(sim, turn.actor, player->now_ns);
			return;
		}
		player->slept = !interact(sim, step, turn.actor, is_back);
		player->is_forced = false;
		if (player->slept)
			return;
	}
}

/* --- a run --- */

static void reset_queue(struct queue *queue)
{
	queue->first = queue->last = NO_INDEX;
}

static void reset_resources(struct simulation *sim)
{
	const struct script *script = sim->script;

	for (size_t i = 0; i < script->lock_count; i++) {
		bool is_shared = sim->locks[i].is_shared;

		sim->locks[i] = (struct lock){ .owner = NO_INDEX, .is_shared = is_shared };
		reset_queue(&sim->locks[i].sleepers);
		reset_queue(&sim->locks[i].readers);
	}
	for (size_t i = 0; i < script->monitors.condition_count; i++) {
		sim->tokens[i] = (struct tokens){ .count = script->monitors.conditions[i].initial };
		reset_queue(&sim->tokens[i].sleepers);
		sim->next_job[i] = 0;
	}
	for (size_t i = 0; i < script->semaphore_count; i++) {
		sim->semaphores[i].count = script->permits[i];
		reset_queue(&sim->semaphores[i].sleepers);
	}
	for (size_t i = 0; i < script->barrier_count; i++) {
		sim->barriers[i].count = 0;
		reset_queue(&sim->barriers[i].sleepers);
	}
	for (size_t i = 0; i < script->flows.flow_count; i++) {
		sim->channels[i] = (struct channel){ .written = 0 };
		reset_queue(&sim->channels[i].readers);
		reset_queue(&sim->channels[i].writers);
		sim->next_flow_job[i] = 0;
	}
	for (size_t i = 0; i < script->recording->link_count; i++)
		reset_queue(&sim->listeners[i]);
	memset(sim->was_given, 0, script->recording->link_count * sizeof(*sim->was_given));
}

static void reset(struct simulation *sim)
{
	const struct script *script = sim->script;

	reset_resources(sim);
	sim->heap_count = 0;
	crowd_reset(&sim->crowd, script->cpus);
	sim->order = sim->forced_steps = 0;
	for (uint32_t i = 0; i < script->actor_count; i++) {
		sim->players[i] = (struct player){ .step = script->actors[i].first_step };
		reset_queue(&sim->players[i].joiners);
	}
	for (uint32_t i = 0; i < script->actor_count; i++)
		if (!script->actors[i].is_spawned)
			start(sim, i, script->actors[i].start_ns);
}

static bool all_finished(const struct simulation *sim)
{
	for (size_t i = 0; i < sim->script->actor_count; i++)
		if (sim->script->actors[i].counts && !sim->players[i].is_done)
			return false;
	return true;
}

static void leave_channel(struct simulation *sim, struct channel *channel, uint32_t actor)
{
	(void)(queue_remove(sim, &channel->readers, actor) ||
	       queue_remove(sim, &channel->writers, actor));
}

static void leave_queues(struct simulation *sim, uint32_t actor)
{
	const struct step *step = step_of(sim, actor);
	enum step_type type = (enum step_type)step->type;

	if (type == STEP_ACQUIRE || type == STEP_SHARE)
		(void)(queue_remove(sim, &sim->locks[step->arg].sleepers, actor) ||
		       queue_remove(sim, &sim->locks[step->arg].readers, actor));
	else if (type == STEP_TAKE)
		(void)(queue_remove(sim, &sim->tokens[step->arg].sleepers, actor) ||
		       queue_remove(sim, &sim->locks[sim->script->jobs[step->arg].lock].sleepers,
				    actor));
	else if (type == STEP_AFTER)
		queue_remove(sim, &sim->listeners[step->arg], actor);
	else if (type == STEP_PERMIT)
		queue_remove(sim, &sim->semaphores[step->arg].sleepers, actor);
	else if (type == STEP_BARRIER)
		queue_remove(sim, &sim->barriers[step->arg].sleepers, actor);
	else if (type == STEP_SEND || type == STEP_RECEIVE || type == STEP_AWAIT)
		leave_channel(sim, &sim->channels[sim->script->flows.transfers[step->arg].flow],
			      actor);
	else if (type == STEP_JOIN)
		queue_remove(sim, &sim->players[step->arg].joiners, actor);
}

/* Nobody can go on: lets the one go that has waited longest. False: there is nobody. */
static bool force(struct simulation *sim)
{
	uint32_t chosen = NO_INDEX;
	uint64_t now_ns = 0;

	for (uint32_t i = 0; i < sim->script->actor_count; i++) {
		const struct player *player = &sim->players[i];

		now_ns = player->now_ns > now_ns ? player->now_ns : now_ns;
		if (!player->is_done &&
		    (chosen == NO_INDEX || player->now_ns < sim->players[chosen].now_ns))
			chosen = i;
	}
	if (chosen == NO_INDEX || ++sim->forced_steps > FORCED_STEPS_MAX)
		return false;
	if (sim->players[chosen].is_started)
		leave_queues(sim, chosen);
	sim->players[chosen].is_started = true;
	sim->players[chosen].is_forced = true;
	schedule(sim, chosen, now_ns);
	return true;
}

static void run_once(struct simulation *sim, struct replay_answer *answer)
{
	const struct script *script = sim->script;
	uint64_t finish_ns = script->start_ns;

	reset(sim);
	do {
		while (sim->heap_count || sim->crowd.count)
			play(sim, take_turn(sim));
	} while (!all_finished(sim) && force(sim));
	for (size_t i = 0; i < script->actor_count; i++)
		if (script->actors[i].counts && sim->players[i].finish_ns > finish_ns)
			finish_ns = sim->players[i].finish_ns;
	*answer = (struct replay_answer){ .makespan_ns = (double)(finish_ns - script->start_ns),
					  .forced_steps = sim->forced_steps };
}

/* --- the replayer --- */

/* A function's part of each scope scales, the rest stays. */
static void set_function_factors(struct simulation *sim, const struct function *function,
				 double factor)
{
	const struct share *shares = sim->script->shares.shares + function->first;

	for (size_t i = 0; i < sim->script->scopes.count; i++)
		sim->factor[i] = 1.0;
	for (uint32_t i = 0; i < function->count; i++)
		sim->factor[shares[i].scope] = 1.0 - (double)shares[i].share * (1.0 - factor);
}

static void set_factors(struct simulation *sim, uint32_t class_index, double factor)
{
	const struct scopes *scopes = &sim->script->scopes;
	uint32_t class_count = sim->script->class_count;

	if (class_index != NO_INDEX && class_index >= class_count) {
		set_function_factors(sim, &sim->script->shares.functions[class_index - class_count],
				     factor);
		return;
	}

	for (size_t i = 0; i < scopes->count; i++) {
		const struct scope *scope = &scopes->scopes[i];
		bool is_hit = scope->leaf == class_index;

		for (uint32_t k = 0; k < scope->count; k++)
			is_hit = is_hit || scopes->classes[scope->first + k] == class_index;
		sim->factor[i] = is_hit && class_index != NO_INDEX ? factor : 1.0;
	}
}

static void run(const struct replayer *replayer, uint32_t class_index, const double *factors,
		size_t factor_count, void *scratch, struct replay_answer *answers)
{
	struct simulation *sim = scratch;

	assert(sim->script == replayer->state);
	for (size_t i = 0; i < factor_count; i++) {
		set_factors(sim, class_index, factors[i]);
		run_once(sim, &answers[i]);
	}
}

static void *scratch_new(const struct replayer *replayer)
{
	const struct script *script = replayer->state;
	struct simulation *sim = memory_new(1, sizeof(*sim));

	sim->script = script;
	sim->factor = memory_new(script->scopes.count, sizeof(*sim->factor));
	sim->players = memory_new(script->actor_count, sizeof(*sim->players));
	sim->locks = memory_new(script->lock_count, sizeof(*sim->locks));
	sim->tokens = memory_new(script->monitors.condition_count, sizeof(*sim->tokens));
	sim->next_job = memory_new(script->monitors.condition_count, sizeof(*sim->next_job));
	sim->semaphores = memory_new(script->semaphore_count, sizeof(*sim->semaphores));
	sim->barriers = memory_new(script->barrier_count, sizeof(*sim->barriers));
	sim->channels = memory_new(script->flows.flow_count, sizeof(*sim->channels));
	sim->next_flow_job = memory_new(script->flows.flow_count, sizeof(*sim->next_flow_job));
	sim->listeners = memory_new(script->recording->link_count, sizeof(*sim->listeners));
	sim->was_given = memory_new(script->recording->link_count, sizeof(*sim->was_given));
	sim->heap = memory_new(script->actor_count, sizeof(*sim->heap));
	sim->crowd.heap = memory_new(script->actor_count, sizeof(*sim->crowd.heap));
	sim->is_crowded = script->cpus < (double)script->actor_count;
	for (size_t i = 0; i < script->step_count; i++)
		if (script->steps[i].type == STEP_SHARE)
			sim->locks[script->steps[i].arg].is_shared = true;
	return sim;
}

static void scratch_free(void *scratch)
{
	struct simulation *sim = scratch;

	free(sim->factor);
	free(sim->players);
	free(sim->locks);
	free(sim->tokens);
	free(sim->next_job);
	free(sim->semaphores);
	free(sim->barriers);
	free(sim->channels);
	free(sim->next_flow_job);
	free(sim->listeners);
	free(sim->was_given);
	free(sim->heap);
	free(sim->crowd.heap);
	free(sim);
}

struct replayer simulate_replayer(const struct script *script)
{
	return (struct replayer){ .name = "threads",
				  .state = script,
				  .scratch_new = scratch_new,
				  .scratch_free = scratch_free,
				  .run = run };
}

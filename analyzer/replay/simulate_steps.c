/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a script that concern others: tokens, signals, permits, bytes, threads; locks are in
 * simulate_locks.c.
 *
 * How each is arbitrated is said in simulate.c. Whoever cannot go on sleeps in a queue of what it
 * waits for, and is scheduled again when it is woken: to try once more, or, where what it waited
 * for was handed to it (`is_granted`), to go on. One thread a simulation.
 */
#include "simulate_parts.h"

#include <assert.h>

/* --- sleeping and waking --- */

void simulate_sleep(struct simulation *sim, struct queue *queue, uint32_t actor)
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

/* How long a wake-up takes. What the recording says of a step was once: whoever sleeps there again,
 * as another was quicker, comes back as fast as is usual, or one slow wake-up would never end. What
 * of it runs on a CPU comes when there is one. */
static uint64_t wake_up_ns(const struct simulation *sim, const struct queue *queue, uint32_t actor)
{
	const struct step *step = simulate_step_of(sim, actor);
	bool is_usual = sim->players[actor].has_lost ||
			(step->type == STEP_TAKE && queue != &sim->tokens[step->arg].sleepers);
	bool is_for_lock = is_usual || step->type == STEP_ACQUIRE || step->type == STEP_SHARE;
	uint64_t ns = is_usual ? sim->script->lock_latency_ns : step->ns;

	if (is_for_lock && sim->machine->crosses && ns < assume.crossing)
		ns = assume.crossing;
	uint64_t run_ns = sim->is_crowded ? sim->script->sleep_run_ns : 0;

	return ns > run_ns ? ns - run_ns : 0;
}

bool simulate_wake_first(struct simulation *sim, struct queue *queue, uint64_t now_ns,
			 bool is_granted)
{
	uint32_t actor = queue_take(sim, queue);

	if (actor == NO_INDEX)
		return false;
	sim->players[actor].is_granted = is_granted;
	simulate_schedule(sim, actor, now_ns + wake_up_ns(sim, queue, actor));
	return true;
}

void simulate_wake_all(struct simulation *sim, struct queue *queue, uint64_t now_ns,
		       bool is_granted)
{
	while (simulate_wake_first(sim, queue, now_ns, is_granted))
		;
}

/* --- tokens --- */

/* Which job of its source a take gets: the next one, or the one in the message; NO_INDEX = none. */
static uint32_t job_number(const struct simulation *sim, const struct step *step, uint32_t actor)
{
	const struct script *script = sim->script;

	if (step->type == STEP_RECEIVE) {
		const struct transfer *transfer = &script->flows.transfers[step->arg];
		const struct message_room *room = &script->messages.rooms[transfer->flow];

		if (room->count) {
			uint64_t number = sim->players[actor].needed / transfer->bytes - 1;

			return number < room->count ? sim->sent[room->first + number] : NO_INDEX;
		}
	}
	return sim->next_job[script_source(script, step)];
}

/* Where a take goes on: with a job of the source, if there is a pool. */
static uint32_t next_job(struct simulation *sim, const struct step *step, uint32_t actor)
{
	uint32_t source = script_source(sim->script, step);
	const struct job_list *jobs = &sim->script->jobs[source];

	uint32_t number = jobs->count ? job_number(sim, step, actor) : NO_INDEX;

	if (number < jobs->count) {
		sim->next_job[source]++;
		return jobs->steps[number];
	}
	if (jobs->count && sim->script->actors[actor].last_body != NO_INDEX &&
	    !sim->players[actor].has_left) {
		sim->players[actor].has_left = true;
		return sim->script->actors[actor].last_body;
	}
	return sim->players[actor].step + 1;
}

/*
 * Takes all that is there. There may be more takes than in the recording, of less each: then the
 * last job stands for all that come after it. The last take is the one that finds nothing more, or
 * that gets the last of as many as there were.
 */
static uint32_t take_all(struct simulation *sim, const struct step *step, uint32_t actor)
{
	struct tokens *tokens = &sim->tokens[step->arg];
	struct player *player = &sim->players[actor];
	const struct job_list *jobs = &sim->script->jobs[step->arg];
	uint32_t items = tokens->count, last_body = sim->script->actors[actor].last_body;

	tokens->taken += items;
	tokens->count = 0;
	player->batch = (struct batch){ jobs->cost_of, items, jobs->last_items };
	bool is_last = !items || (jobs->last_items && tokens->taken >= jobs->all_items);
	if (last_body != NO_INDEX && is_last && !player->has_left) {
		player->has_left = true;
		return last_body;
	}
	if (!jobs->count)
		return player->step + 1;
	uint32_t number = sim->next_job[step->arg] < jobs->count ? sim->next_job[step->arg]++
								 : (uint32_t)jobs->count - 1;
	player->batch.recorded_items = jobs->items[number];
	return jobs->steps[number];
}

static bool take(struct simulation *sim, const struct step *step, uint32_t actor)
{
	struct player *player = &sim->players[actor];
	struct tokens *tokens = &sim->tokens[step->arg];
	struct lock *lock = &sim->locks[sim->script->jobs[step->arg].lock];

	if (player->needs_lock && !simulate_mutex_acquire(sim, lock, actor, true))
		return false;
	player->needs_lock = false;
	if (!tokens->count && !tokens->is_open && !player->is_forced) {
		simulate_sleep(sim, &tokens->sleepers, actor);
		player->needs_lock = true;
		simulate_mutex_release(sim, lock, player->now_ns);
		return false;
	}
	if (sim->script->jobs[step->arg].items) {
		player->step = take_all(sim, step, actor);
		return true;
	}
	tokens->count -= tokens->count > 0;
	player->step = next_job(sim, step, actor);
	return true;
}

static void put(struct simulation *sim, uint32_t condition, uint64_t now_ns)
{
	sim->tokens[condition].count++;
	simulate_wake_first(sim, &sim->tokens[condition].sleepers, now_ns, false);
}

/* True: somebody slept who was let go by it. */
static bool signal(struct simulation *sim, uint32_t link, uint64_t now_ns)
{
	const struct signal_role *role = &sim->script->monitors.signals[link];

	sim->was_given[link] = true;
	simulate_wake_all(sim, &sim->listeners[link], now_ns, true);
	if (role->condition == NO_INDEX)
		return false;
	struct tokens *tokens = &sim->tokens[role->condition];
	enum put_model model = sim->script->monitors.conditions[role->condition].model;
	if (model == PUT_NONE || (put_by_section(model) && !role->is_gate))
		return false;
	tokens->is_open = tokens->is_open || role->is_gate;
	tokens->count += !role->is_gate;
	if (!role->wakes_all)
		return simulate_wake_first(sim, &tokens->sleepers, now_ns, false);
	simulate_wake_all(sim, &tokens->sleepers, now_ns, false);
	return false;
}

/* --- the other steps that concern others --- */

static void post(struct simulation *sim, struct permits *permits, uint64_t now_ns)
{
	if (permits->owed) {
		permits->owed--;
		return;
	}
	permits->count++;
	simulate_wake_first(sim, &permits->sleepers, now_ns, false);
}

static bool permit(struct simulation *sim, const struct step *step, uint32_t actor)
{
	struct permits *permits = &sim->semaphores[step->arg];

	if (!permits->count && !sim->players[actor].is_forced) {
		simulate_sleep(sim, &permits->sleepers, actor);
		return false;
	}
	if (permits->count)
		permits->count--;
	else if (step->type == STEP_CLAIM)
		permits->owed++;
	sim->players[actor].step = next_job(sim, step, actor);
	return true;
}

static bool meet(struct simulation *sim, const struct step *step, uint32_t actor)
{
	struct meeting *meeting = &sim->barriers[step->arg];

	if (++meeting->count < sim->script->parties[step->arg] && !sim->players[actor].is_forced) {
		simulate_sleep(sim, &meeting->sleepers, actor);
		return false;
	}
	meeting->count = 0;
	simulate_wake_all(sim, &meeting->sleepers, sim->players[actor].now_ns, true);
	return true;
}

/* --- bytes --- */

/* Up to where a flow takes bytes: what it holds is not read, and who is in a read takes what comes,
 * as a stream does that fills more than a pipe holds. */
static uint64_t room_until(const struct simulation *sim, uint32_t flow)
{
	const struct channel *channel = &sim->channels[flow];
	uint64_t capacity = sim->script->flows.flows[flow].capacity;

	if (!capacity)
		return UINT64_MAX;
	return channel->claimed > channel->received + capacity ? channel->claimed
							       : channel->received + capacity;
}

/* A message goes at once; other bytes as far as there is room, the rest later. */
static bool send(struct simulation *sim, const struct step *step, uint32_t actor, bool is_back)
{
	const struct transfer *transfer = &sim->script->flows.transfers[step->arg];
	const struct message_room *room = &sim->script->messages.rooms[transfer->flow];
	struct channel *channel = &sim->channels[transfer->flow];
	struct player *player = &sim->players[actor];
	uint64_t until = room_until(sim, transfer->flow), bytes;

	if (!is_back)
		player->needed = transfer->bytes;
	bytes = player->needed;
	if (channel->written + bytes > until && !player->is_forced &&
	    !(room->count && channel->written == channel->received))
		bytes = room->count || until < channel->written ? 0 : until - channel->written;
	uint64_t number = room->count ? channel->written / transfer->bytes : room->count;

	if (bytes && number < room->count)
		sim->sent[room->first + number] = sim->script->messages.job_of[step->arg];
	channel->written += bytes;
	player->needed -= bytes;
	player->woke = (is_back && player->woke) || (bytes && channel->readers.first != NO_INDEX);
	if (bytes)
		simulate_wake_all(sim, &channel->readers, player->now_ns, false);
	if (player->needed)
		simulate_sleep(sim, &channel->writers, actor);
	return !player->needed;
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
		if (transfer->bytes > sim->script->flows.flows[transfer->flow].capacity)
			simulate_wake_all(sim, &channel->writers, player->now_ns, false);
	}
	if (channel->written < player->needed && !player->is_forced) {
		simulate_sleep(sim, &channel->readers, actor);
		return false;
	}
	channel->received += transfer->bytes;
	simulate_wake_all(sim, &channel->writers, player->now_ns, false);
	player->step = next_job(sim, step, actor);
	return true;
}

static bool await(struct simulation *sim, const struct step *step, uint32_t actor)
{
	struct channel *channel = &sim->channels[sim->script->flows.transfers[step->arg].flow];

	if (channel->written > channel->claimed || sim->players[actor].is_forced)
		return true;
	simulate_sleep(sim, &channel->readers, actor);
	return false;
}

/* --- threads --- */

void simulate_start(struct simulation *sim, uint32_t actor, uint64_t at_ns)
{
	struct player *player = &sim->players[actor];

	if (player->is_started)
		return;
	player->is_started = true;
	simulate_schedule(sim, actor, at_ns);
}

static bool join(struct simulation *sim, const struct step *step, uint32_t actor)
{
	if (sim->players[step->arg].is_done || sim->players[actor].is_forced)
		return true;
	simulate_sleep(sim, &sim->players[step->arg].joiners, actor);
	return false;
}

static bool listen(struct simulation *sim, const struct step *step, uint32_t actor)
{
	if (sim->was_given[step->arg] || sim->players[actor].is_forced)
		return true;
	simulate_sleep(sim, &sim->listeners[step->arg], actor);
	return false;
}

/* The step that takes: a take comes after the lock that it needs. */
static const struct step *take_from(const struct simulation *sim, uint32_t index)
{
	const struct step *step = &sim->script->steps[index];

	return step->type == STEP_ACQUIRE ? step + 1 : step;
}

/* The jobs that a step takes from are all taken; false also for a step that takes none. */
static bool has_no_more_jobs(const struct simulation *sim, const struct step *step)
{
	uint32_t source = script_source(sim->script, step);

	return source != NO_INDEX && sim->script->jobs[source].count &&
	       sim->next_job[source] >= sim->script->jobs[source].count;
}

/* False: it goes on, with jobs that somebody has to do who was not there. */
static bool finish(struct simulation *sim, uint32_t actor)
{
	struct player *player = &sim->players[actor];
	uint32_t take_step = sim->script->actors[actor].take_step;

	if (take_step != NO_INDEX && !has_no_more_jobs(sim, take_from(sim, take_step))) {
		player->step = take_step;
		return false;
	}
	player->is_done = true;
	simulate_wake_all(sim, &player->joiners, player->now_ns, true);
	return true;
}

bool simulate_retire(struct simulation *sim, uint32_t actor, uint64_t now_ns)
{
	struct player *player = &sim->players[actor];

	if (!player->is_started || player->is_done ||
	    !has_no_more_jobs(sim, simulate_step_of(sim, actor)))
		return false;
	simulate_leave_queues(sim, actor);
	player->finish_ns = player->now_ns;
	player->is_done = true;
	simulate_wake_all(sim, &player->joiners, now_ns, true);
	return true;
}

static void run_on_cpu(struct simulation *sim, const struct step *step, uint32_t actor)
{
	struct player *player = &sim->players[actor];
	uint64_t run_ns = simulate_scaled_ns(sim, player, step);

	player->is_running = true;
	if (sim->has_queues)
		runqueues_enter(&sim->queues, player->now_ns, actor, (double)run_ns);
	else
		crowd_enter(&sim->crowd, player->now_ns, actor, run_ns);
}

/* One step that concerns others, at the actor's time. False: it sleeps, or has ended. */
bool simulate_interact(struct simulation *sim, const struct step *step, uint32_t actor,
		       bool is_back)
{
	struct player *player = &sim->players[actor];
	bool goes_on = true;

	switch ((enum step_type)step->type) {
	case STEP_ACQUIRE:
	case STEP_SHARE:
	case STEP_GRAB:
	case STEP_TRY:
		goes_on = simulate_lock_acquire(sim, step, actor, is_back);
		break;
	case STEP_RELEASE:
	case STEP_UNSHARE:
		simulate_lock_release(sim, step, actor);
		break;
	case STEP_AGAIN:
		player->step -= (uint32_t)step->jump;
		return true;
	case STEP_TAKE:
		return take(sim, step, actor); /* says itself where to go on */
	case STEP_PUT:
		put(sim, step->arg, player->now_ns);
		break;
	case STEP_SIGNAL:
		player->woke = signal(sim, step->arg, player->now_ns);
		break;
	case STEP_AFTER:
		goes_on = listen(sim, step, actor);
		break;
	case STEP_PERMIT:
	case STEP_CLAIM:
		return permit(sim, step, actor); /* likewise */
	case STEP_POST:
		post(sim, &sim->semaphores[step->arg], player->now_ns);
		break;
	case STEP_BARRIER:
		goes_on = meet(sim, step, actor);
		break;
	case STEP_SEND:
		goes_on = send(sim, step, actor, is_back);
		break;
	case STEP_RECEIVE:
		return receive(sim, step, actor, is_back); /* likewise */
	case STEP_AWAIT:
		goes_on = await(sim, step, actor);
		break;
	case STEP_SPAWN:
		simulate_start(sim, step->arg, player->now_ns + step->ns);
		break;
	case STEP_JOIN:
		goes_on = join(sim, step, actor);
		break;
	case STEP_MARK:
		player->finish_ns = player->now_ns;
		break;
	case STEP_END:
		return !finish(sim, actor);
	case STEP_WAKING:
	case STEP_RUN:
		run_on_cpu(sim, step, actor);
		return false;
	case STEP_DELAY:
	case STEP_FIXED:
	case STEP_OVERRUN:
	case STEP_UNTIL:
	case STEP_STAMP:
		assert(!"steps of one's own are not for interact()");
		break;
	}
	player->step += goes_on;
	return goes_on;
}

static void leave_channel(struct simulation *sim, struct channel *channel, uint32_t actor)
{
	(void)(queue_remove(sim, &channel->readers, actor) ||
	       queue_remove(sim, &channel->writers, actor));
}

void simulate_leave_queues(struct simulation *sim, uint32_t actor)
{
	const struct step *step = simulate_step_of(sim, actor);
	enum step_type type = (enum step_type)step->type;

	if (type == STEP_ACQUIRE || type == STEP_SHARE || type == STEP_TRY)
		(void)(queue_remove(sim, &sim->locks[step->arg].sleepers, actor) ||
		       queue_remove(sim, &sim->locks[step->arg].readers, actor));
	else if (type == STEP_TAKE)
		(void)(queue_remove(sim, &sim->tokens[step->arg].sleepers, actor) ||
		       queue_remove(sim, &sim->locks[sim->script->jobs[step->arg].lock].sleepers,
				    actor));
	else if (type == STEP_AFTER)
		queue_remove(sim, &sim->listeners[step->arg], actor);
	else if (type == STEP_PERMIT || type == STEP_CLAIM)
		queue_remove(sim, &sim->semaphores[step->arg].sleepers, actor);
	else if (type == STEP_BARRIER)
		queue_remove(sim, &sim->barriers[step->arg].sleepers, actor);
	else if (type == STEP_SEND || type == STEP_RECEIVE || type == STEP_AWAIT)
		leave_channel(sim, &sim->channels[sim->script->flows.transfers[step->arg].flow],
			      actor);
	else if (type == STEP_JOIN)
		queue_remove(sim, &sim->players[step->arg].joiners, actor);
}

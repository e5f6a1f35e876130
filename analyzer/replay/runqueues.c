/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run queues by earliest eligible virtual deadline first (Stoica and Abdel-Wahab, 1995), as Linux
 * has them since 6.6.
 *
 * Method. Each actor has a virtual time, which its running moves on. An actor that is not ahead of
 * the average of its queue is eligible. Of those, the one whose slice ends first in virtual time
 * gets the CPU. It keeps it until its slice is over, or until an actor wakes whose turn it is. The
 * end of a slice is noticed when the timer ticks.
 * An actor that goes to sleep keeps what it is owed. If it owes, it stays in the queue, asleep,
 * until it would be its turn, or it wakes.
 *
 * An actor that wakes goes to the CPU where it was, if that is idle, else to an idle one
 * (runqueues_wake.c). Else it queues where it was. One that is pulled queues where its waker is. A
 * CPU that has run out fetches an actor from the longest queue, not one that has just been running
 * there. It tries again at each tick. So does a CPU whose queue is much shorter.
 */
#include "runqueues.h"

#include "base/assumptions.h"
#include "base/memory.h"
#include "recording/recording.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

void runqueues_make(struct runqueues *queues, size_t actors, double cpus)
{
	assert(cpus > 0);
	*queues = (struct runqueues){ .actor_count = actors };
	size_t cpu_count = cpus < (double)actors ? (size_t)ceil(cpus) : actors;

	queues->cpu_count = (uint32_t)cpu_count;
	queues->runners = memory_new(actors, sizeof(*queues->runners));
	queues->cpus = memory_new(cpu_count, sizeof(*queues->cpus));
	for (size_t i = 0; i < cpu_count; i++)
		queues->cpus[i].waiting = memory_new(actors, sizeof(uint32_t));
}

void runqueues_free(struct runqueues *queues)
{
	for (size_t i = 0; i < queues->cpu_count; i++)
		free(queues->cpus[i].waiting);
	free(queues->cpus);
	free(queues->runners);
	*queues = (struct runqueues){ 0 };
}

void runqueues_reset(struct runqueues *queues, double cpus, uint64_t tick_ns)
{
	double doublings = log2(cpus > 1 ? cpus : 1);

	assert(cpus > 0 && tick_ns > 0);
	queues->period_ns = tick_ns;
	queues->speed = cpus < queues->cpu_count ? cpus / queues->cpu_count : 1.0;
	doublings = doublings < assume.slice_doublings ? floor(doublings) : assume.slice_doublings;
	queues->slice_ns = (double)assume.slice * (1 + doublings);
	queues->now_ns = queues->next_ns = queues->tick_ns = queues->waited_ns = 0;
	queues->running = 0;
	queues->has_weights = queues->keeps_hot = false;
	queues->cache_cpus = 0;
	for (size_t i = 0; i < queues->cpu_count; i++) {
		uint32_t *waiting = queues->cpus[i].waiting;
		queues->cpus[i] = (struct runqueue){ waiting, .current = NO_INDEX,
						     .end_ns = UINT64_MAX, .is_sum_stale = true };
	}
	for (size_t i = 0; i < queues->actor_count; i++)
		queues->runners[i] =
			(struct runner){ .cpu = NO_INDEX, .waker_cpu = NO_INDEX, .weight = 1.0 };
}

void runqueues_weigh(struct runqueues *queues, uint32_t actor, double weight)
{
	assert(actor < queues->actor_count && weight > 0 && !queues->runners[actor].is_queued);
	queues->runners[actor].weight = weight;
	queues->has_weights = queues->has_weights || weight != 1.0;
}

/* --- one queue --- */

/* One who comes last leaves the order of the sums as it is. */
static void sum_add(struct runqueue *queue, const struct runner *runner)
{
	queue->waiting_ns += runner->weight * runner->virtual_ns;
	queue->waiting_weight += runner->weight;
	if (runner->deadline_ns < queue->waiting_deadline_ns)
		queue->waiting_deadline_ns = runner->deadline_ns;
}

static void sum_up(const struct runqueues *queues, struct runqueue *queue)
{
	if (!queue->is_sum_stale)
		return;
	queue->is_sum_stale = false;
	queue->waiting_ns = queue->waiting_weight = 0;
	queue->waiting_deadline_ns = INFINITY;
	for (uint32_t i = 0; i < queue->count; i++)
		sum_add(queue, &queues->runners[queue->waiting[i]]);
}

/*
 * The average as it is now; the last one when nobody is here. Most changes are of somebody who is
 * alone on a CPU, which nobody asks about: whoever adds or removes somebody has asked before.
 */
static double average_of(const struct runqueues *queues, struct runqueue *queue)
{
	if (!queue->is_stale)
		return queue->average_ns;
	queue->is_stale = false;
	sum_up(queues, queue);
	double sum_ns = queue->waiting_ns, weight = queue->waiting_weight;

	if (queue->current != NO_INDEX) {
		const struct runner *runner = &queues->runners[queue->current];

		sum_ns += runner->weight * runner->virtual_ns;
		weight += runner->weight;
	}
	if (weight > 0)
		queue->average_ns = sum_ns / weight;
	return queue->average_ns;
}

static double ran_ns_of(const struct runqueues *queues, const struct runner *runner)
{
	return (double)(int64_t)(queues->now_ns - runner->since_ns) * queues->speed;
}

/* To be called whenever the current one, or what it has left to run, is another. */
static void look_ahead(const struct runqueues *queues, struct runqueue *queue)
{
	const struct runner *runner = &queues->runners[queue->current];
	double left_ns = queues->speed < 1 ? runner->left_ns / queues->speed : runner->left_ns;

	queue->end_ns = runner->since_ns + runqueues_whole_ns(left_ns);
}

/* Accounts for what the current one has run. */
static void settle(struct runqueues *queues, struct runqueue *queue)
{
	struct runner *runner =
		queue->current == NO_INDEX ? NULL : &queues->runners[queue->current];

	queue->is_stale = true;
	if (!runner ||
	    (runner->since_ns == queues->now_ns && runner->virtual_ns < runner->deadline_ns))
		return;
	double ran_ns = ran_ns_of(queues, runner);

	runner->since_ns = queues->now_ns;
	runner->left_ns -= ran_ns;
	runner->virtual_ns += runner->weight == 1.0 ? ran_ns : ran_ns / runner->weight;
	look_ahead(queues, queue);
	if (runner->virtual_ns >= runner->deadline_ns) {
		runner->deadline_ns = runner->virtual_ns + runqueues_slice_ns(queues, runner);
		queue->is_slice_over = true;
	}
}

/* The actor that is to run: its place in `waiting`, or `count` for the current one. */
static uint32_t pick(const struct runqueues *queues, struct runqueue *queue)
{
	uint32_t best = queue->count;
	const struct runner *runner =
		queue->current == NO_INDEX ? NULL : &queues->runners[queue->current];
	double average_ns = average_of(queues, queue);
	bool is_current_fit = runner && runner->virtual_ns <= average_ns;
	double deadline_ns = is_current_fit ? runner->deadline_ns : INFINITY;
	double earliest_ns = INFINITY;
	uint32_t earliest = queue->count;

	sum_up(queues, queue);
	if (deadline_ns < queue->waiting_deadline_ns)
		return queue->count;
	for (uint32_t i = 0; i < queue->count; i++) {
		runner = &queues->runners[queue->waiting[i]];
		if (runner->virtual_ns < earliest_ns) {
			earliest_ns = runner->virtual_ns;
			earliest = i;
		}
		/* of equal deadlines the newcomer's is first, if the other has had its slice */
		if (runner->virtual_ns <= average_ns &&
		    (runner->deadline_ns < deadline_ns ||
		     (best == queue->count && queue->is_slice_over &&
		      runner->deadline_ns == deadline_ns))) {
			deadline_ns = runner->deadline_ns;
			best = i;
		}
	}
	/* rounding may leave nobody at or before the average */
	return isinf(deadline_ns) && queue->current == NO_INDEX ? earliest : best;
}

static void put_on(struct runqueues *queues, struct runqueue *queue, uint32_t place)
{
	uint32_t actor = queue->waiting[place];
	struct runner *runner = &queues->runners[actor];

	runqueues_add_wait(queues, actor);
	queue->waiting[place] = queue->waiting[--queue->count];
	queue->is_sum_stale = true;
	queue->current = actor;
	queue->is_slice_over = false;
	runner->is_queued = false;
	runner->is_on = true;
	runner->since_ns = queues->now_ns;
	look_ahead(queues, queue);
}

static void queue_up(struct runqueues *queues, struct runqueue *queue, uint32_t actor)
{
	struct runner *runner = &queues->runners[actor];

	runner->is_queued = true;
	runner->queued_ns = queues->now_ns;
	runner->is_on = false;
	runner->cpu = (uint32_t)(queue - queues->cpus);
	queue->waiting[queue->count++] = actor;
	if (!queue->is_sum_stale)
		sum_add(queue, runner);
}

static double lag_of(const struct runqueues *queues, struct runqueue *queue,
		     const struct runner *runner)
{
	double most_ns = assume.lag_slices * runqueues_slice_ns(queues, runner);
	double lag_ns = average_of(queues, queue) - runner->virtual_ns;

	double tick_ns = (double)(int64_t)queues->period_ns / runner->weight;
	most_ns = most_ns > tick_ns ? most_ns : tick_ns;
	return lag_ns > most_ns ? most_ns : lag_ns < -most_ns ? -most_ns : lag_ns;
}

/* Out of the queue, with what it is owed or owes. */
static void leave_queue(struct runqueues *queues, struct runqueue *queue, uint32_t place)
{
	struct runner *runner = &queues->runners[queue->waiting[place]];

	runqueues_add_wait(queues, queue->waiting[place]);
	runner->lag_ns = lag_of(queues, queue, runner);
	runner->is_queued = runner->is_asleep = false;
	queue->waiting[place] = queue->waiting[--queue->count];
	queue->is_stale = queue->is_sum_stale = true;
}

/* As pick(); sleepers whose turn it would be have paid what they owed. */
static uint32_t pick_awake(struct runqueues *queues, struct runqueue *queue)
{
	for (;;) {
		uint32_t place = pick(queues, queue);

		if (place == queue->count || !queues->runners[queue->waiting[place]].is_asleep)
			return place;
		uint32_t actor = queue->waiting[place];
		leave_queue(queues, queue, place);
		queues->runners[actor].lag_ns = 0;
	}
}

/* The current one gives way if it is somebody else's turn. */
static void give_way(struct runqueues *queues, struct runqueue *queue)
{
	uint32_t place = pick_awake(queues, queue);

	if (place == queue->count) {
		queue->is_slice_over = false;
		return;
	}
	if (queue->current != NO_INDEX) {
		uint32_t previous = queue->current, next = queue->waiting[place];

		queues->runners[previous].last_ran_ns = queues->now_ns;
		queue_up(queues, queue, previous);
		for (place = 0; queue->waiting[place] != next;)
			place++;
	}
	put_on(queues, queue, place);
}

/* --- from one CPU to another --- */

/* Into the queue with as much lag as it had. */
static void place_in(struct runqueues *queues, struct runqueue *queue, uint32_t actor)
{
	struct runner *runner = &queues->runners[actor];

	settle(queues, queue);
	sum_up(queues, queue);
	double weight = queue->waiting_weight;
	if (queue->current != NO_INDEX)
		weight += queues->runners[queue->current].weight;
	double lag_ns = weight > 0 ? runner->lag_ns * (weight + runner->weight) / weight : 0;
	runner->virtual_ns = average_of(queues, queue) - lag_ns;
	runner->deadline_ns = runner->virtual_ns + runqueues_slice_ns(queues, runner);
	queue_up(queues, queue, actor);
	queue->is_stale = true;
}

/* The queue with the most in it, of those where somebody waits. */
static struct runqueue *longest_of(struct runqueues *queues)
{
	struct runqueue *longest = NULL;
	double most = 0;

	for (uint32_t i = 0; i < queues->cpu_count; i++) {
		struct runqueue *queue = &queues->cpus[i];
		double load = queue->count ? runqueues_load_of(queues, queue) : 0;

		if (load > most) {
			most = load;
			longest = queue;
		}
	}
	return longest;
}

/* A CPU that is idle takes somebody from the longest queue; another one takes whom it makes their
 * loads more equal to have. */
static bool fetch(struct runqueues *queues, struct runqueue *to, bool also_hot)
{
	struct runqueue *from = longest_of(queues);

	if (!from || from == to)
		return false;
	double more = runqueues_load_of(queues, from) - runqueues_load_of(queues, to);
	for (uint32_t i = 0; i < from->count; i++) {
		uint32_t actor = from->waiting[i];
		struct runner *runner = &queues->runners[actor];

		if (runner->is_asleep || (to->current != NO_INDEX && more <= runner->weight) ||
		    (!also_hot && runner->last_ran_ns + assume.stay > queues->now_ns))
			continue;
		settle(queues, from);
		leave_queue(queues, from, i);
		place_in(queues, to, actor);
		if (to->current == NO_INDEX)
			put_on(queues, to, to->count - 1);
		return true;
	}
	return false;
}

/* --- what simulate.c asks --- */

void runqueues_enter(struct runqueues *queues, uint64_t now_ns, uint32_t actor, double run_ns)
{
	struct runner *runner = &queues->runners[actor];

	assert(actor < queues->actor_count);
	assert(now_ns >= queues->now_ns && (!runner->is_queued || runner->is_asleep));
	queues->now_ns = now_ns;
	queues->next_ns = 0;
	if (runner->is_on) {
		settle(queues, &queues->cpus[runner->cpu]);
		runner->left_ns = run_ns;
		look_ahead(queues, &queues->cpus[runner->cpu]);
		queues->running++;
		return;
	}
	runner->left_ns = run_ns;
	queues->running++;
	struct runqueue *queue = runner->is_asleep ? &queues->cpus[runner->cpu]
						   : runqueues_queue_for(queues, runner);
	if (runner->is_asleep) {
		settle(queues, queue);
		runner->is_asleep = false;
		runner->queued_ns = now_ns;
	} else {
		place_in(queues, queue, actor);
	}
	runner->is_pulled = false;
	runner->waker_cpu = NO_INDEX;
	if (queue->current == NO_INDEX && queue->count == 1)
		put_on(queues, queue, 0);
	else
		give_way(queues, queue);
}

void runqueues_off(struct runqueues *queues, uint64_t now_ns, uint32_t actor)
{
	struct runner *runner = &queues->runners[actor];
	struct runqueue *queue = &queues->cpus[runner->cpu];

	assert(runner->is_on && queue->current == actor);
	queues->now_ns = now_ns > queues->now_ns ? now_ns : queues->now_ns;
	queues->next_ns = 0;
	settle(queues, queue);
	runner->lag_ns = lag_of(queues, queue, runner);
	runner->is_on = false;
	runner->last_ran_ns = queues->now_ns;
	queue->current = NO_INDEX;
	queue->end_ns = UINT64_MAX;
	if (runner->lag_ns < 0 && queue->count) {
		queue_up(queues, queue, actor);
		runner->is_asleep = true;
	}
	queue->is_stale = true;
	if (queue->count)
		give_way(queues, queue);
	if (queue->current == NO_INDEX)
		fetch(queues, queue, false);
}

/* A run may end at the very moment of the tick: that comes first, or it would be left out. */
static bool is_tick_due(const struct runqueues *queues)
{
	if (queues->now_ns != queues->tick_ns)
		return false;
	for (uint32_t i = 0; i < queues->cpu_count; i++)
		if (queues->cpus[i].count)
			return true;
	return false;
}

bool runqueues_is_first(const struct runqueues *queues, uint32_t actor)
{
	const struct runner *runner = &queues->runners[actor];

	if (is_tick_due(queues) || !runner->is_on ||
	    queues->cpus[runner->cpu].end_ns > queues->now_ns)
		return false;
	for (uint32_t i = 0; i < runner->cpu; i++)
		if (queues->cpus[i].end_ns <= queues->now_ns)
			return false;
	return true;
}

static void tick(struct runqueues *queues)
{
	for (uint32_t i = 0; i < queues->cpu_count; i++) {
		struct runqueue *queue = &queues->cpus[i];

		bool was_idle = queue->current == NO_INDEX;
		fetch(queues, queue, !queues->keeps_hot);
		if (was_idle)
			continue;
		settle(queues, queue);
		if (queue->count && queue->is_slice_over)
			give_way(queues, queue);
	}
}

uint32_t runqueues_happen(struct runqueues *queues)
{
	queues->now_ns = runqueues_next_ns(queues);
	queues->next_ns = 0;
	for (uint32_t i = 0; i < queues->cpu_count && !is_tick_due(queues); i++) {
		struct runqueue *queue = &queues->cpus[i];

		if (queue->end_ns > queues->now_ns)
			continue;
		settle(queues, queue);
		queues->runners[queue->current].left_ns = 0;
		queue->end_ns = queues->next_ns = queues->now_ns;
		queues->running--;
		return queue->current;
	}
	queues->tick_ns = queues->now_ns + queues->period_ns;
	tick(queues);
	return NO_INDEX;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU whose queue an actor goes to when it wakes.
 *
 * Method. Linux has two CPUs to choose from: where the thread was, and where its waker is. From
 * there it looks for an idle one, but only among the CPUs that share a cache with that one. A
 * virtual machine often tells its kernel of no shared cache. Then a thread that is woken from the
 * CPU where it was stays behind its waker, though another CPU is idle. That one may fetch it later.
 *
 * One thread.
 */
#include "runqueues.h"

#include "recording/recording.h"

#include <assert.h>

double runqueues_load_of(const struct runqueues *queues, const struct runqueue *queue)
{
	double load = queue->current == NO_INDEX ? 0 : queues->runners[queue->current].weight;

	if (!queues->has_weights)
		return queue->count + load;
	for (uint32_t i = 0; i < queue->count; i++)
		load += queues->runners[queue->waiting[i]].weight;
	return load;
}

void runqueues_pull(struct runqueues *queues, uint32_t actor, uint32_t waker)
{
	struct runner *runner = &queues->runners[actor];

	assert(actor < queues->actor_count && waker < queues->actor_count);
	if (runner->is_queued || runner->is_on || queues->runners[waker].cpu == NO_INDEX)
		return;
	runner->cpu = queues->runners[waker].cpu;
	runner->is_pulled = true;
}

void runqueues_woken(struct runqueues *queues, uint32_t actor, uint32_t waker)
{
	assert(actor < queues->actor_count && waker < queues->actor_count);
	queues->runners[actor].waker_cpu = queues->runners[waker].cpu;
}

/* The first idle CPU of some; else the one with the fewest that wait. */
static struct runqueue *emptiest(struct runqueues *queues, uint32_t from, uint32_t end)
{
	struct runqueue *shortest = &queues->cpus[from];

	for (uint32_t i = from; i < end; i++) {
		struct runqueue *queue = &queues->cpus[i];

		if (queue->current == NO_INDEX)
			return queue;
		if (queue->count < shortest->count)
			shortest = queue;
	}
	return shortest;
}

struct runqueue *runqueues_queue_for(struct runqueues *queues, const struct runner *runner)
{
	uint32_t shared = queues->cache_cpus ? queues->cache_cpus : queues->cpu_count;

	if (runner->cpu == NO_INDEX)
		return emptiest(queues, 0, queues->cpu_count);
	struct runqueue *queue = &queues->cpus[runner->cpu];
	if (runner->is_pulled || queue->current == NO_INDEX)
		return queue;
	if (shared < queues->cpu_count && runner->waker_cpu != NO_INDEX) {
		struct runqueue *wakers = &queues->cpus[runner->waker_cpu];

		if (runqueues_load_of(queues, wakers) < runqueues_load_of(queues, queue))
			queue = wakers;
	}
	uint32_t from = (uint32_t)(queue - queues->cpus) / shared * shared;
	uint32_t end = from + shared < queues->cpu_count ? from + shared : queues->cpu_count;
	struct runqueue *beside = emptiest(queues, from, end);

	return beside->current == NO_INDEX ? beside : queue;
}

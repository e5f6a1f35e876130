/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When something happens next, and an actor that runs on until then; runqueues.h has the contract.
 *
 * Nothing may happen before the first of: another CPU's run ends, or the tick where somebody waits.
 */
#include "recording/recording.h"
#include "runqueues.h"

#include <assert.h>

uint64_t runqueues_look(struct runqueues *queues)
{
	uint64_t next_ns = UINT64_MAX;

	for (uint32_t i = 0; i < queues->cpu_count; i++) {
		const struct runqueue *queue = &queues->cpus[i];

		if (queue->count && runqueues_tick_ns(queues) < next_ns)
			next_ns = runqueues_tick_ns(queues);
		if (queue->end_ns < next_ns)
			next_ns = queue->end_ns;
	}
	queues->next_ns = next_ns > queues->now_ns ? next_ns : queues->now_ns;
	return queues->next_ns;
}

void runqueues_ahead_begin(struct runqueues *queues, struct run_ahead *ahead, uint32_t actor)
{
	struct runner *runner = &queues->runners[actor];

	assert(runner->is_on && runner->since_ns == queues->now_ns);
	*ahead = (struct run_ahead){ .runner = runner,
				     .speed = queues->speed,
				     .slice_ns = runqueues_slice_ns(queues, runner),
				     .now_ns = queues->now_ns,
				     .before_ns = UINT64_MAX,
				     .is_slice_over = queues->cpus[runner->cpu].is_slice_over,
				     .may_sleep = runner->weight == 1.0 };
	for (uint32_t i = 0; i < queues->cpu_count; i++) {
		const struct runqueue *queue = &queues->cpus[i];

		if (i != runner->cpu && queue->end_ns < ahead->before_ns)
			ahead->before_ns = queue->end_ns;
		if (!queue->count)
			continue;
		ahead->may_sleep = false;
		if (runqueues_tick_ns(queues) < ahead->before_ns)
			ahead->before_ns = runqueues_tick_ns(queues);
	}
}

void runqueues_ahead_end(struct runqueues *queues, struct run_ahead *ahead)
{
	struct runqueue *queue = &queues->cpus[ahead->runner->cpu];

	if (!ahead->has_run)
		return;
	queues->now_ns = queues->next_ns = ahead->now_ns;
	queue->end_ns = ahead->runner->since_ns = ahead->now_ns;
	queue->is_stale = true;
	queue->is_slice_over = ahead->is_slice_over;
	ahead->runner->left_ns = 0;
	ahead->has_run = false;
}

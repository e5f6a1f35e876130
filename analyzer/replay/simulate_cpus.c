/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPUs of a replay, kernel by kernel: simulate_parts.h has the contract.
 *
 * Actors share, or queue for, the CPUs of the kernel that they were recorded on, and no others. So
 * each kernel has a crowd and run queues of its own, in which actors have numbers from 0 on. The
 * next event is the first one of all kernels. One thread a simulation.
 */
#include "simulate_parts.h"

#include "base/memory.h"
#include "recording/recording.h"

#include <assert.h>
#include <stdlib.h>

static void add_user(struct simulation *sim, uint32_t actor, uint32_t kernel)
{
	assert(kernel < sim->kernel_count);
	sim->users[actor] = (struct cpu_user){ kernel, sim->cpus[kernel].count++ };
}

static void users_number(struct simulation *sim)
{
	uint32_t actors = (uint32_t)sim->script->actor_count;

	for (uint32_t i = 0; i < actors; i++)
		add_user(sim, i, sim->script->actors[i].kernel);
	for (uint32_t k = 0; k < sim->kernel_count; k++)
		sim->cpus[k].queues.counted = sim->cpus[k].count;
	for (uint32_t i = 0; i < sim->stranger_count; i++)
		add_user(sim, actors + i, sim->strangers[i].kernel);
}

void simulate_cpus_make(struct simulation *sim)
{
	size_t all = sim->script->actor_count + sim->stranger_count;

	sim->kernel_count = sim->script->kernel_count ? (uint32_t)sim->script->kernel_count : 1;
	sim->cpus = memory_new(sim->kernel_count, sizeof(*sim->cpus));
	sim->users = memory_new(all, sizeof(*sim->users));
	users_number(sim);
	for (uint32_t k = 0; k < sim->kernel_count; k++) {
		struct cpus *cpus = &sim->cpus[k];
		uint32_t counted = cpus->queues.counted;

		cpus->actors = memory_new(cpus->count, sizeof(*cpus->actors));
		cpus->crowd.heap = memory_new(cpus->count, sizeof(*cpus->crowd.heap));
		if (sim->is_crowded)
			runqueues_make(&cpus->queues, cpus->count,
				       machine_cpus_of(sim->machine, sim->script, k));
		cpus->queues.counted = counted;
	}
	for (uint32_t i = 0; i < all; i++)
		cpus_of(sim, i)->actors[sim->users[i].number] = i;
}

void simulate_cpus_free(struct simulation *sim)
{
	for (uint32_t k = 0; k < sim->kernel_count; k++) {
		free(sim->cpus[k].actors);
		free(sim->cpus[k].crowd.heap);
		runqueues_free(&sim->cpus[k].queues);
	}
	free(sim->cpus);
	free(sim->users);
}

void simulate_cpus_reset(struct simulation *sim)
{
	const struct script *script = sim->script;

	for (uint32_t k = 0; k < sim->kernel_count; k++) {
		struct cpus *cpus = &sim->cpus[k];
		double count = machine_cpus_of(sim->machine, script, k);

		if (!sim->has_queues) {
			crowd_reset(&cpus->crowd, count);
			continue;
		}
		runqueues_reset(&cpus->queues, count, sim->machine->tick_ns);
		cpus->queues.keeps_hot = sim->crossing.pulls;
		cpus->queues.cache_cpus = sim->machine->cache_cpus;
	}
	for (uint32_t i = 0; sim->has_queues && i < script->actor_count; i++)
		if (script->actors[i].weight != 1.0)
			runqueues_weigh(&cpus_of(sim, i)->queues, sim->users[i].number,
					script->actors[i].weight);
}

static uint64_t next_ns_of(const struct simulation *sim, struct cpus *cpus)
{
	return sim->has_queues ? runqueues_next_ns(&cpus->queues) : crowd_next_ns(&cpus->crowd);
}

uint64_t simulate_cpus_next_ns(const struct simulation *sim)
{
	uint64_t next_ns = next_ns_of(sim, sim->cpus);

	for (uint32_t k = 1; k < sim->kernel_count; k++) {
		uint64_t at_ns = next_ns_of(sim, &sim->cpus[k]);

		next_ns = at_ns < next_ns ? at_ns : next_ns;
	}
	return next_ns;
}

uint32_t simulate_cpus_happen(struct simulation *sim, uint64_t next_ns)
{
	struct cpus *cpus = sim->cpus;

	while (next_ns_of(sim, cpus) != next_ns) {
		cpus++;
		assert(cpus < sim->cpus + sim->kernel_count);
	}
	uint32_t number =
		sim->has_queues ? runqueues_happen(&cpus->queues) : crowd_leave(&cpus->crowd);

	return number == NO_INDEX ? NO_INDEX : cpus->actors[number];
}

void simulate_cpus_enter(struct simulation *sim, uint64_t now_ns, uint32_t actor, double run_ns)
{
	struct cpus *cpus = cpus_of(sim, actor);
	uint32_t number = sim->users[actor].number;

	if (sim->has_queues)
		runqueues_enter(&cpus->queues, now_ns, number, run_ns);
	else
		crowd_enter(&cpus->crowd, now_ns, number, (uint64_t)run_ns);
}

/* When something happens on the CPUs of another kernel. */
static uint64_t elsewhere_ns(struct simulation *sim, const struct cpus *here)
{
	uint64_t next_ns = UINT64_MAX;

	for (struct cpus *cpus = sim->cpus; cpus < sim->cpus + sim->kernel_count; cpus++)
		if (cpus != here && next_ns_of(sim, cpus) < next_ns)
			next_ns = next_ns_of(sim, cpus);
	return next_ns;
}

void simulate_cpus_ahead_begin(struct simulation *sim, struct run_ahead *ahead, uint32_t actor)
{
	struct cpus *cpus = cpus_of(sim, actor);
	uint64_t before_ns = elsewhere_ns(sim, cpus);

	runqueues_ahead_begin(&cpus->queues, ahead, sim->users[actor].number);
	if (before_ns < ahead->before_ns)
		ahead->before_ns = before_ns;
}

bool simulate_cpus_run(struct simulation *sim, uint64_t *now_ns, uint64_t run_ns, uint64_t until_ns)
{
	struct cpus *cpus = cpus_of(sim, sim->acting);
	uint64_t before_ns = elsewhere_ns(sim, cpus);

	return crowd_run(&cpus->crowd, now_ns, run_ns, before_ns < until_ns ? before_ns : until_ns);
}

void simulate_cpus_pull(struct simulation *sim, uint32_t actor, uint32_t waker)
{
	if (sim->users[actor].kernel == sim->users[waker].kernel)
		runqueues_pull(&cpus_of(sim, actor)->queues, sim->users[actor].number,
			       sim->users[waker].number);
}

void simulate_cpus_woken(struct simulation *sim, uint32_t actor, uint32_t waker)
{
	if (sim->has_queues && sim->users[actor].kernel == sim->users[waker].kernel)
		runqueues_woken(&cpus_of(sim, actor)->queues, sim->users[actor].number,
				sim->users[waker].number);
}

size_t simulate_cpus_running(const struct simulation *sim)
{
	size_t count = 0;

	for (uint32_t k = 0; k < sim->kernel_count; k++)
		count += sim->has_queues ? sim->cpus[k].queues.running : sim->cpus[k].crowd.count;
	return count;
}

double simulate_cpus_waited_ns(const struct simulation *sim)
{
	double waited_ns = 0;

	for (uint32_t k = 0; sim->has_queues && k < sim->kernel_count; k++)
		waited_ns += (double)sim->cpus[k].queues.waited_ns;
	return waited_ns;
}

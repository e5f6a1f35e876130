/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks for a few threads: each takes the next number from a shared counter until none is left.
 *
 * The counter is all that the threads share; joining them publishes what the tasks wrote.
 */
#include "workers.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

struct work {
	worker_task *task;
	void *context;
	size_t task_count;
	atomic_size_t next_task;
};

struct worker {
	struct work *work;
	size_t number;
	pthread_t thread;
};

size_t workers_count(size_t wanted, size_t task_count)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t count = wanted ? wanted : cpus > 1 ? (size_t)cpus : 1;
	count = count < WORKERS_MAX ? count : WORKERS_MAX;
	return count < task_count ? count : task_count;
}

static void *worker_work(void *argument)
{
	struct worker *worker = argument;
	struct work *work = worker->work;
	for (;;) {
		/* Relaxed: tasks are handed out by number alone, and pthread_join publishes what
		 * they wrote. */
		size_t index = atomic_fetch_add_explicit(&work->next_task, 1, memory_order_relaxed);
		if (index >= work->task_count)
			return NULL;
		work->task(work->context, index, worker->number);
	}
}

void workers_run(size_t wanted, size_t task_count, worker_task *task, void *context)
{
	struct worker workers[WORKERS_MAX];
	struct work work = { .task = task, .context = context, .task_count = task_count };
	size_t count = workers_count(wanted, task_count), started = 1;
	assert(task);
	for (size_t i = 0; i < count; i++)
		workers[i] = (struct worker){ .work = &work, .number = i };
	while (started < count &&
	       pthread_create(&workers[started].thread, NULL, worker_work, &workers[started]) == 0)
		started++;
	if (count)
		worker_work(&workers[0]);
	for (size_t i = 1; i < started; i++)
		pthread_join(workers[i].thread, NULL);
}

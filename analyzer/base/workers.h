/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that work side by side on numbered tasks, each of which is done once.
 *
 * Tasks are handed out one by one, in their order, as they may differ widely in cost. A task may
 * write what is its own without a lock: the caller reads it after workers_run().
 */
#ifndef WCPROF_WORKERS_H
#define WCPROF_WORKERS_H

#include <stddef.h>

enum { WORKERS_MAX = 64 }; /* more than that share one memory anyway */

/* Does the task with the number `index`. `worker`, below workers_count(), is the thread that does
 * it: 0 is the one that called workers_run(). */
typedef void worker_task(void *context, size_t index, size_t worker);

/* The threads that `task_count` tasks are worth: `wanted`, or one per CPU if that is 0, but no more
 * than tasks or WORKERS_MAX. */
size_t workers_count(size_t wanted, size_t task_count);

/* The calling thread works too, and does what threads that could not be started would have done. */
void workers_run(size_t wanted, size_t task_count, worker_task *task, void *context);

#endif

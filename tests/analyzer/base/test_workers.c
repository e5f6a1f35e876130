/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a hypothesis would be left out or tried twice, or read before it is answered.
 */
#include "base/workers.h"
#include "suite.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

enum { TASKS_MAX = 1000 };

struct list {
	unsigned done[TASKS_MAX]; /* written by tasks, without a lock */
	size_t last_of[WORKERS_MAX];
	size_t worker_count;
	bool is_in_order;
	pthread_t caller;
	pthread_barrier_t all_here;
};

static void tick_off(void *context, size_t index, size_t worker)
{
	struct list *list = context;
	ck_assert_uint_lt(worker, list->worker_count);
	ck_assert(worker > 0 || pthread_equal(pthread_self(), list->caller));
	list->done[index]++;
	if (list->last_of[worker] && list->last_of[worker] >= index + 1)
		list->is_in_order = false;
	list->last_of[worker] = index + 1;
}

static const struct {
	size_t wanted;
	size_t task_count;
	size_t worker_count; /* 0: as many as there are CPUs */
} rows[] = {
	/* 0 */ { 1, 0, 0 },
	/* 1 */ { 0, 0, 0 },
	/* 2 */ { 1, 1, 1 },
	/* 3 */ { 4, 3, 3 },
	/* 4 */ { 4, 1000, 4 },
	/* 5 */ { 1000, 1000, WORKERS_MAX },
	/* 6 */ { 0, 1000, 0 },
};

START_TEST(each_task_is_done_once)
{
	struct list list = { .is_in_order = true, .caller = pthread_self() };
	list.worker_count = workers_count(rows[_i].wanted, rows[_i].task_count);
	if (rows[_i].worker_count)
		ck_assert_uint_eq(list.worker_count, rows[_i].worker_count);
	ck_assert_uint_le(list.worker_count, rows[_i].task_count);
	workers_run(rows[_i].wanted, rows[_i].task_count, tick_off, &list);
	ck_assert(list.is_in_order);
	for (size_t i = 0; i < TASKS_MAX; i++)
		ck_assert_uint_eq(list.done[i], i < rows[_i].task_count);
}
END_TEST

static void meet(void *context, size_t index, size_t worker)
{
	struct list *list = context;
	pthread_barrier_wait(&list->all_here);
	list->done[index] = 1 + (unsigned)worker;
}

/* One after the other they would never all be there. */
START_TEST(workers_work_side_by_side)
{
	enum { WORKERS = 3 };
	struct list list = { .worker_count = WORKERS };
	pthread_barrier_init(&list.all_here, NULL, WORKERS);
	workers_run(WORKERS, WORKERS, meet, &list);
	ck_assert_uint_eq(list.done[0] + list.done[1] + list.done[2], 1 + 2 + 3);
	pthread_barrier_destroy(&list.all_here);
}
END_TEST

SUITE()
{
	EACH(each_task_is_done_once, rows);
	TEST(workers_work_side_by_side);
}

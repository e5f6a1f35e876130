/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expected: the last to arrive decides a barrier, and a faster one only until it is not the last.
 * Permits limit how many run at a time; threads that are joined count by the longest.
 *
 * Patterns in which threads meet at what counts: barriers, semaphores, joins, once. The comment
 * above each says which pieces matter. Queue indexes belong to lock_m. Not here: conditions;
 * nobody may wait for anything but a count.
 */
#include "truth.h"

#include <semaphore.h>

enum { SLOW_JOB_EVERY = 7, WORKERS = 4 };

static pthread_mutex_t lock_m = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier_all;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t items, slots;

/* barrier: work_a is late each time, and gains only until work_b is the late one. */
static void *late(void *unused UNUSED)
{
	for (long i = count_of("T_N"); i > 0; i--) {
		work_a();
		pthread_barrier_wait(&barrier_all);
	}
	return NULL;
}

static void *early(void *unused UNUSED)
{
	for (long i = count_of("T_N"); i > 0; i--) {
		work_b();
		pthread_barrier_wait(&barrier_all);
	}
	return NULL;
}

static void barrier(void)
{
	pthread_barrier_init(&barrier_all, NULL, 2);
	start(late, 0);
	start(early, 0);
	join_all();
}

/* sempool: a job queue made of two semaphores, T_M jobs at most are waiting in it. */
static long jobs_taken, jobs_given;

static long take_job(void)
{
	long job;

	sem_wait(&items);
	pthread_mutex_lock(&lock_m);
	job = jobs_taken < jobs_given ? jobs_taken++ : -1;
	pthread_mutex_unlock(&lock_m);
	return job;
}

static void *worker(void *unused UNUSED)
{
	for (long job = take_job(); job >= 0; job = take_job()) {
		sem_post(&slots);
		if (job % SLOW_JOB_EVERY == 3)
			work_b();
		else
			work_a();
	}
	return NULL;
}

static void sempool(void)
{
	sem_init(&items, 0, 0);
	sem_init(&slots, 0, (unsigned)count_of("T_M"));
	start_many(WORKERS, worker);
	for (long i = count_of("T_N"); i > 0; i--) {
		work_c();
		sem_wait(&slots);
		pthread_mutex_lock(&lock_m);
		jobs_given++;
		pthread_mutex_unlock(&lock_m);
		sem_post(&items);
	}
	for (int i = 0; i < WORKERS; i++)
		sem_post(&items);
	join_all();
}

/*
 * permits: six threads, T_M of them at a time in work_a; work_b outside is hidden behind the
 * others.
 */
static void *limited(void *unused UNUSED)
{
	for (long i = count_of("T_N"); i > 0; i--) {
		sem_wait(&slots);
		work_a();
		sem_post(&slots);
		work_b();
	}
	return NULL;
}

static void permits(void)
{
	sem_init(&slots, 0, (unsigned)count_of("T_M"));
	start_many(6, limited);
	join_all();
}

/*
 * semring: a ball goes to and fro, so work_a and work_b add up, and work_c after the pass is
 * hidden.
 */
static void *return_ball(void *unused UNUSED)
{
	for (long i = count_of("T_N"); i > 0; i--) {
		sem_wait(&items);
		work_b();
		sem_post(&slots);
		work_c();
	}
	return NULL;
}

static void semring(void)
{
	sem_init(&items, 0, 0);
	sem_init(&slots, 0, 0);
	start(return_ball, 0);
	for (long i = count_of("T_N"); i > 0; i--) {
		work_a();
		sem_post(&items);
		sem_wait(&slots);
	}
	join_all();
}

/*
 * initonce: everybody waits for the one initialiser (work_a), then works (work_b, first one
 * work_c).
 */
static void *use_initialised(void *rank)
{
	pthread_once(&once, work_a);
	if (rank)
		work_b();
	else
		work_c();
	return NULL;
}

static void initonce(void)
{
	start_many(3, use_initialised);
	join_all();
}

/*
 * forkjoin: each round starts two threads (work_a, work_b) and works itself (work_c): the
 * longest.
 */
static void *side_a(void *unused UNUSED)
{
	work_a();
	return NULL;
}

static void *side_b(void *unused UNUSED)
{
	work_b();
	return NULL;
}

static void forkjoin(void)
{
	for (long i = count_of("T_N"); i > 0; i--) {
		start(side_a, 0);
		start(side_b, 0);
		work_c();
		join_all();
	}
}

int main(int argc, char **argv)
{
	static const struct pattern patterns[] = {
		{ "barrier", barrier }, { "sempool", sempool },   { "permits", permits },
		{ "semring", semring }, { "initonce", initonce }, { "forkjoin", forkjoin },
		{ NULL, NULL }
	};

	return truth_main(argc, argv, patterns);
}

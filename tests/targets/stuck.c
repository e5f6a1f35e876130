/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that are blocked for ever: three in a circle of mutexes, one behind a writer, one on
 * a pipe. */
/*
 * Expected of `wcprof stacks`: "one" waits for mutex second, held by "two". "two" waits for third,
 * held by "three", and "three" for first, held by "one": a deadlock of three. "reader" waits for
 * the read lock of rwlock table, held by "writer", which waits for condition never. "pipe" is in
 * read(). The first thread waits for the end of "one". Prints "ready" when all of them are about
 * to block.
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t third = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t all_hold;
static int ends[2];

enum { THREADS = 6 };

__attribute__((noinline)) static void take_both(pthread_mutex_t *mine, pthread_mutex_t *others)
{
	pthread_mutex_lock(mine);
	pthread_barrier_wait(&all_hold);
	pthread_mutex_lock(others);
	__asm__ volatile("");
}

static void *run_one(void *unused)
{
	take_both(&first, &second);
	return unused;
}

static void *run_two(void *unused)
{
	take_both(&second, &third);
	return unused;
}

static void *run_three(void *unused)
{
	take_both(&third, &first);
	return unused;
}

static void *run_writer(void *unused)
{
	pthread_rwlock_wrlock(&table);
	pthread_mutex_lock(&guard);
	pthread_barrier_wait(&all_hold);
	for (;;)
		pthread_cond_wait(&never, &guard);
	return unused;
}

static void *run_reader(void *unused)
{
	pthread_barrier_wait(&all_hold);
	pthread_rwlock_rdlock(&table);
	return unused;
}

static void *run_pipe(void *unused)
{
	char byte;

	pthread_barrier_wait(&all_hold);
	(void)!read(ends[0], &byte, 1);
	return unused;
}

int main(void)
{
	static const struct {
		const char *name;
		void *(*run)(void *);
	} threads[THREADS] = {
		{ "one", run_one },       { "two", run_two },       { "three", run_three },
		{ "writer", run_writer }, { "reader", run_reader }, { "pipe", run_pipe },
	};
	pthread_t ids[THREADS];

	if (pipe(ends) != 0 || pthread_barrier_init(&all_hold, NULL, THREADS + 1) != 0)
		return 1;
	for (int i = 0; i < THREADS; i++) {
		if (pthread_create(&ids[i], NULL, threads[i].run, NULL) != 0)
			return 1;
		pthread_setname_np(ids[i], threads[i].name);
	}
	pthread_barrier_wait(&all_hold);
	puts("ready");
	fflush(stdout);
	pthread_join(ids[0], NULL);
	return 0;
}

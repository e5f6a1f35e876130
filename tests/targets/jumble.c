/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that do a jumble of things, flat out, until standard input ends. */
/*
 * jumble THREADS SEED
 *
 * Random numbers say what each thread does next. It takes some of few mutexes, or unlocks one that
 * another thread has locked. It takes read and write locks, signals and waits for a moment, posts
 * and takes permits. It begins an op, or ends that of another thread. It begins and ends flows,
 * reads, and starts threads and children that live for a moment. Nothing of it can wait for ever.
 */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "wcprof.h"

enum { LOCKS = 3, THREADS_MAX = 64 };

static pthread_mutex_t mutexes[LOCKS];
static pthread_mutex_t given[LOCKS]; /* unlocked by whoever comes next */
static int is_given[LOCKS];
static pthread_rwlock_t rwlocks[LOCKS];
static pthread_cond_t conditions[LOCKS];
static sem_t semaphores[LOCKS];
static uint64_t ops[LOCKS];
static _Atomic int is_over;
static int zero;

static uint32_t draw(uint64_t *random, uint32_t below)
{
	*random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*random >> 33) % below;
}

static struct timespec soon(long us)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	time.tv_nsec += us * 1000;
	time.tv_sec += time.tv_nsec / 1000000000;
	time.tv_nsec %= 1000000000;
	return time;
}

static void read_one(void)
{
	char byte;

	(void)!read(zero, &byte, 1);
}

static void lock_some(uint64_t *random)
{
	uint32_t first = draw(random, LOCKS);

	pthread_mutex_lock(&mutexes[first]);
	for (uint32_t next = first + 1; next < LOCKS && draw(random, 2); next++) {
		pthread_mutex_lock(&mutexes[next]);
		read_one();
		pthread_mutex_unlock(&mutexes[next]);
	}
	pthread_mutex_unlock(&mutexes[first]);
}

static void pass_on(uint64_t *random)
{
	uint32_t which = draw(random, LOCKS);

	if (__atomic_exchange_n(&is_given[which], 0, __ATOMIC_SEQ_CST))
		pthread_mutex_unlock(&given[which]);
	else if (pthread_mutex_trylock(&given[which]) == 0)
		__atomic_store_n(&is_given[which], 1, __ATOMIC_SEQ_CST);
}

static void read_or_write(uint64_t *random)
{
	pthread_rwlock_t *lock = &rwlocks[draw(random, LOCKS)];

	if (draw(random, 3) == 0)
		pthread_rwlock_wrlock(lock);
	else
		pthread_rwlock_rdlock(lock);
	read_one();
	pthread_rwlock_unlock(lock);
}

static void wait_a_little(uint64_t *random)
{
	uint32_t which = draw(random, LOCKS);
	struct timespec until = soon(draw(random, 300));

	pthread_mutex_lock(&mutexes[which]);
	if (draw(random, 2))
		pthread_cond_signal(&conditions[which]);
	else
		pthread_cond_timedwait(&conditions[which], &mutexes[which], &until);
	pthread_mutex_unlock(&mutexes[which]);
}

static void take_or_post(uint64_t *random)
{
	sem_t *semaphore = &semaphores[draw(random, LOCKS)];
	struct timespec until = soon(100);

	if (draw(random, 2))
		sem_post(semaphore);
	else
		sem_timedwait(semaphore, &until);
}

static void begin_or_end(uint64_t *random)
{
	uint32_t which = draw(random, LOCKS);
	uint64_t op = __atomic_exchange_n(&ops[which], 0, __ATOMIC_SEQ_CST), mine;

	if (op) {
		wcprof_end(op, WCPROF_OK, 0);
		return;
	}
	mine = wcprof_begin("jumble", "op");
	read_one();
	op = __atomic_exchange_n(&ops[which], mine, __ATOMIC_SEQ_CST);
	wcprof_end(op, WCPROF_OK, 0);
	wcprof_leave(mine);
}

static void flow(uint64_t *random)
{
	wcprof_flow_begin();
	lock_some(random);
	if (draw(random, 2))
		read_one();
	wcprof_flow_end();
}

static void *live_shortly(void *unused)
{
	uint64_t random = (uintptr_t)&random;

	lock_some(&random);
	pass_on(&random);
	return unused;
}

static void start_something(uint64_t *random)
{
	pthread_t thread;
	pid_t child;

	if (draw(random, 20) == 0) {
		child = fork();
		if (child == 0) {
			read_one();
			_exit(0);
		}
		waitpid(child, NULL, 0);
	} else if (draw(random, 4) == 0 && pthread_create(&thread, NULL, live_shortly, NULL) == 0) {
		pthread_join(thread, NULL);
	}
}

static void (*const doings[])(uint64_t *) = {
	lock_some,     lock_some,    pass_on,      pass_on, read_or_write,
	wait_a_little, take_or_post, begin_or_end, flow,    start_something,
};

static void *work(void *seed)
{
	uint64_t random = (uintptr_t)seed;

	while (!is_over)
		doings[draw(&random, sizeof(doings) / sizeof(doings[0]))](&random);
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[1]) : 0;
	pthread_t ids[THREADS_MAX];
	char byte;

	if (threads < 1 || threads > THREADS_MAX)
		return 2;
	for (int i = 0; i < LOCKS; i++) {
		pthread_mutex_init(&mutexes[i], NULL);
		pthread_mutex_init(&given[i], NULL);
		pthread_rwlock_init(&rwlocks[i], NULL);
		pthread_cond_init(&conditions[i], NULL);
		sem_init(&semaphores[i], 0, 0);
	}
	zero = open("/dev/zero", O_RDONLY);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&ids[i], NULL, work,
				   (void *)(uintptr_t)(strtoul(argv[2], NULL, 10) + (unsigned)i)) !=
		    0)
			return 1;
	(void)!read(STDIN_FILENO, &byte, 1);
	is_over = 1;
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	return 0;
}

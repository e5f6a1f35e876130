/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nanoseconds per hooked call from many call stacks, one line each: NAME NANOSECONDS. Run by
 * stackcost.sh with stacks on and off.
 *
 * Below main are FRAMES functions, each one of WAYS alike, then the call. "same" goes the same way
 * each time, "varied" one of PATHS ways by chance. The time is the thread's CPU time; the best of
 * REPETITIONS stands for a quiet machine.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { FRAMES = 10, WAYS = 4, PATHS = 4096, CALLS = 32768, REPETITIONS = 9 };

typedef unsigned step(unsigned path, void (*call)(void));

static step *const steps[FRAMES][WAYS];

/* The statement after the call keeps it from being a jump. */
#define STEP(level, way)                                                                   \
	static __attribute__((noinline)) unsigned step_##level##_##way(unsigned path,      \
								       void (*call)(void)) \
	{                                                                                  \
		return steps[level + 1][path % WAYS](path / WAYS, call) + 4 * level + way; \
	}
#define LEVEL(level)   \
	STEP(level, 0) \
	STEP(level, 1) \
	STEP(level, 2) \
	STEP(level, 3) \
	_Static_assert(level < FRAMES - 1, "the last frame makes the call")
LEVEL(0);
LEVEL(1);
LEVEL(2);
LEVEL(3);
LEVEL(4);
LEVEL(5);
LEVEL(6);
LEVEL(7);
LEVEL(8);

static __attribute__((noinline)) unsigned step_last(unsigned path, void (*call)(void))
{
	call();
	return path;
}

#define ROW(level)                                                                     \
	{                                                                              \
		step_##level##_0, step_##level##_1, step_##level##_2, step_##level##_3 \
	}
static step *const steps[FRAMES][WAYS] = {
	ROW(0), ROW(1), ROW(2), ROW(3), ROW(4),
	ROW(5), ROW(6), ROW(7), ROW(8), { step_last, step_last, step_last, step_last },
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int zero_fd;

static void lock(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

static void read_zero(void)
{
	char byte;
	(void)!read(zero_fd, &byte, 1);
}

static uint64_t cpu_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void measure(const char *name, void (*call)(void), unsigned paths)
{
	static volatile unsigned sum;
	uint64_t best = UINT64_MAX;
	unsigned path = 1;

	for (int i = 0; i < REPETITIONS; i++) {
		uint64_t begin = cpu_ns();
		for (int j = 0; j < CALLS; j++) {
			path = path * 1103515245 + 12345;
			sum = sum + steps[0][0](path / 65536 % paths, call);
		}
		uint64_t took = cpu_ns() - begin;
		best = took < best ? took : best;
	}
	printf("%s %.1f\n", name, (double)best / CALLS);
}

static void *idle(void *unused)
{
	(void)unused;
	for (;;)
		pause();
	return NULL;
}

int main(void)
{
	pthread_t other; /* libc skips locked instructions while there is one thread */

	pthread_create(&other, NULL, idle, NULL);
	zero_fd = open("/dev/zero", O_RDONLY);
	measure("lock+unlock,same", lock, 1);
	measure("lock+unlock,varied", lock, PATHS);
	measure("read,same", read_zero, 1);
	measure("read,varied", read_zero, PATHS);
	return 0;
}

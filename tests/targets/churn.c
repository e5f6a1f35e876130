/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: four threads allocate, four free what they made, handed over under one lock.
 * Children forked in the middle of it allocate too; the sums are always the same.
 *
 * Arguments: how many rounds (200) and children (12). It is also run under sanitizers, other
 * allocators, and a debugger, for which size_of() is there.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8, CHILDREN = 12, BLOCKS = 64, ROUNDS = 200 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_block = PTHREAD_COND_INITIALIZER;
static pthread_cond_t has_room = PTHREAD_COND_INITIALIZER;
static char *shelf[BLOCKS];
static size_t on_shelf;
static int rounds = ROUNDS;
static int children = CHILDREN;
static uint64_t sum;

__attribute__((noinline)) static uint64_t size_of(uint64_t value)
{
	__asm__ volatile("" ::: "memory");
	return value * 2654435761U % 1009;
}

/* A block of a size that depends on the value, filled with it; whoever frees it adds it up. */
static char *block_make(uint64_t value)
{
	size_t bytes = 16 + value % 5 * 700 + value % 3 * 20000;
	char *block = malloc(bytes);
	if (!block)
		abort();
	memset(block, (int)(value & 63), bytes);
	return realloc(block, bytes + 100);
}

static uint64_t block_end(char *block)
{
	uint64_t value = (uint64_t)block[0];
	free(block);
	return value;
}

static void *put(void *argument)
{
	uint64_t value = (uint64_t)(uintptr_t)argument;
	for (int i = 0; i < rounds; i++) {
		char *block = block_make(size_of(value + (uint64_t)i));
		pthread_mutex_lock(&lock);
		while (on_shelf == BLOCKS)
			pthread_cond_wait(&has_room, &lock);
		shelf[on_shelf++] = block;
		pthread_cond_signal(&has_block);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void *take(void *unused)
{
	(void)unused;
	uint64_t own = 0;
	for (int i = 0; i < rounds; i++) {
		pthread_mutex_lock(&lock);
		while (on_shelf == 0)
			pthread_cond_wait(&has_block, &lock);
		char *block = shelf[--on_shelf];
		pthread_cond_signal(&has_room);
		pthread_mutex_unlock(&lock);
		own += block_end(block);
	}
	__atomic_fetch_add(&sum, own, __ATOMIC_RELAXED);
	return NULL;
}

static int child(int number)
{
	uint64_t own = 0;
	for (int i = 0; i < 200; i++)
		own += block_end(block_make((uint64_t)(number * i)));
	return (int)(own % 100);
}

int main(int count, char **arguments)
{
	pthread_t threads[THREADS];
	int statuses = 0;
	if (count > 1)
		rounds = atoi(arguments[1]);
	if (count > 2)
		children = atoi(arguments[2]);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, i % 2 ? take : put, (void *)(i * 1000));
	for (int i = 0; i < children; i++) {
		int status = 0;
		pid_t pid = fork();
		if (pid == 0)
			_exit(child(i));
		if (waitpid(pid, &status, 0) == pid)
			statuses += status == 0 ? 0 : WEXITSTATUS(status);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("children: %d\nblocks: %llu\n", statuses, (unsigned long long)sum);
	return 0;
}

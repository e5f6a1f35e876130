/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads serve requests of one kind; arguments plant more of their work. */
/*
 * gated REQUESTS ROUNDS [LOCKS [SYNCS [STATUS]]]
 *
 * Each thread serves so many requests. One takes so many rounds of arithmetic, takes the lock
 * `table` LOCKS times (1), and has a file of memory synced SYNCS times (1). At the end it says
 * "served", and exits with STATUS (0).
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "wcprof.h"

enum { THREADS = 2 };

static long requests, rounds, locks = 1, syncs = 1;
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static int file;
static volatile uint64_t sum;

static __attribute__((noinline)) void compute(void)
{
	uint64_t number = 1;

	for (long i = 0; i < rounds; i++)
		number = number * 6364136223846793005u + 1442695040888963407u;
	sum = number;
}

static __attribute__((noinline)) void look_up(void)
{
	pthread_mutex_lock(&table);
	sum = sum + 1;
	pthread_mutex_unlock(&table);
}

static void serve(void)
{
	wcprof_op op = wcprof_begin("serve", NULL);

	compute();
	for (long i = 0; i < locks; i++)
		look_up();
	for (long i = 0; i < syncs; i++)
		if (fsync(file) != 0)
			exit(1);
	wcprof_end(op, WCPROF_OK, 0);
}

static void *work(void *unused)
{
	for (long i = 0; i < requests; i++)
		serve();
	return unused;
}

static long number_of(int count, char **arguments, int index, long otherwise)
{
	return index < count ? atol(arguments[index]) : otherwise;
}

int main(int count, char **arguments)
{
	pthread_t threads[THREADS];

	requests = number_of(count, arguments, 1, 0);
	rounds = number_of(count, arguments, 2, 0);
	locks = number_of(count, arguments, 3, 1);
	syncs = number_of(count, arguments, 4, 1);
	file = memfd_create("gated", MFD_CLOEXEC);
	if (requests <= 0 || file < 0) {
		fprintf(stderr, "usage: %s REQUESTS ROUNDS [LOCKS [SYNCS [STATUS]]]\n",
			arguments[0]);
		return 2;
	}
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, NULL) != 0)
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	puts("served");
	return (int)number_of(count, arguments, 5, 0);
}

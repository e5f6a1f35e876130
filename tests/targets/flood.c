/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that read /dev/zero flat out; what they and the main thread called is counted, to the
 * call. */
/*
 * flood THREADS SECONDS FILE [LEAST]
 *
 * Each thread reads LEAST times, however long that takes. FILE gets "READS SLEEPS": calls of read()
 * and nanosleep() that have returned. They count from when all threads were there until none of
 * them calls anything any more. Its other calls go past libc.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static atomic_int waiting, state; /* 0 = not yet, 1 = read, 2 = stop */
static atomic_uint_fast64_t reads;
static uint64_t least;
static int zero;

static void *flood(void *unused)
{
	uint64_t mine = 0;
	char byte;

	atomic_fetch_add(&waiting, 1);
	while (atomic_load(&state) == 0)
		syscall(SYS_sched_yield);
	while (atomic_load_explicit(&state, memory_order_relaxed) == 1 || mine < least) {
		if (read(zero, &byte, 1) != 1)
			abort();
		mine++;
	}
	atomic_fetch_add(&reads, mine);
	atomic_fetch_sub(&waiting, 1);
	for (;;)
		syscall(SYS_pause);
	return unused;
}

int main(int argc, char **argv)
{
	int threads = argc > 3 ? atoi(argv[1]) : 0;
	int sleeps = argc > 3 ? atoi(argv[2]) * 100 : 0;
	struct timespec tick = { 0, 10000000 };
	pthread_t thread;
	char line[64];
	int fd, bytes;

	if (threads < 1 || sleeps < 1) {
		fprintf(stderr, "usage: %s THREADS SECONDS FILE [LEAST]\n", argv[0]);
		return 2;
	}
	least = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
	zero = open("/dev/zero", O_RDONLY);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread, NULL, flood, NULL) != 0)
			return 1;
	while (atomic_load(&waiting) < threads)
		syscall(SYS_sched_yield);
	atomic_store(&state, 1);
	for (int i = 0; i < sleeps; i++)
		nanosleep(&tick, NULL);
	atomic_store(&state, 2);
	while (atomic_load(&waiting) > 0)
		syscall(SYS_sched_yield);
	bytes = snprintf(line, sizeof(line), "%llu %d\n", (unsigned long long)atomic_load(&reads),
			 sleeps);
	fd = (int)syscall(SYS_open, argv[3], O_WRONLY | O_CREAT | O_TRUNC, 0600);
	return fd < 0 || syscall(SYS_write, fd, line, bytes) != bytes;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fixed amount of work by one thread: prints the CPU nanoseconds that its process used. For
 * sampling.sh.
 *
 * usage: busyloop compute|call. compute never makes a call; call reads a byte from /dev/zero all
 * the time, so that marks fall due as often as they can.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { COMPUTE_ROUNDS = 3000, COMPUTE_STEPS = 2000000, CALLS = 2000000 };

static void compute(void)
{
	volatile uint64_t sum = 0;

	for (int round = 0; round < COMPUTE_ROUNDS; round++)
		for (int i = 0; i < COMPUTE_STEPS; i++)
			sum = sum + (uint64_t)i;
}

static void call(void)
{
	int zero = open("/dev/zero", O_RDONLY);
	char byte;

	for (int i = 0; i < CALLS; i++)
		if (read(zero, &byte, 1) != 1)
			return;
	close(zero);
}

int main(int argc, char **argv)
{
	struct timespec used;

	if (argc > 1 && strcmp(argv[1], "call") == 0)
		call();
	else
		compute();
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	printf("%lld\n", (long long)used.tv_sec * 1000000000 + used.tv_nsec);
	return 0;
}

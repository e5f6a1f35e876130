/* SPDX-License-Identifier: Apache-2.0 */
/* Calls a small function many times for each line that it reads, and prints what a call took. */
#include <stdio.h>
#include <time.h>

enum { ROUNDS = 10, CALLS = 200000 };

static volatile int zero;

int called(int a, int b);
__attribute__((noinline)) int called(int a, int b)
{
	return a + b + zero;
}

static double cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double best_of_rounds(void)
{
	double best_ns = 1e9;
	int sum = 0;

	for (int round = 0; round < ROUNDS; round++) {
		double begun_ns = cpu_ns(), call_ns;

		for (int i = 0; i < CALLS; i++)
			sum = called(i, sum);
		call_ns = (cpu_ns() - begun_ns) / CALLS;
		best_ns = call_ns < best_ns ? call_ns : best_ns;
	}
	return best_ns;
}

int main(void)
{
	char line[16];

	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		printf("%.1f\n", best_of_rounds());
		fflush(stdout);
	}
	return 0;
}

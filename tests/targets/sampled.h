/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For targets of the signal of samples: threads that compute meanwhile, and the wait until they are
 * sampled.
 */
#ifndef SAMPLED_H
#define SAMPLED_H

#include "scenario.h"

#include <signal.h>
#include <sys/wait.h>

enum { OURS = SIGSTKFLT, BURN_MS = 40, WORKERS = 1, ROUNDS = 12 };

static volatile int got, is_over;
static volatile unsigned long sink;

static inline double cpu_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static inline void burn(double ms)
{
	double end = cpu_ms() + ms;
	while (cpu_ms() < end)
		for (int i = 0; i < 1000; i++)
			sink++;
}

/* Recorded, it is sampled as soon as somebody catches the signal. */
static inline void await_samples(void)
{
	char line[256];
	unsigned long caught = !getenv("WCPROF_ENABLE");

	while (!caught) {
		FILE *status = fopen("/proc/self/status", "r");
		while (fgets(line, sizeof(line), status))
			if (sscanf(line, "SigCgt: %lx", &caught) == 1)
				caught &= 1ul << (OURS - 1);
		fclose(status);
	}
	burn(BURN_MS);
}

static inline void *burn_on(void *unused)
{
	while (!is_over)
		burn(1);
	return unused;
}

static pthread_t workers[WORKERS];

static inline void workers_begin(void)
{
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, burn_on, NULL);
	await_samples();
}

static inline void workers_end(void)
{
	burn(BURN_MS);
	is_over = 1;
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	printf("got %d\n", got);
}

static inline int status_of(pid_t child)
{
	int status = -1;
	waitpid(child, &status, 0);
	return status;
}

#endif

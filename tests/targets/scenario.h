/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scenarios by name, results as lines, and a way to know that a thread is blocked without
 * sleeping: for the targets of the hooks' tests. A target prints only what must not change with
 * the library.
 */
#ifndef SCENARIO_H
#define SCENARIO_H

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

struct scenario {
	const char *name;
	void (*run)(void);
};

/* Where this is the number of a descriptor, the program waits there for its end: the library is
 * loaded meanwhile (tests/attach/rows). It closes it, and is as without it. */
static inline void await_attach(void)
{
	const char *number = getenv("SCENARIO_GATE");
	int gate = number ? atoi(number) : -1;
	char byte;

	if (gate < 0)
		return;
	unsetenv("SCENARIO_GATE");
	while (read(gate, &byte, 1) > 0)
		continue;
	close(gate);
}

#define SCENARIOS_MAIN                                                                   \
	int main(int count, char **arguments)                                            \
	{                                                                                \
		await_attach();                                                          \
		for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)    \
			if (count > 1 && strcmp(arguments[1], scenarios[i].name) == 0) { \
				scenarios[i].run();                                      \
				return fflush(stdout) ? 1 : 0;                           \
			}                                                                \
		fprintf(stderr, "usage: %s SCENARIO\n", arguments[0]);                   \
		for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)    \
			puts(scenarios[i].name);                                         \
		return 2;                                                                \
	}

/* A result that is an error number, by name. */
static inline void say(const char *what, int error)
{
	printf("%s: %s\n", what, strerrorname_np(error));
}

/* A result that is -1 with errno, or not. */
static inline void say_errno(const char *what, long result)
{
	int error = errno;
	if (result == -1)
		printf("%s: -1 %s\n", what, strerrorname_np(error));
	else
		printf("%s: %ld\n", what, result);
}

/* Returns when the thread is inside this system call, by libc's stdio, which no hook sees. */
static inline void until_in_call(pid_t tid, long number)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", (int)tid);
	for (;;) {
		FILE *file = fopen(path, "r");
		long found = -1;
		if (file) {
			if (fscanf(file, "%ld", &found) != 1)
				found = -1;
			fclose(file);
		}
		if (found == number)
			return;
		sched_yield();
	}
}

static inline struct timespec in_the_past(void)
{
	return (struct timespec){ .tv_sec = 1 };
}

/* Nothing is mapped there; compilers must not know it. */
static inline void *bad_address(void)
{
	void *volatile address = (void *)1;
	return address;
}

/* Its number of nanoseconds is not a number of nanoseconds. */
static inline struct timespec invalid_time(void)
{
	return (struct timespec){ .tv_sec = 1, .tv_nsec = -1 };
}

static inline struct timespec after_ms(clockid_t clock, long delay_ms)
{
	struct timespec time;
	clock_gettime(clock, &time);
	time.tv_nsec += delay_ms % 1000 * 1000000;
	time.tv_sec += delay_ms / 1000 + time.tv_nsec / 1000000000;
	time.tv_nsec %= 1000000000;
	return time;
}

/* A thread that says its tid before it runs its routine. */
struct helper {
	pthread_t thread;
	volatile pid_t tid;
	void (*routine)(void);
};

static inline void *helper_begin(void *argument)
{
	struct helper *helper = argument;
	__atomic_store_n(&helper->tid, (pid_t)gettid(), __ATOMIC_RELEASE);
	helper->routine();
	return NULL;
}

static inline void helper_start(struct helper *helper, void (*routine)(void))
{
	helper->tid = 0;
	helper->routine = routine;
	if (pthread_create(&helper->thread, NULL, helper_begin, helper) != 0)
		abort();
	while (!__atomic_load_n(&helper->tid, __ATOMIC_ACQUIRE))
		sched_yield();
}

static inline void helper_join(struct helper *helper)
{
	void *result;
	pthread_join(helper->thread, &result);
	if (result == PTHREAD_CANCELED)
		puts("cancelled");
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: a team of three waits at a barrier, for critical sections, for a lock and for
 * its last one, by calls of libgomp. A program that asks about its functions is answered as alone.
 */
#include "scenario.h"

#include <dlfcn.h>

void GOMP_parallel(void (*)(void *), void *, unsigned, unsigned);
void GOMP_barrier(void);
void GOMP_critical_start(void);
void GOMP_critical_end(void);
void GOMP_critical_name_start(void **);
void GOMP_critical_name_end(void **);
void omp_init_lock(void *);
void omp_set_lock(void *);
int omp_test_lock(void *);
void omp_unset_lock(void *);
void omp_destroy_lock(void *);
int omp_get_thread_num(void);

/* Not in this process. */
int io_uring_submit(void *) __attribute__((weak));

enum { TEAM = 3 };

static void *section;
static int lock[4];
static volatile int inside, together;
static volatile pid_t tids[TEAM];

/* The first one inside waits until the others are asleep. */
static void hold_on(void)
{
	if (inside++ == 0)
		for (int i = 0; i < TEAM; i++)
			if (tids[i] != gettid())
				until_in_call(tids[i], SYS_futex);
}

static void work(void *unused)
{
	(void)unused;
	tids[omp_get_thread_num()] = gettid();
	GOMP_barrier();
	GOMP_critical_name_start(&section);
	hold_on();
	GOMP_critical_name_end(&section);
	GOMP_barrier();
	inside = 0;
	GOMP_barrier();
	omp_set_lock(lock);
	hold_on();
	together++;
	omp_unset_lock(lock);
	GOMP_barrier();
	inside = 0;
	GOMP_barrier();
	GOMP_critical_start();
	hold_on();
	GOMP_critical_end();
}

/* Nobody else wants it: nothing is recorded of it but the try that failed. */
static void tries(void)
{
	omp_init_lock(lock);
	printf("tried %d %d\n", omp_test_lock(lock), omp_test_lock(lock));
	omp_unset_lock(lock);
	omp_set_lock(lock);
	omp_unset_lock(lock);
	omp_destroy_lock(lock);
	GOMP_critical_start();
	GOMP_critical_end();
}

static void waits(void)
{
	omp_init_lock(lock);
	GOMP_parallel(work, NULL, TEAM, 0);
	printf("together %d\n", together);
}

static void nothing(void *unused)
{
	(void)unused;
}

static void arrives(void *unused)
{
	(void)unused;
	GOMP_barrier();
}

/* The second part is a smaller team's, and the third one's is none. */
static void parts(void)
{
	GOMP_parallel(arrives, NULL, TEAM, 0);
	GOMP_parallel(nothing, NULL, TEAM - 1, 0);
	GOMP_parallel(nothing, NULL, 1, 0);
	GOMP_parallel(nothing, NULL, TEAM - 1, 0);
}

void omp_set_max_active_levels(int);

static void inner(void *unused)
{
	(void)unused;
	GOMP_parallel(arrives, NULL, 2, 0);
}

/* A team inside of a team is left alone, also its barriers. */
static void nested(void)
{
	omp_set_max_active_levels(2);
	GOMP_parallel(inner, NULL, 2, 0);
}

static void naps(void *unused)
{
	(void)unused;
	usleep(1000);
}

/* By a pointer that leads past us: what the threads do there is not what they do in their docks. */
static void unseen(void)
{
	void (*parallel)(void (*)(void *), void *, unsigned, unsigned);

	*(void **)&parallel = dlsym(RTLD_DEFAULT, "GOMP_parallel");
	GOMP_parallel(nothing, NULL, TEAM, 0);
	parallel(naps, NULL, TEAM, 0);
	GOMP_parallel(nothing, NULL, TEAM, 0);
}

void GOMP_task(void (*)(void *), void *, void (*)(void *, void *), long, long, bool, unsigned,
	       void **, int, void *);

static void gives(void *unused)
{
	(void)unused;
	GOMP_task(nothing, NULL, NULL, 0, 1, true, 0, NULL, 0, NULL);
}

/* A thread that waits does tasks meanwhile. */
static void tasks(void)
{
	GOMP_parallel(gives, NULL, TEAM, 0);
	GOMP_parallel(gives, NULL, TEAM, 0);
}

static void asks(void)
{
	Dl_info info = { 0 };
	void *found = dlsym(RTLD_DEFAULT, "GOMP_barrier");
	dladdr(found, &info);
	printf("GOMP_barrier is in libgomp: %d\n", strstr(info.dli_fname, "libgomp") != NULL);
	printf("io_uring_submit: %d, %d\n", io_uring_submit != NULL,
	       dlsym(RTLD_DEFAULT, "io_uring_submit") != NULL);
}

static const struct scenario scenarios[] = { { "waits", waits },   { "tries", tries },
					     { "parts", parts },   { "nested", nested },
					     { "unseen", unseen }, { "tasks", tasks },
					     { "asks", asks } };

SCENARIOS_MAIN

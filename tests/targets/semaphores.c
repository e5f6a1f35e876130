/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: every permit put into `permits` and taken from it is there, waited for or not.
 */
#include "scenario.h"

#include <semaphore.h>
#include <signal.h>

static sem_t permits;

static void take(void)
{
	say_errno("wait", sem_wait(&permits));
}

/* Ten permits taken at once, then one waited for. */
static void counted(void)
{
	struct helper helper;
	sem_init(&permits, 0, 10);
	for (int i = 0; i < 10; i++)
		take();
	say_errno("trywait", sem_trywait(&permits));
	helper_start(&helper, take);
	until_in_call(helper.tid, SYS_futex);
	say_errno("post", sem_post(&permits));
	helper_join(&helper);
	say_errno("post", sem_post(&permits));
	say_errno("trywait", sem_trywait(&permits));
	say_errno("destroy", sem_destroy(&permits));
}

static void forms(void)
{
	struct timespec soon = after_ms(CLOCK_REALTIME, 20);
	struct timespec past = in_the_past();
	struct timespec invalid = invalid_time();
	sem_init(&permits, 0, 0);
	say_errno("timedwait", sem_timedwait(&permits, &soon));
	say_errno("timedwait, past", sem_timedwait(&permits, &past));
	say_errno("timedwait, invalid", sem_timedwait(&permits, &invalid));
	say_errno("clockwait", sem_clockwait(&permits, CLOCK_MONOTONIC, &past));
	say_errno("clockwait, bad clock", sem_clockwait(&permits, CLOCK_PROCESS_CPUTIME_ID, &past));
	sem_post(&permits);
	sem_post(&permits);
	say_errno("invalid when free", sem_timedwait(&permits, &invalid));
	say_errno("past when free", sem_timedwait(&permits, &past));
	errno = 4711;
	say_errno("trywait", sem_trywait(&permits));
	printf("errno is left alone: %d\n", errno == 4711);
}

static void handle(int signal)
{
	(void)signal;
}

/* A signal handler ends the wait: no permit was taken. */
static void interrupted(void)
{
	struct sigaction action = { .sa_handler = handle };
	struct helper helper;
	sigaction(SIGUSR1, &action, NULL);
	sem_init(&permits, 0, 0);
	helper_start(&helper, take);
	until_in_call(helper.tid, SYS_futex);
	pthread_kill(helper.thread, SIGUSR1);
	helper_join(&helper);
}

static void wait_for_cancel(void)
{
	for (;;)
		sem_wait(&permits);
}

static void cancel_oneself(void)
{
	pthread_cancel(pthread_self());
	sem_wait(&permits);
	puts("the pending cancellation was passed over");
}

/* A blocked wait, and a wait for what is free: both are cancellation points. */
static void cancelled(void)
{
	struct helper helper;
	int value;
	sem_init(&permits, 0, 0);
	helper_start(&helper, wait_for_cancel);
	until_in_call(helper.tid, SYS_futex);
	pthread_cancel(helper.thread);
	helper_join(&helper);
	sem_post(&permits);
	helper_start(&helper, cancel_oneself);
	helper_join(&helper);
	sem_getvalue(&permits, &value);
	printf("value %d\n", value);
}

static const struct scenario scenarios[] = {
	{ "counted", counted },
	{ "forms", forms },
	{ "interrupted", interrupted },
	{ "cancelled", cancelled },
};

SCENARIOS_MAIN

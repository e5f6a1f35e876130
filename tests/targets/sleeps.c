/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: seven sleeps, each with what was asked for; one of them until a point in time.
 */
#include "scenario.h"

#include <threads.h>

static void forms(void)
{
	struct timespec time = { .tv_nsec = 3000000 };
	struct timespec invalid = { .tv_nsec = -1 };
	struct timespec until = after_ms(CLOCK_MONOTONIC, 5);
	printf("sleep %u\n", sleep(0));
	say_errno("usleep", usleep(2000));
	say_errno("nanosleep", nanosleep(&time, NULL));
	say("clock_nanosleep", clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL));
	say("clock_nanosleep", clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL));
	printf("thrd_sleep %d\n", thrd_sleep(&time, NULL));
	say_errno("nanosleep, invalid", nanosleep(&invalid, NULL));
	say_errno("nanosleep, bad address", nanosleep(bad_address(), NULL));
	say("clock_nanosleep, bad clock", clock_nanosleep(4711, 0, &time, NULL));
	say("clock_nanosleep, bad address",
	    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, bad_address(), NULL));
}

static void sleep_long(void)
{
	sleep(1000);
}

static void cancelled(void)
{
	struct helper helper;
	helper_start(&helper, sleep_long);
	until_in_call(helper.tid, SYS_clock_nanosleep);
	pthread_cancel(helper.thread);
	helper_join(&helper);
}

static const struct scenario scenarios[] = { { "forms", forms }, { "cancelled", cancelled } };

SCENARIOS_MAIN

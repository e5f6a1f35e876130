/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: each form of asking for the time answers as libc does. Each place that asks
 * again and again is known by its first call and its last two.
 */
#include "scenario.h"

#include <sys/time.h>

static void forms(void)
{
	struct timespec now, coarse;
	struct timeval day;
	time_t seconds;
	say_errno("clock_gettime", clock_gettime(CLOCK_REALTIME, &now));
	say_errno("gettimeofday", gettimeofday(&day, NULL));
	say_errno("clock_gettime, coarse", clock_gettime(CLOCK_REALTIME_COARSE, &coarse));
	printf("timespec_get %d\n", timespec_get(&now, TIME_UTC));
	printf("time %d\n", time(&seconds) == seconds && seconds - coarse.tv_sec < 60);
	printf("timespec_get, bad base %d\n", timespec_get(&now, 4711));
	say_errno("clock_gettime, bad clock", clock_gettime(4711, &now));
}

static void again(void)
{
	struct timespec now, moment = { .tv_nsec = 1000 };
	nanosleep(&moment, NULL); /* the thread is known from here on */
	for (int i = 0; i < 9; i++)
		clock_gettime(CLOCK_MONOTONIC, &now);
	for (int i = 0; i < 9; i++) /* of CPU time */
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
}

static const struct scenario scenarios[] = { { "forms", forms }, { "again", again } };

SCENARIOS_MAIN

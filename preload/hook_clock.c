/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that ask what time it is. No events: the recorder remembers where and when (clockreads.h).
 *
 * They take 20 ns, and programs call them anywhere: in signal handlers, in vfork children, under
 * any lock. So the body does nothing before the real call, and after it only what touches this
 * thread's own storage. Clocks of CPU time say nothing of the time.
 */
#include <sys/time.h>

#include "hooks.h"

static bool tells_time(clockid_t clock)
{
	return clock >= 0 && clock != CLOCK_PROCESS_CPUTIME_ID && clock != CLOCK_THREAD_CPUTIME_ID;
}

int hook_clock_gettime(clockid_t clock, struct timespec *now)
{
	struct caller caller = CALLER;
	int result = real.clock_gettime(clock, now);
	if (result == 0 && tells_time(clock))
		clock_read_note(caller.pc);
	return result;
}

int hook_gettimeofday(struct timeval *now, void *zone)
{
	struct caller caller = CALLER;
	int result = real.gettimeofday(now, zone);
	if (result == 0)
		clock_read_note(caller.pc);
	return result;
}

time_t hook_time(time_t *now)
{
	struct caller caller = CALLER;
	time_t result = real.time(now);
	clock_read_note(caller.pc);
	return result;
}

int hook_timespec_get(struct timespec *now, int base)
{
	struct caller caller = CALLER;
	int result = real.timespec_get(now, base);
	if (result == base)
		clock_read_note(caller.pc);
	return result;
}

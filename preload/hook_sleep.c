/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sleeps: an op whose value is the time asked for, in nanoseconds. For a sleep until a point in
 * time it is the time left until then at the call. The time beyond that is the kernel's, and the
 * replay keeps it.
 */
#include <errno.h>

#include "hooks.h"

struct sleeping {
	uint64_t op;
	uint64_t asked_ns;
};

static uint64_t to_ns(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec;
}

static struct sleeping sleep_begin(enum call call, uint64_t asked_ns, uint8_t flags,
				   struct caller caller)
{
	struct sleeping sleeping = { .asked_ns = asked_ns };
	struct self *self = hook_enter();
	if (!self)
		return sleeping;
	sleeping.op = op_begin(self, KIND_SLEEP, call, asked_ns, -1, caller_stack(self, caller),
			       caller.frame);
	if (flags && sleeping.op)
		op_set_flags(self, sleeping.op, flags);
	self_leave(self);
	return sleeping;
}

static void sleep_end(struct sleeping sleeping, bool has_failed)
{
	struct self *self = hook_enter_end(sleeping.op, false);
	if (!self)
		return;
	op_end(self, sleeping.op, has_failed ? OUTCOME_ERROR : OUTCOME_OK, sleeping.asked_ns);
	self_leave(self);
}

unsigned int hook_sleep(unsigned int seconds)
{
	struct sleeping sleeping =
		sleep_begin(CALL_sleep, (uint64_t)seconds * 1000000000, 0, CALLER);
	unsigned int rest = real.sleep(seconds);
	sleep_end(sleeping, rest != 0);
	return rest;
}

int hook_usleep(useconds_t sleep_us)
{
	struct sleeping sleeping = sleep_begin(CALL_usleep, (uint64_t)sleep_us * 1000, 0, CALLER);
	int result = real.usleep(sleep_us);
	sleep_end(sleeping, result != 0);
	return result;
}

/*
 * Reads the time asked for, after the call: a bad pointer is the kernel's to refuse, and it has
 * not. Not known when an interrupted sleep has put the rest into the place of the request.
 */
static void nanosleep_end(struct sleeping sleeping, const struct timespec *request,
			  const struct timespec *rest, int error)
{
	if (error == 0 || (error == EINTR && rest != request))
		sleeping.asked_ns = to_ns(request);
	sleep_end(sleeping, error != 0);
}

int hook_nanosleep(const struct timespec *request, struct timespec *rest)
{
	struct sleeping sleeping = sleep_begin(CALL_nanosleep, 0, 0, CALLER);
	int result = real.nanosleep(request, rest);
	nanosleep_end(sleeping, request, rest, result == 0 ? 0 : errno);
	return result;
}

int hook___nanosleep(const struct timespec *request, struct timespec *rest)
{
	struct sleeping sleeping = sleep_begin(CALL_nanosleep, 0, 0, CALLER);
	int result = real.__nanosleep(request, rest);
	nanosleep_end(sleeping, request, rest, result == 0 ? 0 : errno);
	return result;
}

int hook_thrd_sleep(const struct timespec *request, struct timespec *rest)
{
	struct sleeping sleeping = sleep_begin(CALL_thrd_sleep, 0, 0, CALLER);
	int result = real.thrd_sleep(request, rest);
	nanosleep_end(sleeping, request, rest, result == 0 ? 0 : result == -1 ? EINTR : EINVAL);
	return result;
}

/* Now, on the clock of a deadline; 0 for clocks on which that is not a cheap question. */
static uint64_t now_on(clockid_t clock)
{
	bool is_cheap = clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC ||
			clock == CLOCK_BOOTTIME || clock == CLOCK_TAI;
	return is_cheap ? recorder_clock_ns(clock) : 0;
}

int hook_clock_nanosleep(clockid_t clock, int flags, const struct timespec *request,
			 struct timespec *rest)
{
	bool is_absolute = flags & TIMER_ABSTIME;
	struct sleeping sleeping =
		sleep_begin(CALL_clock_nanosleep, 0, is_absolute ? RECORD_ABSOLUTE : 0, CALLER);
	uint64_t now = is_absolute && sleeping.op ? now_on(clock) : 0;
	int error = real.clock_nanosleep(clock, flags, request, rest);
	if (!is_absolute) {
		nanosleep_end(sleeping, request, rest, error);
		return error;
	}
	if (error == 0 && now > 0 && to_ns(request) > now)
		sleeping.asked_ns = to_ns(request) - now;
	sleep_end(sleeping, error != 0);
	return error;
}

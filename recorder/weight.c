/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scheduling weights. See weight.h.
 *
 * The kernel has a table of them. It is a geometric row with ratio 5 / 4, but for rounding: less
 * than two percent, or one.
 */
#include "weight.h"

#include <linux/sched.h>
#include <sys/resource.h>

#include "syscalls.h"

#include "in_target.h"

enum {
	NICE_LEAST = -20,
	NICE_MOST = 19,
	PRIORITY_OF_NICE_0 = 20, /* as the system call says it: 40 for nice -20 to 1 for nice 19 */
	FRACTION = 1 << 16
};

uint32_t weight_of_nice(int nice)
{
	uint64_t weight = (uint64_t)WEIGHT_PLAIN * FRACTION;

	nice = nice < NICE_LEAST ? NICE_LEAST : nice > NICE_MOST ? NICE_MOST : nice;
	for (; nice > 0; nice--)
		weight = weight * 4 / 5;
	for (; nice < 0; nice++)
		weight = weight * 5 / 4;
	return (uint32_t)((weight + FRACTION / 2) / FRACTION);
}

uint32_t weight_of_thread(uint32_t tid)
{
	long policy = SYS3(sched_getscheduler, tid, 0, 0);
	long priority;

	if (policy < 0)
		return 0;
	policy &= ~(long)SCHED_RESET_ON_FORK;
	if (policy == SCHED_FIFO || policy == SCHED_RR || policy == SCHED_DEADLINE)
		return WEIGHT_REAL_TIME;
	if (policy == SCHED_IDLE)
		return WEIGHT_IDLE;
	priority = SYS3(getpriority, PRIO_PROCESS, tid, 0);
	return priority > 0 ? weight_of_nice(PRIORITY_OF_NICE_0 - (int)priority) : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts of the kernel's. See usage.h. One system call, whose cost grows with the number of
 * threads: 20 us for 500.
 */
#include "usage.h"

#include <sys/resource.h>

#include "syscalls.h"

#include "in_target.h"

static uint64_t to_ns(struct timeval time)
{
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_usec * 1000;
}

static bool read_usage(struct usage *usage)
{
	struct rusage now;

	if (SYS3(getrusage, RUSAGE_SELF, &now, 0) != 0)
		return false;
	usage->cpu_ns = to_ns(now.ru_utime) + to_ns(now.ru_stime);
	usage->voluntary_switches = (uint64_t)now.ru_nvcsw;
	usage->involuntary_switches = (uint64_t)now.ru_nivcsw;
	return true;
}

void usage_begin(struct arena *arena)
{
	struct usage now;

	if (!read_usage(&now))
		return;
	store_relaxed(&arena->usage_before.cpu_ns, now.cpu_ns);
	store_relaxed(&arena->usage_before.voluntary_switches, now.voluntary_switches);
	store_relaxed(&arena->usage_before.involuntary_switches, now.involuntary_switches);
}

void usage_save(struct arena *arena)
{
	struct usage now;

	if (!read_usage(&now))
		return;
	store_relaxed(&arena->usage.cpu_ns, now.cpu_ns - load_relaxed(&arena->usage_before.cpu_ns));
	store_relaxed(&arena->usage.voluntary_switches,
		      now.voluntary_switches -
			      load_relaxed(&arena->usage_before.voluntary_switches));
	store_relaxed(&arena->usage.involuntary_switches,
		      now.involuntary_switches -
			      load_relaxed(&arena->usage_before.involuntary_switches));
}

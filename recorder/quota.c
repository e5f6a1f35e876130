/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quotas of CPU time. See quota.h.
 *
 * A look costs a few files of the kernel's: where there is no quota it is seldom. The process's
 * cgroup is looked for anew as seldom, as it may be moved to another one.
 */
#include "quota.h"

#include "gate.h"

#include "in_target.h"

static const uint64_t look_ns = 100000000;
static const uint64_t find_ns = 10000000000;
static const uint64_t recent_ns = 1000000000; /* recording was on in between */

static struct {
	const struct arena *arena; /* these two: whose looks the rest is about */
	uint32_t pid;
	uint64_t found_ns;
	uint64_t due_ns;
	uint64_t noted_ns; /* 0 = not yet */
	uint64_t stopped_ns;
	struct cgroups cgroups;
} quota;

/* Of several above one another all stop the process; the smallest is what it may use at most. */
static void take(void *context, const struct cgroup_quota *one)
{
	struct cgroup_quota *all = context;

	if (all->milli_cpus == 0 || one->milli_cpus < all->milli_cpus)
		all->milli_cpus = one->milli_cpus;
	all->stopped_ns += one->stopped_ns;
}

void quota_note(struct arena *arena, const struct cgroup_quota *now, uint64_t now_ns)
{
	bool is_next = quota.arena == arena && quota.pid == arena->pid && quota.noted_ns != 0 &&
		       now_ns - quota.noted_ns < recent_ns;

	if (is_next && now->stopped_ns > quota.stopped_ns)
		add_relaxed(&arena->stopped_ns, now->stopped_ns - quota.stopped_ns);
	store_relaxed(&arena->quota_milli_cpus, now->milli_cpus);
	quota.arena = arena;
	quota.pid = arena->pid;
	quota.noted_ns = now_ns;
	quota.stopped_ns = now->stopped_ns;
}

void quota_tick(struct arena *arena, uint64_t now_ns)
{
	bool is_new = quota.arena != arena || quota.pid != arena->pid;
	struct cgroup_quota all = { 0 };

	if (!is_new && now_ns < quota.due_ns)
		return;
	if (is_new || now_ns - quota.found_ns >= find_ns) {
		cgroups_find(&quota.cgroups, "cpu", "/proc/self/cgroup", "/proc/self/mountinfo");
		quota.found_ns = now_ns;
	}
	cgroups_each_quota(&quota.cgroups, take, &all);
	quota_note(arena, &all, now_ns);
	quota.due_ns = now_ns + (all.milli_cpus ? look_ns : find_ns);
}

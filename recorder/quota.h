/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The quota of CPU time that a cgroup gives the process, and for how long it stopped threads.
 *
 * A container's limit of CPUs is such a quota: a part of each period, after which all threads stand
 * still. The control thread of a process only.
 */
#ifndef WCPROF_QUOTA_H
#define WCPROF_QUOTA_H

#include "arena.h"
#include "cgroups.h"

/* Notes in the arena what is new, if it is due. Each tick while recording is on. */
void quota_tick(struct arena *, uint64_t now_ns) HIDDEN;

/* The same for what cgroups say at that time, which quota_tick() finds out. A look that comes long
 * after the one before says nothing of the time between: recording may have been off. */
void quota_note(struct arena *, const struct cgroup_quota *, uint64_t now_ns) HIDDEN;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cgroups of this process that limit its memory or its CPUs, of version 1 and 2, and where
 * their directories are. How much memory each still allows; how long a quota of CPU time stopped
 * threads.
 *
 * A process is in one cgroup of each version, and below all their ancestors, each of which may have
 * a limit. A file that cannot be read is no limit: /proc or the cgroups may not be mounted, or
 * belong to another name space. Makes descriptors while it lasts (lines.h). One thread per struct.
 */
#ifndef WCPROF_CGROUPS_H
#define WCPROF_CGROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lines.h"
#include "recorder.h"

enum { CGROUP_PATH_BYTES = 1024, CGROUP_VERSIONS = 2 };

/* One directory; the ancestors that are visible are above it, up to the mount point. */
struct cgroup {
	char path[CGROUP_PATH_BYTES]; /* empty: not known */
	size_t mount_bytes;           /* of it, the mount point */
};

struct cgroups {
	const char *controller;
	struct cgroup versions[CGROUP_VERSIONS]; /* [0] is version 1 */
	char memberships[CGROUP_VERSIONS]
			[CGROUP_PATH_BYTES]; /* within the hierarchy; empty: none */
	char file[CGROUP_PATH_BYTES + 64];
	struct lines lines;
};

/* From two files: what a process says of its cgroups and of its mounts, as /proc/self/cgroup and
 * /proc/self/mountinfo do. The controller is "memory" or "cpu"; the text stays in place. */
void cgroups_find(struct cgroups *, const char *controller, const char *memberships,
		  const char *mounts) HIDDEN;

/* Calls `take` for each cgroup that has a limit. Pages that the kernel may drop without loss, of
 * files that nobody used of late, count as left; swap does not. */
typedef void cgroups_limit(void *context, uint64_t limit_bytes, uint64_t left_bytes);
void cgroups_each(struct cgroups *, cgroups_limit *, void *context) HIDDEN;

/* A quota of CPU time: so many CPUs may a cgroup use, with all below it. When its part of a period
 * is used up, all threads stop. For how long is added over CPUs, since the cgroup was made. */
struct cgroup_quota {
	uint64_t milli_cpus; /* at least 1 */
	uint64_t stopped_ns;
};

/* Calls `take` for each cgroup that has a quota of CPU time; of those of "cpu". */
typedef void cgroups_quota(void *context, const struct cgroup_quota *);
void cgroups_each_quota(struct cgroups *, cgroups_quota *, void *context) HIDDEN;

#endif

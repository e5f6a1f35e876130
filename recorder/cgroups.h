/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory cgroups of this process, of version 1 and 2: where their directories are, and how much
 * memory each of them still allows.
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
	struct cgroup versions[CGROUP_VERSIONS]; /* [0] is version 1 */
	char file[CGROUP_PATH_BYTES + 64];
	struct lines lines;
};

/* From two files: what a process says of its cgroups and of its mounts, as /proc/self/cgroup and
 * /proc/self/mountinfo do. */
void cgroups_find(struct cgroups *, const char *memberships, const char *mounts) HIDDEN;

/* Calls `take` for each cgroup that has a limit. Pages that the kernel may drop without loss, of
 * files that nobody used of late, count as left; swap does not. */
typedef void cgroups_limit(void *context, uint64_t limit_bytes, uint64_t left_bytes);
void cgroups_each(struct cgroups *, cgroups_limit *, void *context) HIDDEN;

#endif

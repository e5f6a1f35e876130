/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and numbers of threads and processes that tell them apart, as viewers need them. Many
 * threads may have one name, processes of several hosts one pid. A process that runs another
 * program keeps its pid.
 *
 * Built once, read-only afterwards. One thread.
 */
#ifndef WCPROF_LANENAMES_H
#define WCPROF_LANENAMES_H

#include "walk.h"

struct lane_names {
	char **threads;        /* "worker-3"; where others have that name too, "worker-3 4711" */
	const char **programs; /* by process: the file's name without its directory */
	uint32_t *pid_shifts;  /* by process: its pids and tids are so much higher than recorded */
	uint32_t thread_count;
};

void lane_names_build(struct lane_names *, const struct walk *);
void lane_names_free(struct lane_names *);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that listen in a directory and record into private memory, for want of shared memory.
 *
 * Nobody but they themselves can hand out what they recorded, and only while they live.
 */
#ifndef WCPROF_PRIVATE_H
#define WCPROF_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct private_process {
	pid_t pid;
	char socket[108];
	uint64_t drained_ms;
};

struct private_list {
	struct private_process *processes;
	size_t count;
	size_t total; /* ever */
};

/*
 * Adds processes that listen in the directory, record, and have no arena in shared memory, and
 * takes those away that have ended. `is_known`: who listens at this socket need not be asked. True:
 * there are new ones.
 */
bool private_find(struct private_list *list, const char *directory,
		  bool (*is_known)(const void *, const char *socket), const void *context);
void private_free(struct private_list *list);

#endif

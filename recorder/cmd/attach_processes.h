/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order for the process that traces, and that process.
 */
#ifndef WCPROF_ATTACH_PROCESSES_H
#define WCPROF_ATTACH_PROCESSES_H

#include "attach.h"
#include "attach_threads.h"
#include "executable.h"

enum { ATTACH_NEEDED_MAX = 8 };

struct attach_order {
	pid_t pid;
	bool has_library;
	bool sees_library; /* at the path that it has here */
	bool may_interrupt;
	int end; /* a pipe that is closed when the user wants no more */
	char library[EXECUTABLE_PATH_BYTES];
	/* Where it is not seen: files that it needs, but for libc's. */
	char needed[ATTACH_NEEDED_MAX][EXECUTABLE_PATH_BYTES];
	size_t needed_count;
};

/* From now on this process has a CPU as soon as it wants one, if its user may have that. It sleeps
 * nearly all the time, and a thread of the program may wait for it. */
void attach_be_urgent(void);
/* In the process that traces. False: it has not been done, and why not. */
bool attach_trace(const struct attach_order *order, char error[ATTACH_ERROR_BYTES]);

#endif

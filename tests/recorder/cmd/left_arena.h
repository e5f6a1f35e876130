/* SPDX-License-Identifier: Apache-2.0 */
/* The arena that a killed process left. */
#ifndef WCPROF_TESTS_LEFT_ARENA_H
#define WCPROF_TESTS_LEFT_ARENA_H

#include "../recording.h"

#include <sys/wait.h>

#include "remains.h"
#include "suite.h"

static char arena_path[REMAINS_PATH_BYTES];

/* A process that records some reads, and is killed; its arena is left. */
static inline void leave_arena(int reads)
{
	int report[2];
	pid_t pid;

	ck_assert_int_eq(pipe(report), 0);
	pid = fork();
	if (pid == 0) {
		recording_begin();
		for (int i = 0; i < reads; i++)
			(void)record_io(1);
		(void)!write(report[1], recorder_arena->path, sizeof(arena_path));
		raise(SIGKILL);
	}
	close(report[1]);
	ck_assert_int_eq((int)read(report[0], arena_path, sizeof(arena_path)),
			 (int)sizeof(arena_path));
	close(report[0]);
	waitpid(pid, NULL, 0);
}

#endif

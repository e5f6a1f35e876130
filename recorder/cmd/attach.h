/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library into a process that runs.
 */
#ifndef WCPROF_ATTACH_H
#define WCPROF_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { ATTACH_ERROR_BYTES = 512 };

/* Whether it can be done, by what /proc tells: nothing is touched. False: `error` says why not, as
 * a sentence's end. */
bool attach_is_possible(pid_t pid, char error[ATTACH_ERROR_BYTES]);
/* The part of it that is for a process as it exits, by what is mapped yet. */
bool attach_may_exit(pid_t pid, char error[ATTACH_ERROR_BYTES]);
/* Whether the process finds the library at the path that it has here. Else it gets a copy. */
bool attach_sees_library(pid_t pid);
/*
 * Has a thread of the process open the library. If it has the library already, the thread makes
 * another control thread. No call of the program's is interrupted, and none fails, unless the user
 * says that one may. False as above: then the process is as it was.
 */
bool attach_load(pid_t pid, bool may_interrupt, char error[ATTACH_ERROR_BYTES]);

#endif

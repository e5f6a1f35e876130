/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filter of system calls that a process had before it was loaded.
 */
#ifndef WCPROF_FILTER_H
#define WCPROF_FILTER_H

#include "recorder.h"

/*
 * How many filters the process of that status file has; -1: the file does not say. `path` is one
 * like /proc/self/status.
 */
int filter_count(const char *path) HIDDEN;
/*
 * Whether a call of ours may be this process's last one. So it is when it has more filters than pid
 * 1 of its pid name space, or that cannot be known. Only the loader's system calls are made.
 */
bool filter_may_kill(void) HIDDEN;

#endif

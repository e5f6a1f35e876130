/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The libraries that a program is linked to, as its own loader finds them, and the system calls in
 * their code. The program itself is not run.
 */
#ifndef WCPROF_LIBRARIES_H
#define WCPROF_LIBRARIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "executable.h"

/* Calls `see` with each library's path; 0, or -errno when the loader could not be asked. */
int libraries_list(const struct executable *executable,
		   void (*see)(void *context, const char *path), void *context);

/* System calls in the code of one file, past libc, at least; 0 also when it cannot be read. */
uint32_t libraries_syscalls(const char *path);

#endif

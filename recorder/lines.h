/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small text file, line by line, as the kernel has many in /proc and below its cgroups.
 *
 * By raw reads into the caller's memory: neither can hang on a lock of libc's, or allocate. Makes a
 * descriptor while it lasts: not for the program's threads, but where nothing else helps. A line
 * that is longer than the buffer loses its beginning. One thread per struct.
 */
#ifndef WCPROF_LINES_H
#define WCPROF_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "recorder.h"

enum { LINE_BYTES = 4600 };

struct lines {
	int fd;
	size_t used;
	size_t next;
	bool ended;
	char bytes[LINE_BYTES];
};

/* False: it cannot be read. Else lines_close() is due. Does not wait for a pipe's other end. */
bool lines_open(struct lines *, const char *path) HIDDEN;
/* The next one without its newline, ended by a NUL, good until the one after; NULL at the end. */
char *lines_next(struct lines *) HIDDEN;
void lines_close(struct lines *) HIDDEN;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dumps of the last seconds, taken by a process of its own, so that keys are obeyed meanwhile. One
 * thread.
 */
#ifndef WCPROF_TOP_DUMP_H
#define WCPROF_TOP_DUMP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { TOP_DIRECTORY_BYTES = 64, TOP_PATH_BYTES = 96 };

/* A directory for such files, of this user's alone; an empty path: there is none. Those that killed
 * commands of this user left are removed: nobody has a lock on them. */
struct top_directory {
	char path[TOP_DIRECTORY_BYTES];
	int fd; /* has the lock */
};
void top_directory_begin(struct top_directory *);
void top_directory_end(struct top_directory *);

struct top_dump {
	char path[TOP_PATH_BYTES]; /* empty: none was begun */
	pid_t child;               /* 0 = it has ended */
	int error;                 /* -errno, when it has */
};

/* Begins one of the last so many nanoseconds. */
void top_dump_begin(struct top_dump *, const char *directory, const char *socket, uint64_t last_ns);
/* Whether it is there, or has failed. */
bool top_dump_is_done(struct top_dump *);
/* Ends it, and removes its file. */
void top_dump_end(struct top_dump *);
/* In this process: writes the last so many nanoseconds to a file. 0, or -errno. */
int top_dump_write(const char *path, const char *socket, uint64_t last_ns);
/* The same of a dump that is done. */
int top_dump_copy(const struct top_dump *, const char *path);

#endif

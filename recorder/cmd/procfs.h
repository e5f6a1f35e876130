/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any process by its files in /proc, also one that ends while it is being asked about.
 */
#ifndef WCPROF_PROCFS_H
#define WCPROF_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct procfs_status {
	uint64_t start_ticks; /* field 22 of stat: with the pid, which process this is */
	pid_t parent;
	bool is_zombie;  /* ended, and not waited for yet */
	bool is_stopped; /* by a signal or a debugger: answers nobody */
	char name[32];   /* of its first thread, at most 15 bytes */
};

/* False: there is no such process. */
bool procfs_read(pid_t pid, struct procfs_status *status);
/* Whether exactly this process lives. start_ticks 0 = any process with that pid. */
bool procfs_lives(pid_t pid, uint64_t start_ticks);
/* Whether there is no such process any more. One that is being killed is waited for, as it closes
 * its socket first. */
bool procfs_is_over(pid_t pid);
/* A process, by what it wrote down itself in a file that it has mapped. */
struct procfs_owner {
	uint64_t pid_namespace; /* its own, 0 = not known */
	pid_t pid;              /* in that */
	uint64_t start_ticks;   /* in its time name space */
	const char *path;       /* of the file */
	struct stat file;
};
/*
 * The number that it has here. 0: there is none any more. -1: it may live where nobody can see it
 * from here. Each may be in a time name space of its own, in which its start is another number.
 */
pid_t procfs_find(const struct procfs_owner *owner);
/* The number that a process has in its own pid name space; 0: it is not known. */
pid_t procfs_own_pid(pid_t pid);
/* Whether `pid` is `ancestor` or descends from it. */
bool procfs_is_below(pid_t pid, pid_t ancestor);
/* The effective user of a thread, by its directory in /proc. False: there is no such thread. */
bool procfs_user(const char *directory, uid_t *user);
/* The name of the file that it runs, without its directory; empty: nobody may know. */
void procfs_executable(pid_t pid, char *to, size_t size);
/* Whether the path of its program leads to another file here, or to none. */
bool procfs_is_elsewhere(pid_t pid);
/* Arguments with spaces between; empty when there is nothing to be had. */
void procfs_command(pid_t pid, char *to, size_t size);
/*
 * Counts living processes in whose environment the variable is, as `NAME=VALUE`: as it was when
 * they were started, or their parent was. Nobody may look into other users' processes.
 */
size_t procfs_count_having(const char *variable, bool (*is_counted)(const void *, pid_t),
			   const void *context);
/* 1 = the process has that file mapped, 0 = it has not, -1 = nobody may know. A file is known by
 * its path as the process sees it, or by its inode: either is enough. `file` may be NULL. */
int procfs_maps_file(pid_t pid, const char *path, const struct stat *file);
/*
 * Opens a file below a directory as if that were the root: no link leads out of it. A descriptor,
 * or -errno. The directory may be /proc/PID/root, whose files are those that the process sees.
 */
int procfs_open_inside(const char *directory, const char *path, int flags);
/* The same of the files that a process sees. */
int procfs_open_seen(pid_t pid, const char *path, int flags);
/* Whether any line of a file of the process fits the word; false also if nobody may read it. Lines
 * end in the delimiter, and have it unless that is a NUL. */
bool procfs_any_line(pid_t pid, const char *file, int delimiter,
		     bool (*fits)(const char *line, const char *word), const char *word);
/* Reads a small file whole, and ends it with a NUL; the number of bytes, -1 when it cannot be
 * read. */
ssize_t procfs_read_file(const char *path, char *to, size_t size);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any process by its files in /proc, also one that ends while it is being asked about.
 */
#ifndef WCPROF_PROCFS_H
#define WCPROF_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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
/*
 * The number that a process has here which is `pid` in its own pid name space. 0: there is none any
 * more. -1: it may live where nobody can see it from here.
 */
pid_t procfs_find(uint64_t pid_namespace, pid_t pid, uint64_t start_ticks);
/* Whether `pid` is `ancestor` or descends from it. */
bool procfs_is_below(pid_t pid, pid_t ancestor);
/* Arguments with spaces between; empty when there is nothing to be had. */
void procfs_command(pid_t pid, char *to, size_t size);
/*
 * Counts living processes in whose environment the variable is, as `NAME=VALUE`: as it was when
 * they were started, or their parent was. Nobody may look into other users' processes.
 */
size_t procfs_count_having(const char *variable, bool (*is_counted)(const void *, pid_t),
			   const void *context);
/* 1 = the process has that file mapped, 0 = it has not, -1 = nobody may know. */
int procfs_maps_file(pid_t pid, const char *path);
/* Reads a small file whole, and ends it with a NUL; the number of bytes, -1 when it cannot be
 * read. */
ssize_t procfs_read_file(const char *path, char *to, size_t size);

#endif

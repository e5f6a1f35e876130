/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control sockets by the process that listens there, in whatever directory, mount, pid or user name
 * space that is.
 *
 * The kernel says where: the recorder's thread has a descriptor of its socket. The table of sockets
 * has the path by which that was made. Nothing that a process could say of itself is believed. The
 * path leads through /proc/PID/task/TID/root, as the thread sees its files; to an address without a
 * file, it is /proc/PID/task/TID/net/ADDRESS.
 */
#ifndef WCPROF_REACH_H
#define WCPROF_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A path as in a sockaddr_un, behind what leads there. */
enum { REACH_PATH_BYTES = 160 };

/* Sockets that are listened to, of the network name space that was asked for last. Empty at first;
 * good for one look at all processes. */
struct reach_table {
	unsigned long space;
	struct reach_entry *entries; /* in order of inode */
	size_t count;
};
void reach_table_free(struct reach_table *table);

/* Where the process listens. False: nowhere, or this user may not know. */
bool reach_find(struct reach_table *table, pid_t pid, char path[REACH_PATH_BYTES]);

/* Whether it has the recorder's thread, which may listen or not. */
bool reach_has_thread(pid_t pid);

/* The process that such a path leads through; 0: it is any other path. */
pid_t reach_process(const char *path);
/* The path by which this command could open it as well: shorter, if the process sees the files that
 * we see. It is a part of `path`. */
const char *reach_shown(const char *path);
/* A socket that can be connected to `path`, which may be any, or -errno. */
int reach_socket(const char *path, int flags);
/*
 * Connects it: 0, or -errno. Links on the way lead nowhere but to files that the process sees, and
 * the socket's file is its user's (-EPERM). Root connects as that user, whom the process knows in
 * its user name space. The caller checks which process answers.
 */
int reach_connect(int fd, const char *path);

#endif

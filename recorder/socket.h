/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control socket in the file system: where it is, who may use it.
 */
#ifndef WCPROF_SOCKET_H
#define WCPROF_SOCKET_H

#include <stdbool.h>
#include <stddef.h>

#include "options.h"

/* The longest path of a socket, with its NUL: what fits into a sockaddr_un. */
enum { SOCKET_PATH_BYTES = 108 };

/* Writes the path for this process; `is_child`: a forked child shares WCPROF_SOCKET with its
 * parent, and adds its pid. False: too long, complained of. */
bool socket_path(const struct options *, unsigned pid, bool is_child,
		 char path[SOCKET_PATH_BYTES]) HIDDEN;
/* Turns DIR/PID.sock into DIR/PID-NAMESPACE.sock: processes in pid name spaces of their own may
 * have the same pid, and the same directory. False: too long, or the name space is unknown. */
bool socket_path_beside(char path[SOCKET_PATH_BYTES]) HIDDEN;
/* Listens there: the descriptor, or -errno; -EADDRINUSE: somebody else does. Makes the directory;
 * refuses one that is not ours (-EPERM). */
int socket_listen(const char *path, bool own_directory) HIDDEN;
/* Listens where there is no file: whoever may look at our descriptors finds it. Or -errno. Anybody
 * may connect, and is refused an answer by socket_peer_is_allowed(). */
int socket_listen_unnamed(void) HIDDEN;
/* Whether whoever is at the other end may give orders: the same user, or root. */
bool socket_peer_is_allowed(int fd) HIDDEN;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control socket in the file system. See socket.h. Raw system calls only.
 */
#include "socket.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/un.h>

#include "arena.h"
#include "syscalls.h"
#include "text.h"

#include "in_target.h"

_Static_assert(sizeof(((struct sockaddr_un *)0)->sun_path) == SOCKET_PATH_BYTES,
	       "the kernel's limit");
_Static_assert(sizeof(((struct arena *)0)->socket) == SOCKET_PATH_BYTES,
	       "an arena has room for it");

enum { BACKLOG = 64 };

static void put_directory(struct text *text, const struct options *options)
{
	if (options->dir[0]) {
		text_put(text, options->dir);
	} else if (options->runtime_dir[0]) {
		text_put(text, options->runtime_dir);
		text_put_literal(text, "/wcprof");
	} else {
		text_put_literal(text, "/tmp/wcprof-");
		text_put_u64(text, (uint64_t)sys_geteuid());
	}
}

bool socket_path(const struct options *options, unsigned pid, bool is_child,
		 char path[SOCKET_PATH_BYTES])
{
	struct text text = { .bytes = path, .size = SOCKET_PATH_BYTES };

	if (options->socket[0]) {
		text_put(&text, options->socket);
		if (is_child) {
			text_put_literal(&text, ".");
			text_put_u64(&text, pid);
		}
	} else {
		put_directory(&text, options);
		text_put_literal(&text, "/");
		text_put_u64(&text, pid);
		text_put_literal(&text, ".sock");
	}
	if (!text_end(&text))
		text_complain("path of the control socket is too long:", path);
	return !text.overflowed;
}

/* Makes the directory of `path` if need be; it must be a real directory, ours, and closed to
 * others. */
static int prepare_directory(const char *path)
{
	char directory[SOCKET_PATH_BYTES];
	const char *slash = strrchr(path, '/');
	struct stat stat;
	int result;

	if (!slash || slash == path)
		return 0;
	memcpy(directory, path, (size_t)(slash - path));
	directory[slash - path] = '\0';
	result = sys_mkdir(directory, 0700);
	if (result != 0 && result != -EEXIST)
		return result;
	result = sys_lstat(directory, &stat);
	if (result != 0)
		return result;
	if (!S_ISDIR(stat.st_mode) || stat.st_uid != (uid_t)sys_geteuid() ||
	    (stat.st_mode & 077) != 0)
		return -EPERM;
	return 0;
}

/* Takes the name of a socket that nobody listens to any more; false: somebody does, or it is
 * something else (to which connecting is refused as well). */
static bool remove_stale(const struct sockaddr_un *address)
{
	struct stat stat;
	int fd, result;

	if (sys_lstat(address->sun_path, &stat) != 0 || !S_ISSOCK(stat.st_mode))
		return false;
	fd = sys_socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK);
	result = fd >= 0 ? sys_connect(fd, address, sizeof(*address)) : fd;
	if (fd >= 0)
		sys_close(fd);
	return result == -ECONNREFUSED && sys_unlink(address->sun_path) == 0;
}

static int bind_path(int fd, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int result;

	assert(strlen(path) < sizeof(address.sun_path));
	memcpy(address.sun_path, path, strlen(path) + 1);
	result = sys_bind(fd, &address, sizeof(address));
	if (result == -EADDRINUSE && remove_stale(&address))
		result = sys_bind(fd, &address, sizeof(address));
	return result;
}

int socket_listen(const char *path, bool own_directory)
{
	int result = own_directory ? prepare_directory(path) : 0;
	int fd;

	if (result != 0)
		return result;
	fd = sys_socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return fd;
	result = bind_path(fd, path);
	if (result == 0)
		result = (int)SYS3(chmod, path, 0600, 0);
	if (result == 0)
		result = sys_listen(fd, BACKLOG);
	if (result == 0)
		return fd;
	sys_close(fd);
	return result;
}

bool socket_peer_is_allowed(int fd)
{
	struct ucred peer = { 0, (uid_t)-1, (gid_t)-1 };
	socklen_t bytes = sizeof(peer);

	return sys_getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 &&
	       (peer.uid == 0 || peer.uid == (uid_t)sys_geteuid());
}

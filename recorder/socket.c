/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control socket in the file system. See socket.h. Raw system calls only.
 */
#include "socket.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/file.h>
#include <sys/un.h>

#include "arena.h"
#include "identity.h"
#include "syscalls.h"
#include "text.h"

#include "in_target.h"

_Static_assert(sizeof(((struct sockaddr_un *)0)->sun_path) == SOCKET_PATH_BYTES,
	       "the kernel's limit");
_Static_assert(sizeof(((struct arena *)0)->socket) == SOCKET_PATH_BYTES,
	       "an arena has room for it");

enum {
	BACKLOG = 64,
	/* Five milliseconds in all: a process that ends waits longer than that for its name. */
	LOCK_TRIES = 50,
	LOCK_PAUSE_NS = 100000
};

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

bool socket_path_beside(char path[SOCKET_PATH_BYTES])
{
	uint64_t namespace = identity_pid_namespace();
	char *dot = strrchr(path, '.');
	struct text text = { .bytes = path, .size = SOCKET_PATH_BYTES };

	assert(dot && strcmp(dot, ".sock") == 0);
	text.used = (size_t)(dot - path);
	text_put_literal(&text, "-");
	text_put_u64(&text, namespace);
	text_put_literal(&text, ".sock");
	return text_end(&text) && namespace != 0;
}

/* Of `path`; empty: the root, or the working directory. */
static void directory_of(const char *path, char directory[SOCKET_PATH_BYTES])
{
	const char *slash = strrchr(path, '/');
	size_t bytes = slash ? (size_t)(slash - path) : 0;

	memcpy(directory, path, bytes);
	directory[bytes] = '\0';
}

/* Makes the directory if need be; it must be a real directory, ours, and closed to others. */
static int prepare_directory(const char *directory)
{
	struct stat stat;
	int result;

	if (!directory[0])
		return 0;
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

/* Between its bind() and its listen() a process looks like a dead one: so one at a time makes its
 * name there. A process that does not get the lock in time goes on without. The lock, or -errno. */
static int lock_directory(const char *directory)
{
	int fd = sys_open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);

	for (int i = 0; fd >= 0 && i < LOCK_TRIES; i++) {
		if (SYS3(flock, fd, LOCK_EX | LOCK_NB, 0) == 0)
			break;
		sys_pause_ns(LOCK_PAUSE_NS);
	}
	return fd;
}

/* Takes the name of a socket that nobody listens to any more. False: somebody does, or it is
 * something else, to which connecting is refused as well. */
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

static int listen_at(const char *path)
{
	int fd = sys_socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK);
	int result;

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

int socket_listen(const char *path, bool own_directory)
{
	char directory[SOCKET_PATH_BYTES];
	int result, lock;

	if (!own_directory)
		return listen_at(path);
	directory_of(path, directory);
	result = prepare_directory(directory);
	if (result != 0)
		return result;
	lock = lock_directory(directory);
	result = listen_at(path);
	if (lock >= 0)
		sys_close(lock);
	return result;
}

int socket_listen_unnamed(void)
{
	const sa_family_t family = AF_UNIX;
	int fd = sys_socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK);
	int result;

	if (fd < 0)
		return fd;
	/* An address of the family alone: the kernel adds a number that nobody has. */
	result = sys_bind(fd, &family, sizeof(family));
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

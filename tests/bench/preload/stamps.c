/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The least that a recorder can do: it looks at the clock before and after a call, and stores 32
 * bytes. The calls are those that servers.py's servers make for a request. All threads share the
 * ring: what it holds is of no use.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <x86intrin.h>

enum { RECORDS = 65536 };

static struct stamped {
	uint64_t begin, end, call, fd;
} ring[RECORDS];
static unsigned written;

static void store(uint64_t begin, uint64_t call, int fd)
{
	ring[written++ % RECORDS] = (struct stamped){ begin, __rdtsc(), call, (uint64_t)fd };
}

#define STAMPED(type, symbol, parameters, arguments, fd)             \
	type symbol parameters                                       \
	{                                                            \
		static type(*real) parameters;                       \
		uint64_t begin;                                      \
		type result;                                         \
                                                                     \
		if (!real)                                           \
			*(void **)&real = dlsym(RTLD_NEXT, #symbol); \
		begin = __rdtsc();                                   \
		result = real arguments;                             \
		store(begin, __LINE__, fd);                          \
		return result;                                       \
	}

STAMPED(ssize_t, read, (int fd, void *data, size_t size), (fd, data, size), fd)
STAMPED(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size), fd)
STAMPED(ssize_t, recv, (int fd, void *data, size_t size, int flags), (fd, data, size, flags), fd)
STAMPED(ssize_t, send, (int fd, const void *data, size_t size, int flags), (fd, data, size, flags),
	fd)
STAMPED(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags),
	fd)
STAMPED(ssize_t, writev, (int fd, const struct iovec *parts, int count), (fd, parts, count), fd)
STAMPED(ssize_t, pread64, (int fd, void *data, size_t size, int64_t from), (fd, data, size, from),
	fd)
STAMPED(int, open64, (const char *path, int flags, int mode), (path, flags, mode), 0)
STAMPED(int, close, (int fd), (fd), fd)
STAMPED(int, epoll_wait, (int fd, struct epoll_event *events, int room, int limit_ms),
	(fd, events, room, limit_ms), fd)
STAMPED(int, pthread_mutex_lock, (pthread_mutex_t * mutex), (mutex), 0)
STAMPED(int, pthread_mutex_unlock, (pthread_mutex_t * mutex), (mutex), 0)

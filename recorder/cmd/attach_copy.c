/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files for a process that does not see them. See attach_copy.h.
 *
 * The process makes a memfd, and the bytes are written from here, through /proc/PID/fd. The loader
 * knows an object again by the path that it was opened by, and the descriptor's number will be used
 * again. So each path is written in another way. One thread.
 */
#include "attach_copy.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { COPY_MS = 1000 };

static bool call_syscall(struct attach_call *call, long number, uint64_t first, uint64_t second,
			 int64_t *result)
{
	const uint64_t arguments[ATTACH_ARGUMENTS] = { (uint64_t)number, first, second };
	uint64_t function = attach_symbols_address(call->libc, "syscall"), value;

	if (!function || !attach_call(call, function, arguments, COPY_MS, &value))
		return false;
	*result = (int64_t)value;
	return *result >= 0;
}

static bool copy_bytes(int from, int to)
{
	struct stat stat;
	off_t at = 0;

	if (fstat(from, &stat) != 0)
		return false;
	while (at < stat.st_size)
		if (sendfile(to, from, &at, (size_t)(stat.st_size - at)) <= 0)
			return false;
	return true;
}

static bool fill(pid_t pid, int fd, const char *file)
{
	int from = open(file, O_RDONLY | O_CLOEXEC), to;
	char path[64];
	bool is_filled;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
	to = open(path, O_WRONLY | O_CLOEXEC);
	is_filled = from >= 0 && to >= 0 && copy_bytes(from, to);
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	return is_filled;
}

/* Slashes with and without dots spell the moment. */
static void put_path(struct attach_copy *copy)
{
	struct timespec now;
	size_t used;

	clock_gettime(CLOCK_MONOTONIC, &now);
	used = (size_t)snprintf(copy->path, sizeof(copy->path), "/proc/self/fd");
	for (uint32_t bits = (uint32_t)now.tv_sec * 1000000 + (uint32_t)now.tv_nsec / 1000; bits;
	     bits >>= 1)
		used += (size_t)snprintf(copy->path + used, sizeof(copy->path) - used, "%s",
					 bits & 1 ? "/./" : "//");
	(void)snprintf(copy->path + used, sizeof(copy->path) - used, "/%d", copy->fd);
}

/* As the memory map is to show it: a file with this name. */
static uint64_t put_name(struct attach_call *call, const char *file)
{
	char name[128];

	snprintf(name, sizeof(name), "wcprof/%s", strrchr(file, '/') + 1);
	return attach_call_put(call, name);
}

bool attach_copy_begin(struct attach_call *call, const char *file, struct attach_copy *copy)
{
	uint64_t name = put_name(call, file);
	int64_t fd;

	if (!name || !call_syscall(call, SYS_memfd_create, name, MFD_CLOEXEC, &fd))
		return false;
	copy->fd = (int)fd;
	put_path(copy);
	if (fill(call->threads->pid, copy->fd, file))
		return true;
	attach_copy_end(call, copy);
	return false;
}

void attach_copy_end(struct attach_call *call, const struct attach_copy *copy)
{
	int64_t result;

	(void)call_syscall(call, SYS_close, (uint64_t)copy->fd, 0, &result);
}

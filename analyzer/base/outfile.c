/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens files for writing. See outfile.h.
 *
 * The file is looked up in the directory that was looked at. It is emptied once it is known whose
 * it is. The recorder, of which nothing is linked here, has one of its own: without libc, for it
 * runs in programs that are not ours.
 */
#include "outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"

enum { OUTFILE_MODE = 0666, OUTFILE_TRIES = 8 };

static bool is_trusted(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

static bool is_planted(const struct stat *stat)
{
	return !is_trusted(stat->st_uid) || S_ISLNK(stat->st_mode) ||
	       (S_ISREG(stat->st_mode) && stat->st_nlink != 1);
}

/* Anybody may put it there, or take it away, at any moment. */
static int open_shared(int directory, const char *name)
{
	struct stat stat;
	bool is_made = false;
	int fd = -1;
	for (int i = 0; i < OUTFILE_TRIES && fd < 0; i++) {
		bool is_there = fstatat(directory, name, &stat, AT_SYMLINK_NOFOLLOW) == 0;
		if (is_there && is_planted(&stat))
			break;
		is_made = !is_there;
		fd = openat(directory, name,
			    O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW |
				    (is_there ? 0 : O_CREAT | O_EXCL),
			    OUTFILE_MODE);
		if (fd < 0 && errno != EEXIST && errno != ENOENT)
			return -1;
	}
	/* A file that was made here is nobody else's, whatever its owner's number is. */
	if (fd >= 0 && (is_made || (fstat(fd, &stat) == 0 && !is_planted(&stat))))
		return fd;
	if (fd >= 0)
		close(fd);
	errno = EPERM;
	return -1;
}

/* In a user name space root may have another number. */
static bool is_own_or_roots(const struct stat *directory)
{
	struct stat top;
	return is_trusted(directory->st_uid) ||
	       (stat("/", &top) == 0 && top.st_uid == directory->st_uid);
}

static int open_in(int directory, const char *name)
{
	struct stat stat;
	if (fstat(directory, &stat) != 0)
		return -1;
	if (!is_own_or_roots(&stat) || (stat.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return open_shared(directory, name);
	return openat(directory, name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, OUTFILE_MODE);
}

static int open_directory(const char *path, const char *slash)
{
	if (!slash || slash == path)
		return open(slash ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char *directory = memory_new((size_t)(slash - path) + 1, 1);
	memcpy(directory, path, (size_t)(slash - path));
	int fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	free(directory);
	return fd;
}

FILE *outfile_create(const char *path)
{
	const char *slash = strrchr(path, '/');
	int directory = open_directory(path, slash);
	struct stat stat;
	if (directory < 0)
		return NULL;
	int fd = open_in(directory, slash ? slash + 1 : path);
	int error = errno;
	close(directory);
	errno = error;
	if (fd < 0)
		return NULL;
	if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && ftruncate(fd, 0) != 0) {
		close(fd);
		return NULL;
	}
	return fdopen(fd, "w");
}

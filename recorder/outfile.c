/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens files for dumps. See outfile.h.
 *
 * The directory is opened first, and the file in it by its last name. So the directory that was
 * looked at is the one that has the file. In a shared one the last name is not followed, and a new
 * file is made exclusively. A file that is there must be this user's or root's, and have no second
 * name. Any thread; by raw system calls. The analyzer, which links nothing of the recorder's, has
 * one of its own with what libc offers.
 */
#include "outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "syscalls.h"

#include "in_target.h"

enum { MODE = 0600, TRIES = 8 };

static int open_at(int directory, const char *name, int flags)
{
	return (int)sys_call(SYS_openat, directory, (long)name, flags | O_CLOEXEC | O_NOCTTY, MODE,
			     0, 0);
}

static bool is_trusted(uid_t uid)
{
	return uid == 0 || uid == (uid_t)sys_geteuid();
}

/* Whether others may change what a name in it means. */
static bool is_shared(const struct stat *directory)
{
	struct stat top;
	/* In a user name space root may have another number. */
	bool is_roots = sys_call(SYS_newfstatat, AT_FDCWD, (long)"/", (long)&top, 0, 0, 0) == 0 &&
			top.st_uid == directory->st_uid;

	return (!is_roots && !is_trusted(directory->st_uid)) ||
	       (directory->st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

static bool is_planted(const struct stat *stat)
{
	return !is_trusted(stat->st_uid) || (S_ISREG(stat->st_mode) && stat->st_nlink != 1) ||
	       S_ISLNK(stat->st_mode);
}

/* Where everything is this user's own business. */
static int open_own(int directory, const char *name, int flags)
{
	return open_at(directory, name, O_WRONLY | O_CREAT | flags);
}

/* Somebody may put it there, or take it away, at any moment. */
static int open_shared(int directory, const char *name, int flags)
{
	struct stat stat;
	int fd = -EPERM, made = 0;

	for (int i = 0; i < TRIES; i++) {
		long found = sys_call(SYS_newfstatat, directory, (long)name, (long)&stat,
				      AT_SYMLINK_NOFOLLOW, 0, 0);

		made = found == -ENOENT ? O_CREAT | O_EXCL : 0;
		/* A pipe of somebody else's would keep us waiting. */
		if (found == 0 && is_planted(&stat))
			return -EPERM;
		fd = open_at(directory, name, O_WRONLY | O_NOFOLLOW | made | flags);
		if (fd != -EEXIST && fd != -ENOENT)
			break;
	}
	/* A file that was made here is nobody else's, whatever its owner's number is. */
	if (fd >= 0 && !made && (sys_fstat(fd, &stat) != 0 || is_planted(&stat))) {
		sys_close(fd);
		return -EPERM;
	}
	return fd == -ELOOP || fd == -EEXIST ? -EPERM : fd;
}

/* Where the file will be: a descriptor of the directory and the name in it. A program that may have
 * no more than one descriptor has the path instead. */
struct place {
	int at;
	const char *name;
	struct stat directory;
};

static int find_directory(struct place *place, const char *directory, const char *path)
{
	int fd = (int)sys_open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);

	place->at = fd;
	if (fd >= 0)
		return sys_fstat(fd, &place->directory);
	if (fd != -EMFILE)
		return fd;
	place->at = AT_FDCWD;
	place->name = path;
	return (int)sys_call(SYS_newfstatat, AT_FDCWD, (long)directory, (long)&place->directory, 0,
			     0, 0);
}

static int find(struct place *place, char *path)
{
	char *slash = strrchr(path, '/');
	int result;

	*place = (struct place){ .at = AT_FDCWD, .name = slash ? slash + 1 : path };
	if (*place->name == '\0')
		return -EISDIR;
	if (!slash || slash == path)
		return find_directory(place, slash ? "/" : ".", path);
	*slash = '\0';
	result = find_directory(place, path, path);
	*slash = '/';
	return result;
}

static int open_in(const struct place *place, int flags)
{
	return is_shared(&place->directory) ? open_shared(place->at, place->name, flags)
					    : open_own(place->at, place->name, flags);
}

int outfile_open(char *path, int flags)
{
	int others = flags & ~O_TRUNC;
	struct place place;
	struct stat stat;
	int fd = find(&place, path);

	if (fd == 0)
		fd = open_in(&place, others);
	if (place.at >= 0)
		sys_close(place.at);
	/* The directory had the only descriptor. */
	if (fd == -EMFILE && place.at >= 0) {
		place.at = AT_FDCWD;
		place.name = path;
		fd = open_in(&place, others);
	}
	if (fd >= 0 && flags & O_TRUNC && sys_fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode))
		(void)sys_ftruncate(fd, 0);
	return fd;
}

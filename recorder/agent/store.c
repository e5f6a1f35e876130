/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store. See store.h.
 *
 * A dump is called NUMBER-PROGRAM-PID.wcprof.zst, with a number of 12 digits. While it is written,
 * the name begins with "partial-".
 */
#include "store.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PARTIAL "partial-"
#define SUFFIX  ".wcprof.zst"

enum { NUMBER_DIGITS = 12, PROGRAM_BYTES = 32 };

static bool ends_in_suffix(const char *name)
{
	size_t length = strlen(name);

	return length > strlen(SUFFIX) && strcmp(name + length - strlen(SUFFIX), SUFFIX) == 0;
}

/* Whether it is a dump's name, and which number it has. */
static bool read_name(const char *name, uint64_t *number)
{
	if (strspn(name, "0123456789") != NUMBER_DIGITS || name[NUMBER_DIGITS] != '-' ||
	    !ends_in_suffix(name))
		return false;
	*number = strtoull(name, NULL, 10);
	return true;
}

static void path_of(const struct store *store, const char *name, char path[STORE_PATH_BYTES])
{
	snprintf(path, STORE_PATH_BYTES, "%s/%.120s", store->directory, name);
}

static uint64_t size_of(const char *path)
{
	struct stat stat;

	return lstat(path, &stat) == 0 && S_ISREG(stat.st_mode) ? (uint64_t)stat.st_size : 0;
}

/* The oldest dump's path; false: there is none. */
static bool find_oldest(const struct store *store, char path[STORE_PATH_BYTES])
{
	DIR *directory = opendir(store->directory);
	uint64_t oldest = UINT64_MAX, number;
	struct dirent *entry;

	while (directory && (entry = readdir(directory))) {
		if (!read_name(entry->d_name, &number) || number >= oldest)
			continue;
		oldest = number;
		path_of(store, entry->d_name, path);
	}
	if (directory)
		closedir(directory);
	return oldest != UINT64_MAX;
}

void store_shrink(struct store *store, uint64_t bytes)
{
	char path[STORE_PATH_BYTES];

	while (store->bytes > bytes && find_oldest(store, path)) {
		uint64_t size = size_of(path);

		if (unlink(path) != 0)
			return;
		store->bytes -= size < store->bytes ? size : store->bytes;
		store->removed++;
	}
}

static int check_directory(const char *path)
{
	struct stat stat;

	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		return -errno;
	if (lstat(path, &stat) != 0)
		return -errno;
	if (!S_ISDIR(stat.st_mode))
		return -ENOTDIR;
	return stat.st_uid != geteuid() || (stat.st_mode & (S_IWGRP | S_IWOTH)) ? -EPERM : 0;
}

static int scan(struct store *store)
{
	DIR *directory = opendir(store->directory);
	char path[STORE_PATH_BYTES];
	struct dirent *entry;
	uint64_t number;

	if (!directory)
		return -errno;
	while ((entry = readdir(directory))) {
		path_of(store, entry->d_name, path);
		if (strncmp(entry->d_name, PARTIAL, strlen(PARTIAL)) == 0 &&
		    ends_in_suffix(entry->d_name))
			store_abandon(path);
		if (!read_name(entry->d_name, &number))
			continue;
		store->bytes += size_of(path);
		store->number = number > store->number ? number : store->number;
	}
	closedir(directory);
	return 0;
}

int store_open(struct store *store, const char *directory, uint64_t bytes_max)
{
	int result = check_directory(directory);

	*store = (struct store){ .bytes_max = bytes_max };
	snprintf(store->directory, sizeof(store->directory), "%s", directory);
	if (result == 0)
		result = scan(store);
	if (result == 0)
		store_shrink(store, bytes_max);
	return result;
}

void store_begin(struct store *store, const char *program, pid_t pid, char path[STORE_PATH_BYTES])
{
	char name[PROGRAM_BYTES];
	size_t used = 0;

	for (; program[used] && used + 1 < sizeof(name); used++)
		name[used] = (char)(isalnum((unsigned char)program[used]) ? program[used] : '_');
	name[used] = '\0';
	snprintf(path, STORE_PATH_BYTES, "%s/" PARTIAL "%0*" PRIu64 "-%s-%d" SUFFIX,
		 store->directory, NUMBER_DIGITS, ++store->number, name, (int)pid);
}

int store_keep(struct store *store, char path[STORE_PATH_BYTES])
{
	char *name = strrchr(path, '/') + 1;
	char kept[STORE_PATH_BYTES];
	uint64_t size = size_of(path);

	/* Before the new one is counted: it is not to make room for itself. */
	store_shrink(store, size < store->bytes_max ? store->bytes_max - size : 0);
	path_of(store, name + strlen(PARTIAL), kept);
	if (rename(path, kept) != 0) {
		int error = -errno;

		store_abandon(path);
		return error;
	}
	store->bytes += size;
	memcpy(path, kept, sizeof(kept));
	return 0;
}

void store_abandon(const char *path)
{
	(void)unlink(path);
}

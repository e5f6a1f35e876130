/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bound on memory. See allowance.h.
 *
 * The kernel keeps it: RLIMIT_DATA counts private memory that may be written to, whoever asks for
 * it. Set once, before there are threads. The recorder has a reader of control groups of its own,
 * which calls nothing of libc's, and none of whose objects is linked here. That one also finds
 * groups that are mounted elsewhere: it takes a part of what is free without being told to.
 */
#include "allowance.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

enum { ALLOWANCE_PATH_BYTES = 4096 };

/* Files of a control group: what it may take, and takes. `idle` is the word for pages of files that
 * are given back when memory is short. */
struct group_files {
	const char *mount;
	const char *most;
	const char *now;
	const char *idle;
};

static const struct group_files second = { "/sys/fs/cgroup", "memory.max", "memory.current",
					   "inactive_file" };
static const struct group_files first = { "/sys/fs/cgroup/memory", "memory.limit_in_bytes",
					  "memory.usage_in_bytes", "total_inactive_file" };

static uint64_t allowance;

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* UINT64_MAX: no number there. */
static uint64_t read_number(const char *directory, const char *path, const char *name)
{
	char file_name[2 * ALLOWANCE_PATH_BYTES];
	uint64_t number;
	snprintf(file_name, sizeof(file_name), "%s%s/%s", directory, path, name);
	FILE *file = fopen(file_name, "re");
	if (!file)
		return UINT64_MAX;
	bool is_number = fscanf(file, "%" SCNu64, &number) == 1;
	fclose(file);
	return is_number ? number : UINT64_MAX;
}

/* From a line "WORD NUMBER" of the group's memory.stat; 0: there is none. */
static uint64_t read_idle(const struct group_files *files, const char *path)
{
	char file_name[2 * ALLOWANCE_PATH_BYTES], line[256];
	size_t length = strlen(files->idle);
	uint64_t bytes = 0;
	snprintf(file_name, sizeof(file_name), "%s%s/memory.stat", files->mount, path);
	FILE *file = fopen(file_name, "re");
	while (file && bytes == 0 && fgets(line, sizeof(line), file))
		if (strncmp(line, files->idle, length) == 0 && line[length] == ' ')
			(void)sscanf(line + length, "%" SCNu64, &bytes);
	if (file)
		fclose(file);
	return bytes;
}

/* Of the group and of those that it is in. */
static uint64_t free_in_groups(const struct group_files *files, char *path)
{
	uint64_t bytes = UINT64_MAX;
	for (;;) {
		uint64_t most = read_number(files->mount, path, files->most);
		uint64_t now = read_number(files->mount, path, files->now);
		if (most != UINT64_MAX && now != UINT64_MAX)
			bytes = least(bytes,
				      (most > now ? most - now : 0) + read_idle(files, path));
		char *slash = strrchr(path, '/');
		if (!slash)
			return bytes;
		*slash = '\0';
	}
}

/* "0::/PATH" of the second version, "N:memory:/PATH" of the first. */
static uint64_t free_in_container(void)
{
	char line[ALLOWANCE_PATH_BYTES];
	uint64_t bytes = UINT64_MAX;
	FILE *file = fopen("/proc/self/cgroup", "re");
	while (file && fgets(line, sizeof(line), file)) {
		char *path = strchr(line, ':');
		path = path ? strchr(path + 1, ':') : NULL;
		line[strcspn(line, "\n")] = '\0';
		if (path && strstr(line, ":memory:"))
			bytes = least(bytes, free_in_groups(&first, path + 1));
		else if (path && strncmp(line, "0::", 3) == 0)
			bytes = least(bytes, free_in_groups(&second, path + 1));
	}
	if (file)
		fclose(file);
	return bytes;
}

/* From a line "NAME: NUMBER kB"; UINT64_MAX: there is none. */
static uint64_t read_bytes(const char *path, const char *name)
{
	char line[256];
	uint64_t kilobytes;
	bool is_found = false;
	FILE *file = fopen(path, "re");
	while (file && !is_found && fgets(line, sizeof(line), file))
		is_found = strncmp(line, name, strlen(name)) == 0 &&
			   sscanf(line + strlen(name), ": %" SCNu64, &kilobytes) == 1;
	if (file)
		fclose(file);
	return is_found ? kilobytes * 1024 : UINT64_MAX;
}

uint64_t allowance_of_now(void)
{
	uint64_t bytes = least(read_bytes("/proc/meminfo", "MemAvailable"), free_in_container());
	return bytes == UINT64_MAX ? 0 : bytes / 4 * 3;
}

uint64_t allowance_of_megabytes(uint64_t megabytes)
{
	const uint64_t megabyte = 1000000;
	return megabytes > UINT64_MAX / megabyte ? UINT64_MAX : megabytes * megabyte;
}

bool allowance_set(uint64_t bytes)
{
	struct rlimit limit;
	if (bytes == 0)
		return true;
	if (getrlimit(RLIMIT_DATA, &limit) != 0)
		return false;
	if (limit.rlim_cur <= bytes)
		return true;
	/* Sanitizers have reserved terabytes, and could not go on. */
	if (read_bytes("/proc/self/status", "VmData") > bytes)
		return false;
	limit.rlim_cur = bytes;
	if (setrlimit(RLIMIT_DATA, &limit) != 0)
		return false;
	allowance = bytes;
	return true;
}

uint64_t allowance_bytes(void)
{
	return allowance;
}

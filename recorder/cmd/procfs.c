/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process by its files in /proc, any of which may be gone at any moment.
 *
 * No state. Any thread.
 */
#include "procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIELD_STATE = 3, FIELD_PARENT = 4, FIELD_THREADS = 20, FIELD_START = 22 };
/* The inode of the name space that the system began with, in which every process has a pid. */
enum { INITIAL_NAMESPACE = 0xeffffffc };
/* Deeper trees than this are circles that changed under us. */
enum { ANCESTORS_MAX = 4096 };

ssize_t procfs_read_file(const char *path, char *to, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t got = 1;

	if (fd < 0)
		return -1;
	while (used < size - 1 && got > 0) {
		got = read(fd, to + used, size - 1 - used);
		used += got > 0 ? (size_t)got : 0;
	}
	close(fd);
	to[used] = '\0';
	return got < 0 ? -1 : (ssize_t)used;
}

/* Start of a field of stat, counted from 1, from the third on; NULL: there are not so many. */
static const char *find_field(const char *after_name, int field)
{
	const char *at = after_name + 1;

	for (int i = FIELD_STATE; at && i < field; i++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	return at;
}

bool procfs_read(pid_t pid, struct procfs_status *status)
{
	char path[64], stat[1024];
	const char *open_name, *start;
	char *close_name;

	*status = (struct procfs_status){ 0 };
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (pid <= 0 || procfs_read_file(path, stat, sizeof(stat)) <= 0)
		return false;
	/* The name may contain anything, also parentheses and spaces. */
	open_name = strchr(stat, '(');
	close_name = strrchr(stat, ')');
	start = close_name && close_name[1] ? find_field(close_name + 1, FIELD_START) : NULL;
	if (!open_name || !start)
		return false;
	status->start_ticks = strtoull(start, NULL, 10);
	status->parent = (pid_t)strtol(find_field(close_name + 1, FIELD_PARENT), NULL, 10);
	/* A first thread that ended before the others looks like a zombie, and is none. */
	status->is_zombie = strchr("ZX", *find_field(close_name + 1, FIELD_STATE)) &&
			    strtol(find_field(close_name + 1, FIELD_THREADS), NULL, 10) <= 1;
	status->is_stopped = strchr("Tt", *find_field(close_name + 1, FIELD_STATE)) != NULL;
	*close_name = '\0';
	snprintf(status->name, sizeof(status->name), "%s", open_name + 1);
	return true;
}

bool procfs_lives(pid_t pid, uint64_t start_ticks)
{
	struct procfs_status status;

	return procfs_read(pid, &status) && !status.is_zombie &&
	       (start_ticks == 0 || status.start_ticks == start_ticks);
}

/* --- Other name spaces ------------------------------------------------------------------------ */

static uint64_t namespace_of(const char *process)
{
	char path[64];
	struct stat namespace;

	snprintf(path, sizeof(path), "/proc/%.20s/ns/pid", process);
	return stat(path, &namespace) == 0 ? namespace.st_ino : 0;
}

/* The innermost of the pids that a process has: the last one of that line. */
static pid_t innermost_pid(const char *process)
{
	char path[64], text[4096];
	const char *line;
	size_t length;

	snprintf(path, sizeof(path), "/proc/%.20s/status", process);
	if (procfs_read_file(path, text, sizeof(text)) <= 0)
		return 0;
	line = strstr(text, "\nNSpid:");
	if (!line)
		return 0;
	length = strcspn(++line, "\n");
	while (length > 0 && line[length - 1] != '\t')
		length--;
	return (pid_t)strtol(line + length, NULL, 10);
}

pid_t procfs_find(uint64_t pid_namespace, pid_t pid, uint64_t start_ticks)
{
	uint64_t own = namespace_of("self");
	const struct dirent *entry;
	pid_t found = own == INITIAL_NAMESPACE ? 0 : -1;
	DIR *stream;

	if (pid_namespace == 0 || pid_namespace == own)
		return procfs_lives(pid, start_ticks) ? pid : 0;
	stream = opendir("/proc");
	while (stream && found <= 0 && (entry = readdir(stream))) {
		pid_t here = (pid_t)atoi(entry->d_name);
		uint64_t namespace;

		if (here <= 0 || innermost_pid(entry->d_name) != pid)
			continue;
		namespace = namespace_of(entry->d_name);
		if (namespace == pid_namespace && procfs_lives(here, start_ticks))
			found = here;
		else if (namespace == 0 && procfs_lives(here, start_ticks))
			found = -1; /* it may be this one, but nobody may know */
	}
	if (stream)
		closedir(stream);
	return found;
}

static bool has_variable(pid_t pid, const char *variable)
{
	char path[64], *line = NULL;
	size_t size = 0;
	bool is_found = false;
	FILE *stream;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	stream = fopen(path, "re");
	while (stream && !is_found && getdelim(&line, &size, '\0', stream) > 0)
		is_found = strcmp(line, variable) == 0;
	free(line);
	if (stream)
		fclose(stream);
	return is_found;
}

size_t procfs_count_having(const char *variable, bool (*is_counted)(const void *, pid_t),
			   const void *context)
{
	DIR *stream = opendir("/proc");
	const struct dirent *entry;
	size_t count = 0;

	while (stream && (entry = readdir(stream))) {
		pid_t pid = (pid_t)atoi(entry->d_name);

		count += pid > 0 && is_counted(context, pid) && has_variable(pid, variable);
	}
	if (stream)
		closedir(stream);
	return count;
}

bool procfs_is_below(pid_t pid, pid_t ancestor)
{
	struct procfs_status status;

	for (int i = 0; i < ANCESTORS_MAX && pid > 0; i++) {
		if (pid == ancestor)
			return true;
		if (!procfs_read(pid, &status))
			return false;
		pid = status.parent;
	}
	return false;
}

void procfs_command(pid_t pid, char *to, size_t size)
{
	char path[64];
	ssize_t bytes;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	bytes = procfs_read_file(path, to, size);
	if (bytes <= 0) {
		to[0] = '\0';
		return;
	}
	while (bytes > 0 && to[bytes - 1] == '\0')
		bytes--;
	for (ssize_t i = 0; i < bytes; i++)
		if ((unsigned char)to[i] < ' ' || to[i] == 127)
			to[i] = ' ';
}

/* Whether a memory map has a file. EMPTY: the thread whose it is has ended. */
enum map_answer { MAP_UNKNOWN, MAP_EMPTY, MAP_WITHOUT, MAP_WITH };

static enum map_answer look_at_map(const char *map, const char *path)
{
	size_t path_bytes = strlen(path), size = 0;
	enum map_answer answer = MAP_EMPTY;
	char *line = NULL;
	FILE *file = fopen(map, "re");

	/* One that is just ending has no map any more, and says so in either way. */
	if (!file)
		return errno == ESRCH ? MAP_EMPTY : MAP_UNKNOWN;
	while (answer != MAP_WITH && getline(&line, &size, file) > 0) {
		const char *at = strchr(line, '/');

		answer = MAP_WITHOUT;
		if (at && strncmp(at, path, path_bytes) == 0 &&
		    (at[path_bytes] == '\n' || at[path_bytes] == ' '))
			answer = MAP_WITH;
	}
	free(line);
	fclose(file);
	return answer;
}

/* All threads have one map, but the first thread's is empty when that one has ended before the
 * others. */
static enum map_answer look_at_threads(pid_t pid, const char *path)
{
	char name[320];
	enum map_answer answer = MAP_EMPTY;
	const struct dirent *entry;
	DIR *stream;

	snprintf(name, sizeof(name), "/proc/%d/task", (int)pid);
	stream = opendir(name);
	while (answer == MAP_EMPTY && stream && (entry = readdir(stream))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "/proc/%d/task/%.20s/maps", (int)pid, entry->d_name);
		answer = look_at_map(name, path);
		/* It ended just now. */
		if (answer == MAP_UNKNOWN)
			answer = MAP_EMPTY;
	}
	if (stream)
		closedir(stream);
	return answer;
}

int procfs_maps_file(pid_t pid, const char *path)
{
	char name[64];
	enum map_answer answer;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	answer = look_at_map(name, path);
	if (answer == MAP_EMPTY)
		answer = look_at_threads(pid, path);
	if (answer == MAP_UNKNOWN)
		return -1;
	/* A process that is just ending has no memory any more. */
	return answer == MAP_WITH;
}

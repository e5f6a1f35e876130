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
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { FIELD_STATE = 3, FIELD_PARENT = 4, FIELD_THREADS = 20, FIELD_START = 22 };
/* The inode of the name space that the system began with, in which every process has a pid. */
enum { INITIAL_NAMESPACE = 0xeffffffc };
/* Deeper trees than this are circles that changed under us. */
enum { ANCESTORS_MAX = 4096 };
/* A process that was killed takes no longer, unless much memory has to go. */
enum { ENDING_MS = 2000 };

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

bool procfs_is_over(pid_t pid)
{
	struct pollfd end = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };

	if (end.fd >= 0) {
		(void)poll(&end, 1, ENDING_MS);
		close(end.fd);
	}
	return !procfs_lives(pid, 0);
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

pid_t procfs_own_pid(pid_t pid)
{
	char process[24];

	snprintf(process, sizeof(process), "%d", (int)pid);
	return innermost_pid(process);
}

/* By how much the time since boot is another one in a process's time name space: in ticks. */
static int64_t boot_offset(const char *process)
{
	char path[64], text[256];
	const char *line = NULL;
	long long seconds = 0, ns = 0;

	snprintf(path, sizeof(path), "/proc/%.20s/timens_offsets", process);
	if (procfs_read_file(path, text, sizeof(text)) > 0)
		line = strstr(text, "boottime");
	if (!line || sscanf(line, "boottime %lld %lld", &seconds, &ns) != 2)
		return 0;
	return seconds * sysconf(_SC_CLK_TCK) + ns / (1000000000 / sysconf(_SC_CLK_TCK));
}

/* Whether the process read its own start as `start_ticks`, which we read as `seen`: each in its own
 * time name space. */
static bool is_start_of(pid_t here, uint64_t seen, uint64_t start_ticks)
{
	char process[24];
	uint64_t expected;

	snprintf(process, sizeof(process), "%d", (int)here);
	expected = seen + (uint64_t)boot_offset(process) - (uint64_t)boot_offset("self");
	/* Either may have been rounded. */
	return seen == start_ticks || start_ticks - expected + 1 <= 2;
}

/* Whether the process here is the owner: `here`, or 0. A process that went to another time name
 * space tells nothing of its own; the file does. */
static pid_t check_owner(const struct procfs_owner *owner, pid_t here)
{
	struct procfs_status status;

	/* One that hides from others is there all the same. */
	if (!procfs_read(here, &status))
		return kill(here, 0) != 0 && errno == ESRCH ? 0 : -1;
	if (status.is_zombie)
		return 0;
	if (is_start_of(here, status.start_ticks, owner->start_ticks) ||
	    procfs_maps_file(here, owner->path, &owner->file) == 1)
		return here;
	return 0;
}

pid_t procfs_find(const struct procfs_owner *owner)
{
	uint64_t own = namespace_of("self");
	const struct dirent *entry;
	pid_t found = own == INITIAL_NAMESPACE ? 0 : -1;
	DIR *stream;

	if (owner->pid_namespace == 0 || owner->pid_namespace == own)
		return check_owner(owner, owner->pid);
	stream = opendir("/proc");
	while (stream && found <= 0 && (entry = readdir(stream))) {
		pid_t here = (pid_t)atoi(entry->d_name);
		uint64_t namespace;

		if (here <= 0 || innermost_pid(entry->d_name) != owner->pid)
			continue;
		namespace = namespace_of(entry->d_name);
		if (namespace != 0 && namespace != owner->pid_namespace)
			continue;
		here = check_owner(owner, here);
		if (here == 0)
			continue;
		/* Without its name space, it may be this one, but nobody may know. */
		found = namespace != 0 ? here : -1;
	}
	if (stream)
		closedir(stream);
	return found;
}

bool procfs_any_line(pid_t pid, const char *file, int delimiter,
		     bool (*fits)(const char *line, const char *word), const char *word)
{
	char path[64], *line = NULL;
	size_t size = 0;
	bool is_found = false;
	FILE *stream;

	snprintf(path, sizeof(path), "/proc/%d/%.20s", (int)pid, file);
	stream = fopen(path, "re");
	while (stream && !is_found && getdelim(&line, &size, delimiter, stream) > 0)
		is_found = fits(line, word);
	free(line);
	if (stream)
		fclose(stream);
	return is_found;
}

static bool is_equal(const char *line, const char *word)
{
	return strcmp(line, word) == 0;
}

size_t procfs_count_having(const char *variable, bool (*is_counted)(const void *, pid_t),
			   const void *context)
{
	DIR *stream = opendir("/proc");
	const struct dirent *entry;
	size_t count = 0;

	while (stream && (entry = readdir(stream))) {
		pid_t pid = (pid_t)atoi(entry->d_name);

		count += pid > 0 && is_counted(context, pid) &&
			 procfs_any_line(pid, "environ", '\0', is_equal, variable);
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

bool procfs_user(const char *directory, uid_t *user)
{
	char path[64], text[4096];
	const char *line = NULL;

	snprintf(path, sizeof(path), "%.50s/status", directory);
	if (procfs_read_file(path, text, sizeof(text)) > 0)
		line = strstr(text, "\nUid:");
	return line && sscanf(line, "\nUid: %*u %u", user) == 1;
}

void procfs_executable(pid_t pid, char *to, size_t size)
{
	char path[64], exe[4096];
	ssize_t bytes;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	bytes = readlink(path, exe, sizeof(exe) - 1);
	exe[bytes > 0 ? bytes : 0] = '\0';
	snprintf(to, size, "%s", bytes > 0 ? strrchr(exe, '/') + 1 : "");
}

bool procfs_is_elsewhere(pid_t pid)
{
	char link[64], path[4096];
	struct stat theirs, ours;
	ssize_t bytes;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	bytes = readlink(link, path, sizeof(path) - 1);
	if (bytes <= 0 || stat(link, &theirs) != 0)
		return false;
	path[bytes] = '\0';
	/* One that was replaced or removed is nowhere. */
	if (theirs.st_nlink == 0)
		return false;
	return stat(path, &ours) != 0 || ours.st_dev != theirs.st_dev ||
	       ours.st_ino != theirs.st_ino;
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

/* "BEGIN-END PERMISSIONS OFFSET DEVICE INODE PATH" */
static bool is_line_of(const char *line, const char *path, const struct stat *file)
{
	const char *at = strchr(line, '/');
	size_t bytes = strlen(path);
	unsigned major, minor;
	unsigned long long inode;

	if (at && strncmp(at, path, bytes) == 0 && (at[bytes] == '\n' || at[bytes] == ' '))
		return true;
	return file && sscanf(line, "%*s %*s %*s %x:%x %llu", &major, &minor, &inode) == 3 &&
	       inode == file->st_ino && makedev(major, minor) == file->st_dev;
}

static enum map_answer look_at_map(const char *map, const char *path, const struct stat *file)
{
	size_t size = 0;
	enum map_answer answer = MAP_EMPTY;
	char *line = NULL;
	FILE *stream = fopen(map, "re");

	/* One that is just ending has no map any more, and says so in either way. */
	if (!stream)
		return errno == ESRCH ? MAP_EMPTY : MAP_UNKNOWN;
	while (answer != MAP_WITH && getline(&line, &size, stream) > 0)
		answer = is_line_of(line, path, file) ? MAP_WITH : MAP_WITHOUT;
	free(line);
	fclose(stream);
	return answer;
}

/* All threads have one map, but the first thread's is empty when that one has ended before the
 * others. */
static enum map_answer look_at_threads(pid_t pid, const char *path, const struct stat *file)
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
		answer = look_at_map(name, path, file);
		/* It ended just now. */
		if (answer == MAP_UNKNOWN)
			answer = MAP_EMPTY;
	}
	if (stream)
		closedir(stream);
	return answer;
}

int procfs_maps_file(pid_t pid, const char *path, const struct stat *file)
{
	char name[64];
	enum map_answer answer;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	answer = look_at_map(name, path, file);
	if (answer == MAP_EMPTY)
		answer = look_at_threads(pid, path, file);
	if (answer == MAP_UNKNOWN)
		return -1;
	/* A process that is just ending has no memory any more. */
	return answer == MAP_WITH;
}

int procfs_open_inside(const char *directory, const char *path, int flags)
{
	struct open_how how = { .flags = (unsigned)flags | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	int base = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd;

	if (base < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, base, path, &how, sizeof(how));
	fd = fd < 0 ? -errno : fd;
	close(base);
	return fd;
}

int procfs_open_seen(pid_t pid, const char *path, int flags)
{
	char root[64];

	snprintf(root, sizeof(root), "/proc/%d/root", (int)pid);
	return procfs_open_inside(root, path, flags);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a process gets the recorder. See advice.h.
 *
 * Facts are the process's control group, its memory map, its file and its command line. One thread.
 */
#include "advice.h"

#include <dirent.h>
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "executable.h"
#include "filter.h"
#include "procfs.h"
#include "visible.h"

enum { PATH_BYTES = 4096, COMMAND_BYTES = 8192, CONTAINER_DIGITS = 12 };

/* --- What it is part of ----------------------------------------------------------------------- */

static bool ends_in(const char *text, size_t bytes, const char *end)
{
	return bytes > strlen(end) && memcmp(text + bytes - strlen(end), end, strlen(end)) == 0;
}

/* The innermost service of a path like /system.slice/NAME.service/part. */
static void unit_of_path(const char *path, size_t bytes, struct advice_unit *unit)
{
	for (size_t from = 0, to; from < bytes; from = to + 1) {
		to = from + strcspn(path + from, "/\n");
		if (to > bytes)
			to = bytes;
		if (!ends_in(path + from, to - from, ".service"))
			continue;
		/* Those of a user's manager are below it. */
		unit->is_user = strncmp(unit->name, "user@", 5) == 0;
		snprintf(unit->name, sizeof(unit->name), "%.*s", (int)(to - from), path + from);
	}
}

void advice_unit_of(const char *cgroups, struct advice_unit *unit)
{
	*unit = (struct advice_unit){ 0 };
	for (const char *line = cgroups; *line && !unit->name[0]; line += strcspn(line, "\n")) {
		const char *colon;

		line += *line == '\n';
		colon = line + strcspn(line, ":\n");
		/* The hierarchy of systemd's own, or the only one. */
		if (strncmp(colon, "::/", 3) == 0)
			unit_of_path(colon + 2, strcspn(colon + 2, "\n"), unit);
		else if (strncmp(colon, ":name=systemd:/", 15) == 0)
			unit_of_path(colon + 14, strcspn(colon + 14, "\n"), unit);
	}
}

void advice_container_of(const char *cgroups, char *to, size_t size)
{
	size_t digits;

	to[0] = '\0';
	/* 64 digits of a hash: docker-HASH.scope, /docker/HASH, libpod-HASH.scope, ... */
	for (const char *at = cgroups; *at; at += digits + (at[digits] != '\0')) {
		digits = strspn(at, "0123456789abcdef");
		if (digits != 64)
			continue;
		snprintf(to, size, "%.*s", CONTAINER_DIGITS, at);
		return;
	}
}

/* --- Why it has not --------------------------------------------------------------------------- */

/* A line of /proc/PID/maps, of a file whose name begins so. */
static bool maps_name(const char *line, const char *name)
{
	const char *slash = strrchr(line, '/');

	return slash && strncmp(slash + 1, name, strlen(name)) == 0;
}

bool advice_has_library(pid_t pid)
{
	return procfs_any_line(pid, "maps", '\n', maps_name, "libwcprof");
}

static bool is_equal(const char *line, const char *word)
{
	return strcmp(line, word) == 0;
}

static bool preloads(const char *line, const char *library)
{
	return strncmp(line, "LD_PRELOAD=", 11) == 0 && strstr(line, library);
}

const char *advice_of_detached(pid_t pid)
{
	if (!advice_has_library(pid) ||
	    procfs_any_line(pid, "environ", '\0', preloads, "libwcprof"))
		return NULL;
	return "it is not attached (any more), so wcprof attach is to come first; or it changes "
	       "its rights, and listens a second after that";
}

/* Whether more filters are there than a container's first process has, as the library asks. */
bool advice_is_filtered(pid_t pid)
{
	char own[64], first[64];
	int count;

	snprintf(own, sizeof(own), "/proc/%d/status", (int)pid);
	snprintf(first, sizeof(first), "/proc/%d/root/proc/1/status", (int)pid);
	count = filter_count(own);
	return count > 0 && count > filter_count(first);
}

/* Of a process with the library and without a socket: the reason, as a sentence's end. */
static const char *silence_of(pid_t pid)
{
	struct stat stat;
	char path[64];

	if (procfs_any_line(pid, "environ", '\0', is_equal, "WCPROF_CONTROL=off"))
		return "it was started with WCPROF_CONTROL=off";
	if (advice_of_detached(pid))
		return advice_of_detached(pid);
	/* The link itself: where it leads is another thing for who looks from outside. */
	snprintf(path, sizeof(path), "/proc/%d/root/proc/self", (int)pid);
	if (lstat(path, &stat) != 0 && errno == ENOENT)
		return "it sees no /proc, which its sandbox has to mount (bwrap --proc /proc)";
	if (advice_is_filtered(pid))
		return "a filter of system calls (seccomp) may end it for what the library does; "
		       "if not, WCPROF_SECCOMP=ignore in its environment has it recorded";
	return "it found no place for its socket, or has just changed its rights, or starts just "
	       "now";
}

/* A sentence about a program that no preloaded library can be put into; NULL: it can be. */
static const char *obstacle_of(pid_t pid)
{
	struct executable executable;
	char path[64], word[8];

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	if (procfs_read_file(path, word, sizeof(word)) == 0)
		return "it is a part of the kernel, or about to end";
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (executable_read(&executable, path) != 0)
		return NULL;
	if (!executable.is_elf || !executable.interpreter[0])
		return "it is linked statically, and cannot have a library preloaded";
	if (executable.gains_rights)
		return "its file gives it other rights than its user has (set-user-ID or "
		       "capabilities), so the loader leaves preloaded libraries out";
	return NULL;
}

/* --- Saying it -------------------------------------------------------------------------------- */

/* A word as a shell would take it. */
static void put_word(FILE *stream, const char *word)
{
	static const char *const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					 "0123456789_-+=.,:/@%";

	if (*word && word[strspn(word, plain)] == '\0') {
		fputs(word, stream);
		return;
	}
	putc('\'', stream);
	for (; *word; word++) {
		char one[2] = { *word, '\0' };

		fputs(*word == '\'' ? "'\\''" : one, stream);
	}
	putc('\'', stream);
}

/* The command line; of a process that wrote a title over it, its file and what is to be added. */
static void put_command(FILE *stream, pid_t pid)
{
	char path[64], text[COMMAND_BYTES], file[PATH_BYTES], *words = NULL;
	ssize_t bytes, length;
	size_t size = 0;
	FILE *memory = open_memstream(&words, &size);

	if (!memory)
		return;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	length = readlink(path, file, sizeof(file) - 1);
	file[length > 0 ? length : 0] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	bytes = procfs_read_file(path, text, sizeof(text));
	if (bytes <= 0 || strchr(text, ' ')) {
		put_word(memory, file);
		fputs(" ARGUMENTS...", memory);
	} else {
		for (ssize_t at = 0; at < bytes; at += (ssize_t)strlen(text + at) + 1) {
			fputs(at ? " " : "", memory);
			put_word(memory, text + at);
		}
	}
	fclose(memory);
	fputs(visible(words), stream);
	free(words);
}

static void put_unit(FILE *stream, pid_t pid, const struct advice_unit *unit, const char *library)
{
	const char *user = unit->is_user ? "--user " : "";

	fprintf(stream,
		"it is the service %s of systemd: wcprof attach %d loads it now; wcprof service "
		"%s%s records it, or\n"
		"    systemctl %sedit --runtime %s     # [Service]\n"
		"                                      # Environment=LD_PRELOAD=%s\n"
		"    systemctl %srestart %s\n",
		visible(unit->name), (int)pid, user, visible(unit->name), user, visible(unit->name),
		library, user, visible(unit->name));
}

static void put_container(FILE *stream, pid_t pid, const char *container, const char *library)
{
	char directory[PATH_BYTES];

	snprintf(directory, sizeof(directory), "%s", library);
	*strrchr(directory, '/') = '\0';
	fprintf(stream,
		"it is in the container %s: wcprof attach %d loads it now; or it is to be created "
		"again with\n"
		"    -v %s:%s:ro -e LD_PRELOAD=%s --shm-size=1g\n",
		container, (int)pid, directory, directory, library);
}

/* The user's name, or number. */
static void put_user(FILE *stream, uid_t user)
{
	const struct passwd *entry = getpwuid(user);

	if (entry)
		fputs(visible(entry->pw_name), stream);
	else
		fprintf(stream, "%u", user);
}

/* Another start needs also who starts it, and where. */
static void put_start(FILE *stream, pid_t pid, uid_t user, const char *library)
{
	char path[64], text[PATH_BYTES], directory[PATH_BYTES];
	ssize_t bytes;
	bool is_from_there;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	if (procfs_read_file(path, text, sizeof(text)) <= 0)
		text[0] = '\0';
	is_from_there = text[0] != '/' && strchr(text, '/');
	snprintf(path, sizeof(path), "/proc/%d/cwd", (int)pid);
	bytes = readlink(path, directory, sizeof(directory) - 1);
	directory[bytes > 0 ? bytes : 0] = '\0';
	fprintf(stream, "wcprof attach %d loads it now; or it has to be started again", (int)pid);
	if (user != geteuid()) {
		fputs(" by ", stream);
		put_user(stream, user);
	}
	if (is_from_there && directory[0])
		fprintf(stream, " in %s", visible(directory));
	fprintf(stream, ", with\n    LD_PRELOAD=%s ", visible(library));
	put_command(stream, pid);
	putc('\n', stream);
}

static void put_way(FILE *stream, pid_t pid, uid_t user)
{
	char path[64], cgroups[COMMAND_BYTES], container[CONTAINER_DIGITS + 1], library[PATH_BYTES];
	struct advice_unit unit;

	if (!executable_library(library, sizeof(library)))
		snprintf(library, sizeof(library), "/usr/local/lib/wcprof/libwcprof.so");
	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	if (procfs_read_file(path, cgroups, sizeof(cgroups)) <= 0)
		cgroups[0] = '\0';
	advice_unit_of(cgroups, &unit);
	advice_container_of(cgroups, container, sizeof(container));
	if (container[0])
		put_container(stream, pid, container, library);
	else if (unit.name[0])
		put_unit(stream, pid, &unit, library);
	else
		put_start(stream, pid, user, library);
}

void advice_put(FILE *stream, pid_t pid)
{
	struct procfs_status status;
	const char *obstacle;
	char directory[32];
	uid_t user = geteuid();

	snprintf(directory, sizeof(directory), "/proc/%d", (int)pid);
	(void)procfs_user(directory, &user);
	(void)procfs_read(pid, &status);
	fprintf(stream, "wcprof: %d %s ", (int)pid, visible(status.name));
	if (geteuid() != 0 && user != geteuid()) {
		fputs("belongs to ", stream);
		put_user(stream, user);
		fputs(": only that user and root may ask it\n", stream);
		return;
	}
	if (advice_has_library(pid)) {
		fprintf(stream, "has wcprof loaded, and does not listen: %s\n", silence_of(pid));
		return;
	}
	fputs("does not have wcprof loaded: ", stream);
	obstacle = obstacle_of(pid);
	if (obstacle)
		fprintf(stream, "%s\n", obstacle);
	else
		put_way(stream, pid, user);
}

/* --- Who is meant ----------------------------------------------------------------------------- */

pid_t advice_process(const char *word)
{
	DIR *stream = opendir("/proc");
	const struct dirent *entry;
	uint64_t first_ticks = UINT64_MAX;
	pid_t first = 0;

	while (*word && stream && (entry = readdir(stream))) {
		pid_t pid = (pid_t)atoi(entry->d_name);
		struct procfs_status status;
		char exe[64];

		if (pid <= 0 || !procfs_read(pid, &status) || status.is_zombie)
			continue;
		procfs_executable(pid, exe, sizeof(exe));
		if (strcmp(entry->d_name, word) != 0 && strcmp(status.name, word) != 0 &&
		    strcmp(exe, word) != 0)
			continue;
		/* Of a service the one that starts the others. */
		if (status.start_ticks >= first_ticks)
			continue;
		first_ticks = status.start_ticks;
		first = pid;
	}
	if (stream)
		closedir(stream);
	return first;
}

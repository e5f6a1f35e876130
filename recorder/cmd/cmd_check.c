/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wcprof check: what would keep a program from being recorded here, and what would make a
 * recording poorer.
 *
 * One function per question; each says what it found, as a problem (nothing is recorded), as a
 * warning (less is recorded), or as fine.
 */
#include "cmd.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "arena.h"
#include "clock.h"
#include "executable.h"
#include "filter.h"
#include "libraries.h"
#include "options.h"
#include "procfs.h"
#include "room.h"
#include "visible.h"

enum { DESCRIPTORS_LEAST = 16 };

enum finding { FINDING_FINE, FINDING_WARNING, FINDING_PROBLEM };

static enum finding find(enum finding finding, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static enum finding find(enum finding finding, const char *format, ...)
{
	static const char *const words[] = { "fine   ", "warning", "problem" };
	va_list arguments;

	printf("%s  ", words[finding]);
	va_start(arguments, format);
	visible_vputs(stdout, format, arguments);
	va_end(arguments);
	return finding;
}

static enum finding check_program(const struct executable *executable)
{
	const char *path = executable->path;

	if (!executable->is_elf)
		return find(FINDING_PROBLEM, "%s is neither an ELF program nor a script", path);
	if (!executable->is_x86_64)
		return find(FINDING_PROBLEM,
			    "%s is not an x86-64 program; libwcprof.so is for x86-64 only", path);
	if (!executable->interpreter[0])
		return find(FINDING_PROBLEM, "%s is linked statically: no library can be preloaded",
			    path);
	if (strstr(executable->interpreter, "musl"))
		return find(FINDING_PROBLEM, "%s uses musl, but libwcprof.so needs glibc", path);
	if (executable->gains_rights && geteuid() != 0)
		return find(
			FINDING_PROBLEM,
			"%s is set-user-ID, set-group-ID or has capabilities: the loader ignores "
			"LD_PRELOAD; start it as the user that it switches to",
			path);
	if (executable->is_go)
		return find(FINDING_WARNING,
			    "%s is written in Go, whose locks and I/O do not go through libc: "
			    "little of it is recorded, and no samples are taken",
			    path);
	return find(FINDING_FINE, "%s%s%s is dynamically linked (%s)", path,
		    executable->script[0] ? ", which runs " : "", executable->script,
		    executable->interpreter);
}

static void check_library(void *context, const char *path)
{
	uint32_t calls = libraries_syscalls(path);
	enum finding *worst = context;

	if (calls > 0)
		*worst = find(FINDING_WARNING,
			      "%s makes system calls without libc, at least %" PRIu32
			      ": the time blocked in them is not explained",
			      path, calls);
}

/* Of the program and of what it is linked to; what it loads later shows in a recording. */
static enum finding check_code(const struct executable *executable)
{
	enum finding worst = FINDING_FINE;
	int result;

	if (!executable->is_elf || !executable->interpreter[0])
		return FINDING_FINE;
	check_library(&worst, executable->path);
	result = libraries_list(executable, check_library, &worst);
	if (result != 0)
		return find(FINDING_WARNING, "%s does not tell which libraries %s needs: %s",
			    executable->interpreter, executable->path, strerror(-result));
	return worst == FINDING_FINE ? find(FINDING_FINE, "all its system calls go through libc")
				     : worst;
}

static enum finding check_preloads(void)
{
	char others[256] = "";
	const char *list = getenv("LD_PRELOAD");

	(void)procfs_read_file("/etc/ld.so.preload", others, sizeof(others));
	if (others[strspn(others, " \n")])
		return find(FINDING_WARNING, "/etc/ld.so.preload loads another library first: %.*s",
			    (int)strcspn(others, "\n"), others);
	if (list && *list && !strstr(list, "libwcprof"))
		return find(
			FINDING_WARNING,
			"LD_PRELOAD has another library, whose hooks run after those of wcprof: %s",
			list);
	return find(FINDING_FINE, "no other library is preloaded");
}

/* --- Memory ----------------------------------------------------------------------------------- */

struct room_seen {
	uint64_t wanted_events;
	uint64_t least_events;
	enum room_rule ruling; /* by which there are fewest; ROOM_FREE: all have room */
	enum finding worst;
};

/* A bound that leaves room for all events that are wanted is fine, and its number is not said. */
static void find_bound(void *context, const struct room_bound *bound)
{
	struct room_seen *seen = context;
	uint64_t events = room_events(bound, seen->wanted_events);
	char left[32], limit[32], share[32];

	cmd_format_bytes((double)bound->left_bytes, left, sizeof(left));
	cmd_format_bytes((double)bound->limit_bytes, limit, sizeof(limit));
	cmd_format_bytes((double)bound->share_bytes, share, sizeof(share));
	if (events >= seen->wanted_events) {
		find(FINDING_FINE, "%s: %s of %s are left, of which a recording takes %s at most",
		     room_name(bound->rule), left, limit, share);
		return;
	}
	seen->worst = find(FINDING_WARNING,
			   "%s: %s of %s are left, of which a recording takes %s at most: room "
			   "for %" PRIu64 " events",
			   room_name(bound->rule), left, limit, share, events);
	if (events >= seen->least_events)
		return;
	seen->least_events = events;
	seen->ruling = bound->rule;
}

/* The bounds on a recording that is started here, as the program itself would find them. */
static enum finding check_room(void)
{
	static struct options options;
	static struct cgroups cgroups;
	struct room_seen seen = { .worst = FINDING_FINE };
	struct room_bound addresses;

	options_read(&options, (const char *(*)(const char *))getenv);
	seen.wanted_events = seen.least_events = options.max_events;
	cgroups_find(&cgroups, "memory", "/proc/self/cgroup", "/proc/self/mountinfo");
	room_each(&cgroups, 0, find_bound, &seen);
	addresses = room_for_addresses(&cgroups.lines, false);
	if (addresses.rule != ROOM_FREE)
		find_bound(&seen, &addresses);
	if (seen.ruling == ROOM_FREE)
		return find(FINDING_FINE, "room for all %" PRIu64 " events (WCPROF_MAX_EVENTS)",
			    seen.wanted_events);
	if (seen.least_events == 0)
		return find(FINDING_PROBLEM, "nothing is recorded: the bound is: %s",
			    room_name(seen.ruling));
	return find(FINDING_WARNING,
		    "room for %" PRIu64 " of %" PRIu64
		    " events (WCPROF_MAX_EVENTS) until a dump takes them; the bound is: %s",
		    seen.least_events, seen.wanted_events, room_name(seen.ruling));
}

static enum finding check_memory(void)
{
	if (access(ARENA_DIRECTORY, F_OK) != 0)
		return find(FINDING_WARNING, "there is no " ARENA_DIRECTORY
					     ": recordings are in private memory, and "
					     "lost when a process is killed");
	if (access(ARENA_DIRECTORY, W_OK) != 0)
		return find(FINDING_WARNING, ARENA_DIRECTORY
			    " may not be written to: recordings are in private memory");
	return find(FINDING_FINE, "recordings are in " ARENA_DIRECTORY);
}

static enum finding check_limits(void)
{
	uint64_t bytes = ARENA_CHUNKS + (uint64_t)4194304 / CHUNK_RECORDS * CHUNK_BYTES;
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes)
		return find(FINDING_WARNING,
			    "the size of files is limited (ulimit -f): recordings are in private "
			    "memory");
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < DESCRIPTORS_LEAST)
		return find(
			FINDING_WARNING,
			"few descriptors are allowed (ulimit -n): there may be no control socket");
	return find(FINDING_FINE, "no other resource limit is in the way");
}

static enum finding check_directory(void)
{
	char path[256];
	struct stat stat;

	if (!target_directory(path, sizeof(path)))
		return find(FINDING_PROBLEM,
			    "the name of the directory of control sockets is too long");
	if (lstat(path, &stat) != 0 && errno == ENOENT)
		return find(FINDING_FINE, "control sockets will be in %s", path);
	if (!S_ISDIR(stat.st_mode) || stat.st_uid != geteuid() || (stat.st_mode & 077) != 0)
		return find(
			FINDING_WARNING,
			"%s is not a directory of this user alone: set WCPROF_DIR to one that is "
			"(wcprof record works all the same, it makes its own)",
			path);
	return find(FINDING_FINE, "control sockets are in %s", path);
}

static enum finding check_kernel(void)
{
	unsigned major = 0, minor = 0;
	struct utsname name;

	if (uname(&name) == 0 && sscanf(name.release, "%u.%u", &major, &minor) == 2 &&
	    (major < 5 || (major == 5 && minor < 14)))
		return find(
			FINDING_WARNING,
			"Linux %s is older than 5.14: recordings are in private memory, and lost "
			"when a process is killed",
			name.release);
	return find(FINDING_FINE, "Linux %s has what is needed", name.release);
}

/* The program will have the filter of this command. */
static enum finding check_filter(void)
{
	const char *chosen = getenv("WCPROF_SECCOMP");
	bool is_ignored = chosen && strcmp(chosen, "ignore") == 0;

	if (filter_count("/proc/self/status") < 0)
		return find(is_ignored ? FINDING_WARNING : FINDING_PROBLEM,
			    "/proc does not tell whether there is a system-call filter%s",
			    is_ignored ? "" : " (WCPROF_SECCOMP=ignore if there is none)");
	if (filter_may_kill() && is_ignored)
		return find(FINDING_WARNING,
			    "a system-call filter (seccomp) is in force, which may end the program "
			    "for what the recorder does: WCPROF_SECCOMP=ignore");
	if (filter_may_kill())
		return find(
			FINDING_PROBLEM,
			"a system-call filter (seccomp) is in force, which the first process here "
			"does not have (sandbox, SystemCallFilter=): nothing is recorded, as it "
			"may end the program for what the recorder does (WCPROF_SECCOMP=ignore if "
			"it does not)");
	if (filter_count("/proc/self/status") > 0)
		return find(FINDING_WARNING,
			    "a container's system-call filter (seccomp) is in force, which may "
			    "forbid what the recorder needs");
	return find(FINDING_FINE, "there is no system-call filter");
}

static enum finding check_clock(void)
{
	if (clock_kind != CLOCK_KIND_TSC)
		return find(FINDING_WARNING,
			    "the kernel does not use the CPU's time stamp counter as its "
			    "clock: each event costs more");
	return find(FINDING_FINE, "the kernel's clock is the CPU's time stamp counter");
}

int cmd_check(struct cmd_options *options)
{
	static enum finding (*const checks[])(
		void) = { check_preloads,  check_memory, check_room,   check_limits,
			  check_directory, check_kernel, check_filter, check_clock };
	struct executable executable;
	int result = executable_read(&executable, options->arguments[0]);
	enum finding worst;

	if (result != 0)
		return cmd_fail("%s: %s", options->arguments[0], strerror(-result));
	worst = check_program(&executable);
	if (worst != FINDING_PROBLEM) {
		enum finding finding = check_code(&executable);

		worst = finding > worst ? finding : worst;
	}
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		enum finding finding = checks[i]();

		worst = finding > worst ? finding : worst;
	}
	return worst == FINDING_PROBLEM ? CMD_FAILED : CMD_DONE;
}

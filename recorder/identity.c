/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which process this is. See identity.h. All by raw system calls: also run in a forked child.
 */
#include "identity.h"

#include <assert.h>
#include <sched.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/utsname.h>

#include "deployment.h"
#include "strings.h"
#include "syscalls.h"
#include "text.h"

#include "in_target.h"

#define CPU_0 "/sys/devices/system/cpu/cpu0"

enum { START_FIELD = 22, CLOCK_TICK_NS = 10000000 };

/* Up to size - 1 bytes of a file, ended by a NUL; the number of bytes. */
static size_t read_file(const char *path, char *to, size_t size)
{
	int fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	size_t used = 0;
	long got = 1;

	while (fd >= 0 && used < size - 1 && got > 0) {
		got = sys_read(fd, to + used, size - 1 - used);
		used += got > 0 ? (size_t)got : 0;
	}
	if (fd >= 0)
		sys_close(fd);
	to[used] = '\0';
	return used;
}

uint64_t identity_start_ticks(void)
{
	char stat[1024];
	const char *at;
	uint64_t ticks = 0;

	read_file("/proc/self/stat", stat, sizeof(stat));
	/* The second field is a name that may contain anything, also parentheses and spaces. */
	at = strrchr(stat, ')');
	for (int field = 2; at && field < START_FIELD; field++)
		at = strchr(at + 1, ' ');
	if (at)
		(void)text_parse_u64(at + 1, strspn(at + 1, "0123456789"), &ticks);
	return ticks;
}

static uint64_t namespace_of(const char *path)
{
	struct stat stat;

	return SYS3(stat, path, &stat, 0) == 0 ? stat.st_ino : 0;
}

uint64_t identity_pid_namespace(void)
{
	return namespace_of("/proc/self/ns/pid");
}

/* The next number of a text, behind spaces; *at goes on behind it. */
static int64_t take_number(const char **at)
{
	uint64_t number = 0;
	bool is_negative;
	size_t digits;

	*at += strspn(*at, " \t");
	is_negative = **at == '-';
	*at += is_negative;
	digits = strspn(*at, "0123456789");
	(void)text_parse_u64(*at, digits, &number);
	*at += digits;
	return is_negative ? -(int64_t)number : (int64_t)number;
}

int64_t identity_mono_offset_ns(const char *offsets)
{
	static const char name[] = "monotonic";
	const char *at = strstr(offsets, name);
	int64_t seconds;

	if (!at)
		return 0;
	at += sizeof(name) - 1;
	seconds = take_number(&at);
	return seconds * 1000000000 + take_number(&at);
}

static void fill_namespaces(struct arena *arena)
{
	char offsets[128];

	arena->pid_namespace = identity_pid_namespace();
	arena->network_namespace = namespace_of("/proc/self/ns/net");
	read_file("/proc/self/timens_offsets", offsets, sizeof(offsets));
	arena->mono_offset_ns = identity_mono_offset_ns(offsets);
}

static void fill_cpus(struct arena *arena)
{
	uint64_t mask[128] = { 0 };
	long bytes = SYS3(sched_getaffinity, 0, sizeof(mask), mask);

	for (long i = 0; i < bytes / 8; i++)
		arena->cpus += (uint32_t)__builtin_popcountll(mask[i]);
	memcpy(arena->cpu_mask, mask, sizeof(arena->cpu_mask));
}

uint32_t identity_list_count(const char *list)
{
	uint32_t count = 0;

	while (*list >= '0' && *list <= '9') {
		int64_t first = take_number(&list), last = first;

		if (*list == '-') {
			list++;
			last = take_number(&list);
		}
		if (last >= first && last - first < UINT16_MAX)
			count += (uint32_t)(last - first + 1);
		list += *list == ',';
	}
	return count;
}

/* A kernel that describes its CPUs, but no cache of them, takes each for one by itself. */
static void fill_cache(struct arena *arena)
{
	char list[1024];
	struct stat stat;

	if (read_file(CPU_0 "/cache/index3/shared_cpu_list", list, sizeof(list)) ||
	    read_file(CPU_0 "/cache/index2/shared_cpu_list", list, sizeof(list)))
		arena->cache_cpus = identity_list_count(list);
	else if (SYS3(stat, CPU_0 "/topology", &stat, 0) == 0)
		arena->cache_cpus = 1;
}

/* The coarse clocks go on at each tick of the timer. */
static void fill_tick(struct arena *arena)
{
	struct timespec tick;

	if (SYS3(clock_getres, CLOCK_MONOTONIC_COARSE, &tick, 0) == 0 && tick.tv_sec == 0)
		arena->tick_ns = (uint64_t)tick.tv_nsec;
}

static void fill_host(struct arena *arena)
{
	struct utsname name;

	if (SYS3(uname, &name, 0, 0) == 0)
		memcpy(arena->host, name.nodename, strnlen(name.nodename, sizeof(name.nodename)));
	read_file("/proc/sys/kernel/random/boot_id", arena->boot_id, 37);
}

static void fill_process(struct arena *arena)
{
	long bytes = sys_readlink("/proc/self/exe", arena->exe, sizeof(arena->exe) - 1);

	arena->exe[bytes > 0 ? bytes : 0] = '\0';
	arena->argv_bytes =
		(uint32_t)read_file("/proc/self/cmdline", arena->argv, sizeof(arena->argv));
	arena->ppid = (uint32_t)sys_getppid();
	fill_namespaces(arena);
	deployment_begin(arena);
	fill_cpus(arena);
	fill_cache(arena);
	fill_tick(arena);
	arena->start_unix_ns = recorder_clock_ns(CLOCK_REALTIME) -
			       recorder_clock_ns(CLOCK_BOOTTIME) +
			       arena->start_ticks * CLOCK_TICK_NS;
}

/* The name that the program was started by: a link may say more than the file's own name. */
static const char *program_name(const struct arena *arena)
{
	const char *started_as = (const char *)getauxval(AT_EXECFN);
	const char *path = started_as && *started_as ? started_as : arena->exe;
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void fill_strings(struct arena *arena, const char *call_names, uint32_t call_count)
{
	const char *program = program_name(arena);
	char client[48];
	struct text text = { .bytes = client, .size = sizeof(client) };

	/* First of all: their ids are fixed. */
	for (uint32_t i = 0; i < call_count; i++) {
		size_t bytes = strlen(call_names);

		(void)strings_append(arena, call_names, bytes);
		call_names += bytes + 1;
	}
	assert(strings_count(arena) == call_count);
	arena->call_count = call_count;
	text_put_u64(&text, arena->pid);
	text_put_literal(&text, ":");
	text_put_u64(&text, arena->start_ticks);
	arena->client = strings_intern(arena, client, text.used);
	arena->exe_name = strings_intern(arena, program, strlen(program));
	arena->thread_class = strings_intern(arena, "thread", 6);
}

void identity_fill(struct arena *arena, const char *call_names, uint32_t call_count)
{
	fill_host(arena);
	fill_process(arena);
	fill_strings(arena, call_names, call_count);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads as /proc shows them. See tasks.h.
 */
#include "tasks.h"

#include <assert.h>
#include <string.h>
#include <sys/uio.h>

#include "syscalls.h"
#include "text.h"

#include "in_target.h"

/* Of status the masks of CPUs and memory are long on large machines. */
enum { PATH_BYTES = 64, STAT_BYTES = 1024, STATUS_BYTES = 8192 };

/* "/proc/PID/task", or of one thread "/proc/PID/task/TID/FILE"; "self" is right in every pid
 * name space. */
static const char *task_path(char path[PATH_BYTES], uint32_t pid, uint32_t tid, const char *file)
{
	struct text text = { .bytes = path, .size = PATH_BYTES };

	text_put_literal(&text, "/proc/");
	if (pid == (uint32_t)sys_getpid())
		text_put_literal(&text, "self");
	else
		text_put_u64(&text, pid);
	text_put_literal(&text, "/task");
	if (file) {
		text_put_literal(&text, "/");
		text_put_u64(&text, tid);
		text_put_literal(&text, "/");
		text_put(&text, file);
	}
	(void)text_end(&text);
	assert(!text.overflowed);
	return path;
}

/* Ended by a NUL; false: there is nothing. */
static bool read_task(uint32_t pid, uint32_t tid, const char *file, char *to, size_t size)
{
	char path[PATH_BYTES];
	int fd = sys_open(task_path(path, pid, tid, file), O_RDONLY | O_CLOEXEC, 0);
	long got = fd >= 0 ? sys_read(fd, to, size - 1) : 0;

	if (fd >= 0)
		sys_close(fd);
	to[got > 0 ? got : 0] = '\0';
	return got > 0;
}

bool tasks_see(uint32_t pid, void (*see)(uint32_t tid, void *context), void *context)
{
	_Alignas(struct directory_entry) char names[4096];
	char path[PATH_BYTES];
	int fd = sys_open(task_path(path, pid, 0, NULL), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	uint64_t tid;
	long got;

	if (fd < 0)
		return false;
	while ((got = sys_getdents(fd, names, sizeof(names))) > 0) {
		const struct directory_entry *entry;

		for (long at = 0; at < got; at += entry->bytes) {
			entry = (const struct directory_entry *)(names + at);
			if (text_parse_u64(entry->name, strlen(entry->name), &tid))
				see((uint32_t)tid, context);
		}
	}
	sys_close(fd);
	return true;
}

bool task_name(uint32_t pid, uint32_t tid, char name[TASK_NAME_BYTES])
{
	char line[TASK_NAME_BYTES + 2];
	bool is_there = read_task(pid, tid, "comm", line, sizeof(line));
	size_t length = strcspn(line, "\n");

	if (length >= TASK_NAME_BYTES)
		length = TASK_NAME_BYTES - 1;
	memset(name, 0, TASK_NAME_BYTES);
	memcpy(name, line, length);
	return is_there;
}

/* A field of stat, from the third on; the second is a name that may contain anything. NULL: it
 * has ended. */
static const char *stat_field(uint32_t pid, uint32_t tid, int field, char stat[STAT_BYTES])
{
	const char *at = NULL;

	if (read_task(pid, tid, "stat", stat, STAT_BYTES))
		at = strrchr(stat, ')');
	for (int i = 2; at && i < field; i++)
		at = strchr(at + 1, ' ');
	return at ? at + 1 : NULL;
}

char task_state(uint32_t pid, uint32_t tid)
{
	char stat[STAT_BYTES];
	const char *state = stat_field(pid, tid, 3, stat);

	return state && *state ? *state : '?';
}

bool task_blocks_signal(uint32_t pid, uint32_t tid, int number)
{
	enum { FIELD_BLOCKED = 32 };
	char stat[STAT_BYTES];
	const char *at = stat_field(pid, tid, FIELD_BLOCKED, stat);
	uint64_t blocked = 0;

	assert(number > 0 && number < 32);
	if (at)
		(void)text_parse_u64(at, strspn(at, "0123456789"), &blocked);
	return blocked >> (number - 1) & 1;
}

static uint64_t status_number(const char *status, const char *key)
{
	const char *at = strstr(status, key);
	uint64_t number = 0;

	if (at)
		(void)text_parse_u64(at + strlen(key), strspn(at + strlen(key), "0123456789"),
				     &number);
	return number;
}

uint64_t task_switches(uint32_t pid, uint32_t tid)
{
	char status[STATUS_BYTES];

	if (!read_task(pid, tid, "status", status, sizeof(status)))
		return 0;
	return status_number(status, "\nvoluntary_ctxt_switches:\t") +
	       status_number(status, "\nnonvoluntary_ctxt_switches:\t");
}

uint64_t task_ran_ns(uint32_t pid, uint32_t tid)
{
	char line[256];
	uint64_t ran_ns = 0;

	if (read_task(pid, tid, "schedstat", line, sizeof(line)))
		(void)text_parse_u64(line, strspn(line, "0123456789"), &ran_ns);
	return ran_ns;
}

static bool parse_hex(const char **at, uint64_t *value)
{
	static const char digits[] = "0123456789abcdef";
	const char *digit;

	*value = 0;
	if (strncmp(*at, " 0x", 3) != 0)
		return false;
	for (*at += 3; **at && (digit = strchr(digits, **at)); (*at)++)
		*value = *value << 4 | (uint64_t)(digit - digits);
	return true;
}

/* A sleep that goes on after a stop is another call, with the same arguments. The code before it
 * still has the number of the first one. */
static int32_t call_that_goes_on(uint32_t pid, uint64_t pc)
{
	enum { MOV_EAX = 0xb8, CODE_BYTES = 7 };
	uint8_t code[CODE_BYTES]; /* mov $number, %eax; syscall */
	int32_t number;

	if (task_read_memory(pid, pc - CODE_BYTES, code, sizeof(code)) != sizeof(code) ||
	    code[0] != MOV_EAX || code[5] != 0x0f || code[6] != 0x05)
		return SYS_restart_syscall;
	memcpy(&number, code + 1, sizeof(number));
	return number;
}

/* "NUMBER 0xARGUMENT... 0xSP 0xPC"; "running"; "-1 0xSP 0xPC" outside a call. */
bool task_read_call(uint32_t pid, uint32_t tid, struct task_call *call)
{
	char line[256];
	const char *at = line;
	size_t digits;
	uint64_t number;

	if (!read_task(pid, tid, "syscall", line, sizeof(line)))
		return false;
	digits = strspn(line, "0123456789");
	if (!text_parse_u64(line, digits, &number) || number > INT32_MAX)
		return false;
	call->number = (int32_t)number;
	at += digits;
	for (int i = 0; i < 6; i++)
		if (!parse_hex(&at, &call->arguments[i]))
			return false;
	if (!parse_hex(&at, &call->sp) || !parse_hex(&at, &call->pc))
		return false;
	if (call->number == SYS_restart_syscall)
		call->number = call_that_goes_on(pid, call->pc);
	return true;
}

size_t task_read_memory(uint32_t pid, uint64_t address, void *to, size_t bytes)
{
	struct iovec here = { to, bytes };
	struct iovec there = { (void *)(uintptr_t)address, bytes };
	long got = sys_call(SYS_process_vm_readv, (long)pid, (long)&here, 1, (long)&there, 1, 0);

	return got > 0 ? (size_t)got : 0;
}

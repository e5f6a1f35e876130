/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why the library cannot be loaded into a process that runs. See attach.h.
 *
 * Facts are what /proc tells; nothing is touched. One thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "advice.h"
#include "attach.h"
#include "attach_symbols.h"
#include "executable.h"
#include "procfs.h"

enum { STATUS_BYTES = 8192 };

static bool refuse(char error[ATTACH_ERROR_BYTES], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static bool refuse(char error[ATTACH_ERROR_BYTES], const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(error, ATTACH_ERROR_BYTES, format, arguments);
	va_end(arguments);
	return false;
}

static bool refuse_rights(pid_t pid, char error[ATTACH_ERROR_BYTES])
{
	char directory[32], scope[8] = "";
	uid_t user = geteuid();

	snprintf(directory, sizeof(directory), "/proc/%d", (int)pid);
	(void)procfs_user(directory, &user);
	(void)procfs_read_file("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof(scope));
	if (geteuid() != 0 && user != geteuid())
		return refuse(error, "it is not this user's (sudo wcprof attach %d)", (int)pid);
	if (scope[0] == '3')
		return refuse(error, "this system lets nobody trace: "
				     "/proc/sys/kernel/yama/ptrace_scope is 3 until a restart");
	if (scope[0] >= '1')
		return refuse(error,
			      "this system lets only %s trace: "
			      "/proc/sys/kernel/yama/ptrace_scope is %c (sudo wcprof attach %d)",
			      scope[0] == '1' ? "parents" : "root", scope[0], (int)pid);
	return refuse(error, "it may not be traced: it has forbidden that (PR_SET_DUMPABLE), or "
			     "this container has not CAP_SYS_PTRACE");
}

/* Opening its memory asks the kernel what tracing would, and does nothing to it. */
static bool may_trace(pid_t pid, char error[ATTACH_ERROR_BYTES])
{
	char path[64];
	int memory;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (access(path, F_OK) != 0 && errno == ENOENT)
		return refuse(error, "it is a part of the kernel, or has just ended");
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	memory = open(path, O_RDWR | O_CLOEXEC);
	if (memory < 0)
		return refuse_rights(pid, error);
	close(memory);
	return true;
}

static bool fits_program(pid_t pid, char error[ATTACH_ERROR_BYTES])
{
	struct executable executable;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (executable_read(&executable, path) != 0)
		return refuse(error, "its program cannot be read");
	if (!executable.is_elf || !executable.is_x86_64)
		return refuse(error, "it is built for another CPU or word size than x86-64");
	if (!executable.interpreter[0])
		return refuse(error, "it is linked statically: it has no loader for a library");
	if (!strstr(executable.interpreter, "ld-linux-x86-64"))
		return refuse(error, "it uses another libc than glibc: its loader is %s",
			      executable.interpreter);
	if (executable.gains_rights)
		return refuse(error,
			      "its file gives it other rights than its user has (set-user-ID "
			      "or capabilities)");
	return true;
}

/* The number of a line of the status; 0: there is no such line. */
static unsigned long number_of(const char *status, const char *name, int base)
{
	const char *line = strstr(status, name);

	return line ? strtoul(line + strlen(name), NULL, base) : 0;
}

/* As a child of vfork() does until it executes a program. Calls are to find the process that has
 * the memory, which is another one. */
static bool has_memory_of(pid_t pid, pid_t other)
{
	return other > 0 && syscall(SYS_kcmp, pid, other, KCMP_VM, 0, 0) == 0;
}

static bool fits_state(pid_t pid, char error[ATTACH_ERROR_BYTES])
{
	char path[64], status[STATUS_BYTES];
	struct procfs_status process;
	const char *features;
	unsigned long tracer;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (!procfs_read(pid, &process) || process.is_zombie ||
	    procfs_read_file(path, status, sizeof(status)) <= 0)
		return refuse(error, "it has ended");
	tracer = number_of(status, "\nTracerPid:", 10);
	if (tracer != 0)
		return refuse(error, "process %lu traces it (a debugger, or strace)", tracer);
	if (has_memory_of(pid, (pid_t)number_of(status, "\nPPid:", 10)))
		return refuse(error, "it has its parent's memory, as a child of vfork() has until "
				     "it executes a program");
	if (process.is_stopped)
		return refuse(error, "it is stopped (kill -CONT %d)", (int)pid);
	features = strstr(status, "\nx86_Thread_features:");
	if (features && memmem(features + 1, strcspn(features + 1, "\n"), "shstk", 5))
		return refuse(error, "it has a shadow stack, on which no call can be put");
	if (advice_is_filtered(pid))
		return refuse(error,
			      "it has a filter of system calls (seccomp), which may end it for "
			      "what the library does");
	return true;
}

static bool exports_check(pid_t pid, int memory, const char *file)
{
	struct attach_symbols symbols;
	bool does;

	if (attach_symbols_read(&symbols, pid, memory, file) != 0)
		return false;
	does = attach_symbols_address(&symbols, "__lsan_do_leak_check") != 0;
	attach_symbols_free(&symbols);
	return does;
}

static bool has_check(pid_t pid)
{
	static const char *const runtimes[] = { "libasan.", "liblsan.", "libclang_rt.asan" };
	char path[64], program[256];
	bool has = false;
	int memory;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	memory = open(path, O_RDONLY | O_CLOEXEC);
	if (memory < 0)
		return false;
	for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++)
		has = has || exports_check(pid, memory, runtimes[i]);
	procfs_executable(pid, program, sizeof(program));
	has = has || (program[0] && exports_check(pid, memory, program));
	close(memory);
	return has;
}

static bool turns_off(const char *line, const char *word)
{
	return (strncmp(line, "ASAN_OPTIONS=", 13) == 0 ||
		strncmp(line, "LSAN_OPTIONS=", 13) == 0) &&
	       strstr(line, word);
}

/* A sanitizer's check traces all threads. If it cannot, the program ends with an error. */
bool attach_may_exit(pid_t pid, char error[ATTACH_ERROR_BYTES])
{
	if (!has_check(pid) || procfs_any_line(pid, "environ", '\0', turns_off, "detect_leaks=0"))
		return true;
	return refuse(error, "it looks for leaks as it exits (LeakSanitizer), which fails while it "
			     "is traced; not with ASAN_OPTIONS=detect_leaks=0 in its environment");
}

bool attach_is_possible(pid_t pid, char error[ATTACH_ERROR_BYTES])
{
	return may_trace(pid, error) && fits_program(pid, error) && fits_state(pid, error) &&
	       attach_may_exit(pid, error);
}

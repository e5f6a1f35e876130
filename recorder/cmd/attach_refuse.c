/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why the library cannot be loaded into a process that runs. See attach.h.
 *
 * Facts are what /proc tells; nothing is touched. One thread.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "advice.h"
#include "attach.h"
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

static bool fits_program(pid_t pid, char error[ATTACH_ERROR_BYTES])
{
	struct executable executable;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (access(path, R_OK) != 0)
		return refuse(error, "it is a part of the kernel, or not this user's");
	if (executable_read(&executable, path) != 0)
		return refuse(error, "its program cannot be read");
	if (!executable.is_elf || !executable.is_x86_64)
		return refuse(error, "it is built for another CPU or word size than x86-64");
	if (!executable.interpreter[0])
		return refuse(error, "it is linked statically: it has no loader for a library");
	if (strstr(executable.interpreter, "musl"))
		return refuse(error, "it uses musl instead of glibc");
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

bool attach_is_possible(pid_t pid, char error[ATTACH_ERROR_BYTES])
{
	return fits_program(pid, error) && fits_state(pid, error);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ends of this process image: exec in its eight forms, _exit, abort. The recorded events are
 * handed over first, whether recording is on at the moment or not. exit() and quick_exit() are
 * heard of in lifecycle.c.
 *
 * In a vfork child, which runs in its parent's memory, nothing is done but the real call. The forms
 * with a list of arguments count it and lay it out on the stack, as libc does: no allocation. A
 * call that fails returns, and recording goes on. It also goes on if a handler of the program's
 * jumps out of abort().
 */
#include <alloca.h>
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

#include "hooks.h"

/* As libc does: the execs that take no environment pass on the process's own. */

int hook_execve(const char *path, char *const argv[], char *const envp[])
{
	recorder_image_is_replaced(&(struct program_start){ path, AT_FDCWD, false, envp, false });
	return real.execve(path, argv, envp);
}

int hook_execv(const char *path, char *const argv[])
{
	recorder_image_is_replaced(
		&(struct program_start){ path, AT_FDCWD, false, environ, false });
	return real.execv(path, argv);
}

int hook_execvp(const char *file, char *const argv[])
{
	recorder_image_is_replaced(&(struct program_start){ file, AT_FDCWD, true, environ, false });
	return real.execvp(file, argv);
}

int hook_execvpe(const char *file, char *const argv[], char *const envp[])
{
	recorder_image_is_replaced(&(struct program_start){ file, AT_FDCWD, true, envp, false });
	return real.execvpe(file, argv, envp);
}

int hook_fexecve(int fd, char *const argv[], char *const envp[])
{
	recorder_image_is_replaced(&(struct program_start){ NULL, fd, false, envp, false });
	return real.fexecve(fd, argv, envp);
}

int hook_execveat(int at, const char *path, char *const argv[], char *const envp[], int flags)
{
	bool may_be_empty = (flags & AT_EMPTY_PATH) != 0;
	recorder_image_is_replaced(&(struct program_start){ path, at, false, envp, may_be_empty });
	return real.execveat(at, path, argv, envp, flags);
}

#define EXPORT __attribute__((visibility("default")))

EXPORT int wcprof_export_execl(const char *, const char *, ...) __asm__("execl");
OWN_NAME(execl, "execl")
EXPORT int wcprof_export_execlp(const char *, const char *, ...) __asm__("execlp");
OWN_NAME(execlp, "execlp")
EXPORT int wcprof_export_execle(const char *, const char *, ...) __asm__("execle");
OWN_NAME(execle, "execle")

/* Arguments up to and with the NULL that ends them. */
static size_t list_length(const char *argument, va_list list)
{
	size_t length = 1;
	for (; argument; argument = va_arg(list, const char *))
		length++;
	return length;
}

static void list_lay_out(const char **argv, const char *argument, va_list list)
{
	for (; argument; argument = va_arg(list, const char *))
		*argv++ = argument;
	*argv = NULL;
}

static void begin_exec(const char *path, bool is_searched, char *const envp[])
{
	hooks_resolve_once();
	recorder_image_is_replaced(
		&(struct program_start){ path, AT_FDCWD, is_searched, envp, false });
}

int wcprof_export_execl(const char *path, const char *argument, ...)
{
	va_list list;
	va_start(list, argument);
	const char **argv = alloca(list_length(argument, list) * sizeof(char *));
	va_end(list);
	va_start(list, argument);
	list_lay_out(argv, argument, list);
	va_end(list);
	begin_exec(path, false, environ);
	return real.execv(path, (char *const *)argv);
}

int wcprof_export_execlp(const char *file, const char *argument, ...)
{
	va_list list;
	va_start(list, argument);
	const char **argv = alloca(list_length(argument, list) * sizeof(char *));
	va_end(list);
	va_start(list, argument);
	list_lay_out(argv, argument, list);
	va_end(list);
	begin_exec(file, true, environ);
	return real.execvp(file, (char *const *)argv);
}

int wcprof_export_execle(const char *path, const char *argument, ...)
{
	va_list list;
	va_start(list, argument);
	const char **argv = alloca(list_length(argument, list) * sizeof(char *));
	va_end(list);
	va_start(list, argument);
	list_lay_out(argv, argument, list);
	char *const *envp = va_arg(list, char *const *);
	va_end(list);
	begin_exec(path, false, envp);
	return real.execve(path, (char *const *)argv, envp);
}

void hook__exit(int status)
{
	recorder_image_ends(END_EXIT);
	real._exit(status);
}

void hook__Exit(int status)
{
	recorder_image_ends(END_EXIT);
	real._Exit(status);
}

/* It ends the process for sure, unless a handler jumps. */
void hook_abort(void)
{
	struct sigaction action = { .sa_handler = SIG_DFL };
	(void)real.sigaction(SIGABRT, NULL, &action);
	bool is_sure = action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN;
	recorder_image_ends(is_sure ? END_EXIT : END_PERHAPS);
	real.abort();
}

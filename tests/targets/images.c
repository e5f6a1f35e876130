/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: each image of this process leaves its recording, however it ends.
 */
#include "scenario.h"

#include <fcntl.h>
#include <signal.h>

extern char **environ;

static void say_and_flush(const char *text)
{
	puts(text);
	fflush(stdout);
	close(-1);
}

static void form_execl(void)
{
	say_and_flush("first image");
	execl("/proc/self/exe", "images", "last", (char *)NULL);
}

static void form_execlp(void)
{
	say_and_flush("first image");
	execlp("sh", "sh", "-c", "echo a b c; exit $#", "0", "1", "2", "3", (char *)NULL);
}

static void form_execle(void)
{
	char *only[] = { (char *)"ONLY=this", NULL };
	say_and_flush("first image");
	execle("/usr/bin/env", "env", (char *)NULL, only);
}

static char *last[] = { (char *)"images", (char *)"last", NULL };

static void form_execv(void)
{
	say_and_flush("first image");
	execv("/proc/self/exe", last);
}

static void form_execve(void)
{
	say_and_flush("first image");
	execve("/proc/self/exe", last, environ);
}

static void form_execvp(void)
{
	say_and_flush("first image");
	execvp("/proc/self/exe", last);
}

static void form_execvpe(void)
{
	say_and_flush("first image");
	execvpe("/proc/self/exe", last, environ);
}

static void form_fexecve(void)
{
	say_and_flush("first image");
	fexecve(open("/proc/self/exe", O_RDONLY | O_CLOEXEC), last, environ);
}

static void form_execveat(void)
{
	say_and_flush("first image");
	execveat(AT_FDCWD, "/proc/self/exe", last, environ, 0);
}

/* The flag allows an empty path, which need not be one. */
static void form_execveat_path(void)
{
	say_and_flush("first image");
	execveat(AT_FDCWD, "/proc/self/exe", last, environ, AT_EMPTY_PATH);
}

static void form_execveat_empty(void)
{
	say_and_flush("first image");
	execveat(open("/proc/self/exe", O_RDONLY | O_CLOEXEC), "", last, environ, AT_EMPTY_PATH);
}

/* One that fails returns, and the image goes on. */
static void failing(void)
{
	say_and_flush("before");
	say_errno("execl", execl("/nonexistent", "a", "b", "c", "d", "e", "f", "g", (char *)NULL));
	say_errno("execvp", execvp("no-such-program", last));
	say_and_flush("after");
}

/* As a shell looks for a program in all places; and then it is killed. */
static void searching(void)
{
	for (int i = 0; i < 5; i++) {
		close(-1);
		execve("/nonexistent/program", last, environ);
		close(-1);
		execve("/", last, environ);
		execlp("no-such-program", "a", (char *)NULL);
	}
	raise(SIGKILL);
}

static void last_image(void)
{
	say_and_flush("last image");
}

static void by_exit(void)
{
	say_and_flush("exit");
	exit(3);
}

static void by_underscore_exit(void)
{
	say_and_flush("_exit");
	_exit(4);
}

static void by_c99_exit(void)
{
	say_and_flush("_Exit");
	_Exit(5);
}

static void on_quick_exit(void)
{
	say_and_flush("handler");
}

static void by_quick_exit(void)
{
	at_quick_exit(on_quick_exit);
	say_and_flush("quick_exit");
	quick_exit(6);
}

static void on_abort(int number)
{
	printf("signal %d\n", number);
	fflush(stdout);
	_exit(7);
}

static void by_abort(void)
{
	signal(SIGABRT, on_abort);
	say_and_flush("abort");
	abort();
}

static const struct scenario scenarios[] = {
	{ "execl", form_execl },
	{ "execlp", form_execlp },
	{ "execle", form_execle },
	{ "execv", form_execv },
	{ "execve", form_execve },
	{ "execvp", form_execvp },
	{ "execvpe", form_execvpe },
	{ "fexecve", form_fexecve },
	{ "execveat", form_execveat },
	{ "failing", failing },
	{ "searching", searching },
	{ "last", last_image },
	{ "exit", by_exit },
	{ "_exit", by_underscore_exit },
	{ "_Exit", by_c99_exit },
	{ "quick_exit", by_quick_exit },
	{ "abort", by_abort },
	{ "execveat_path", form_execveat_path },
	{ "execveat_empty", form_execveat_empty },
};

SCENARIOS_MAIN

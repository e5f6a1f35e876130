/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs one of glibc's own tests in a child, with a limit of time, and judges how it ended.
 * TEST_FUNCTION and others are names of functions, or, where SHIM_LEGACY, expressions.
 */
#include "shim.h"

#include <getopt.h>

#ifndef TIMEOUT
#define TIMEOUT DEFAULT_TIMEOUT
#endif
/* The machine may be busy. */
#define SHIM_PATIENCE 4
#ifndef EXPECTED_STATUS
#define EXPECTED_STATUS 0
#endif
#ifndef EXPECTED_SIGNAL
#define EXPECTED_SIGNAL 0
#endif

int *shim_failures;
const char *test_dir = ".";
unsigned int test_verbose;
static pid_t shim_child;

static int shim_call(int argc, char **argv)
{
	(void)argc;
	(void)argv;
#ifdef TEST_FUNCTION_ARGV
	return TEST_FUNCTION_ARGV(argc, argv);
#elif defined TEST_FUNCTION && defined SHIM_LEGACY
	return TEST_FUNCTION;
#elif defined TEST_FUNCTION
	return TEST_FUNCTION();
#else
	return do_test();
#endif
}

static int shim_test(int argc, char **argv)
{
	int status = shim_call(argc, argv);
	return status == 0 && *shim_failures > 0 ? 1 : status;
}

static void shim_prepare(int argc, char **argv)
{
	(void)argc;
	(void)argv;
#ifdef PREPARE
	PREPARE(argc, argv);
#endif
}

static void shim_clean_up(void)
{
#if defined CLEANUP_HANDLER && defined SHIM_LEGACY
	CLEANUP_HANDLER;
#elif defined CLEANUP_HANDLER
	CLEANUP_HANDLER();
#endif
}

static void shim_option(int option)
{
	(void)option;
#if defined CMDLINE_PROCESS && defined SHIM_LEGACY
	switch (option) {
		CMDLINE_PROCESS
	}
#elif defined CMDLINE_PROCESS
	CMDLINE_PROCESS(option);
#endif
}

static void shim_end_child(int number)
{
	(void)number;
	kill(shim_child, SIGKILL);
}

/* Whether it is run in this process. */
static bool shim_read_options(int argc, char **argv)
{
	static const struct option options[] = {
#ifdef CMDLINE_OPTIONS
		CMDLINE_OPTIONS
#endif
		{ "direct", no_argument, NULL, 1001 },
		{ NULL, 0, NULL, 0 },
	};
	bool is_direct = false;
	for (int option; (option = getopt_long(argc, argv, "+", options, NULL)) != -1;) {
		if (option == 1001)
			is_direct = true;
		else
			shim_option(option);
	}
	return is_direct;
}

static int shim_judge(int status)
{
	if (WIFSIGNALED(status) && WTERMSIG(status) == EXPECTED_SIGNAL)
		return 0;
	if (WIFSIGNALED(status))
		return 128 + WTERMSIG(status);
	if (WEXITSTATUS(status) == EXIT_UNSUPPORTED)
		return EXIT_UNSUPPORTED;
	if (WEXITSTATUS(status) == EXPECTED_STATUS && EXPECTED_SIGNAL == 0)
		return *shim_failures > 0;
	return WEXITSTATUS(status) ?: 1;
}

int main(int argc, char **argv)
{
	shim_failures = support_shared_allocate(sizeof(*shim_failures));
	setvbuf(stdout, NULL, _IONBF, 0);
	bool is_direct = shim_read_options(argc, argv);
	argv[optind - 1] = argv[0];
	argv += optind - 1;
	argc -= optind - 1;
	shim_prepare(argc, argv);
	if (is_direct)
		return shim_test(argc, argv);
	shim_child = xfork();
	if (shim_child == 0) {
		setpgid(0, 0);
		exit(shim_test(argc, argv));
	}
	int status;
	xsignal(SIGALRM, shim_end_child);
	alarm(TIMEOUT * SHIM_PATIENCE);
	while (waitpid(shim_child, &status, 0) < 0)
		if (errno != EINTR)
			FAIL_EXIT1("waitpid: %s", strerror(errno));
	kill(-shim_child, SIGKILL);
	shim_clean_up();
	return shim_judge(status);
}

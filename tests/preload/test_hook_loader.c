/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: unloading a library does not work as alone, or recording wants the loader's
 * lock. Or exceptions of a C++ plug-in that is loaded late end in the wrong unwinder.
 */
#include "target.h"
#include "suite.h"

static const struct target_case cases[] = {
	/* 0 */ { "lives", "unload", { { "op", "io", "close", 54, 54 } } },
	/* 1 */
	{ "lives",
	  "plugin",
	  { { "op", "thread", "thread", 7, 7 },
	    { "op", "io", "write", 4, 4 },
	    { "op", "poll", "poll", 1, 1 },
	    { "op", "poll", "pause", 1, 1 },
	    { "op", "sleep", "sleep", 1, 1 },
	    { "wait", "sem", "sem_wait", 1, 1 } } },
	/* 2 */
	{ "lives",
	  "plugin",
	  { { "op", "thread", "thread", 3, 3 }, { "wait", "sem", "sem_wait", 2, 2 } } },
	/* 3 */ { "lives", "in_the_loader", { { "op", "sleep", "usleep", 1, 1 } } },
};

static const char *compiler_of(const char *variable, const char *usual)
{
	const char *said = getenv(variable);
	return said ? said : usual;
}

/* The case, with a plug-in that this command makes. */
static void run_with_plugin(const struct target_case *row, const char *compiler, const char *source)
{
	struct dumps dumps;
	char directory[64], path[128], command[2 * PATH_MAX];

	make_directory(directory);
	snprintf(path, sizeof(path), "%s/plugin.so", directory);
	snprintf(command, sizeof(command),
		 "%s -D_GNU_SOURCE -shared -fPIC -o %s tests/preload/%s -pthread", compiler, path,
		 source);
	ck_assert_int_eq(system(command), 0);
	setenv("PLUGIN", path, 1);
	run_case(row, &dumps);
	free_dumps(&dumps);
	unlink(path);
	rmdir(directory);
}

START_TEST(test_unload)
{
	struct dumps dumps;
	run_case(&cases[0], &dumps);
	free_dumps(&dumps);
}
END_TEST

/* Nothing of ours may want the loader's lock while somebody waits. */
START_TEST(test_the_loaders_lock)
{
	struct dumps dumps;
	run_case(&cases[3], &dumps);
	free_dumps(&dumps);
}
END_TEST

START_TEST(test_a_constructor_that_starts_a_thread)
{
	run_with_plugin(&cases[2], compiler_of("CC", "gcc"), "starter.c");
}
END_TEST

START_TEST(test_exceptions_of_a_plugin)
{
	run_with_plugin(&cases[1], compiler_of("CXX", "g++"), "plugin.cc");
}
END_TEST

SUITE()
{
	TEST(test_unload);
	TEST(test_the_loaders_lock);
	TEST(test_a_constructor_that_starts_a_thread);
	TEST(test_exceptions_of_a_plugin);
}

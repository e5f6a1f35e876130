/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: unloading a library does not work as alone, or exceptions of a C++ plug-in
 * that is loaded late end in the wrong unwinder.
 */
#include "target.h"

static const struct target_case cases[] = {
	/* 0 */ { "lives", "unload", { { "op", "io", "close", 54, 54 } } },
	/* 1 */ { "lives", "plugin", { { "op", "thread", "thread", 3, 3 } } },
};

static void build_plugin(const char *path)
{
	char command[2 * PATH_MAX];
	const char *compiler = getenv("CXX");

	snprintf(command, sizeof(command),
		 "%s -shared -fPIC -o %s tests/preload/plugin.cc -pthread",
		 compiler ? compiler : "g++", path);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(test_unload)
{
	struct dumps dumps;
	run_case(&cases[0], &dumps);
	free_dumps(&dumps);
}
END_TEST

START_TEST(test_exceptions_of_a_plugin)
{
	struct dumps dumps;
	char directory[64], path[128];

	make_directory(directory);
	snprintf(path, sizeof(path), "%s/plugin.so", directory);
	build_plugin(path);
	setenv("PLUGIN", path, 1);
	run_case(&cases[1], &dumps);
	free_dumps(&dumps);
	unlink(path);
	rmdir(directory);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("hook_loader");
	TCase *group = tcase_create("hook_loader");
	tcase_set_timeout(group, 120);
	tcase_add_test(group, test_unload);
	tcase_add_test(group, test_exceptions_of_a_plugin);
	suite_add_tcase(suite, group);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}

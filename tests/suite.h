/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of a test file's tests, from which its main() is made. It stands at the file's end:
 *
 *	SUITE()
 *	{
 *		TEST(a_lock_is_taken_in_turn);
 *		EACH(bad_input_is_refused, bad);
 *		FIXTURE(setup, teardown);
 *		LOOP(random_calls_add_up, 0, 200);
 *	}
 *
 * Every test runs in a process of its own. A START_TEST that is in no table does not compile.
 */
#ifndef WCPROF_TESTS_SUITE_H
#define WCPROF_TESTS_SUITE_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

/* A sanitizer wants memory and addresses of its own: no test of a limit on them. */
#if defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

/* Ends what hangs: no test takes a tenth of it, on a busy machine either. */
#define TEST_SECONDS "600"

static Suite *suite_all;
/* The tests below one fixture. */
static TCase *suite_group;

static inline void suite_begin_group(void)
{
	suite_group = tcase_create("tests");
	suite_add_tcase(suite_all, suite_group);
}

static inline int suite_run(const char *name, void (*add_rows)(void))
{
	SRunner *runner;
	int failed;

	setenv("CK_DEFAULT_TIMEOUT", TEST_SECONDS, 0);
	suite_all = suite_create(name);
	suite_begin_group();
	add_rows();
	runner = srunner_create(suite_all);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}

#define SUITE()                                         \
	static void suite_rows(void);                   \
	int main(void)                                  \
	{                                               \
		return suite_run(__FILE__, suite_rows); \
	}                                               \
	static void suite_rows(void)

#define TEST(test) tcase_add_test(suite_group, test)

/* First in a suite: what the machine cannot do is a skip. */
#define SKIP_UNLESS(condition, why)                      \
	do {                                             \
		if (!(condition)) {                      \
			printf("NOT TESTED: %s\n", why); \
			exit(77);                        \
		}                                        \
	} while (0)

/* Once for each number from `first` to before `end`, which the test sees as _i. */
#define LOOP(test, first, end) tcase_add_loop_test(suite_group, test, first, (int)(end))

/* Once for each index of an array. */
#define EACH(test, rows) LOOP(test, 0, sizeof(rows) / sizeof((rows)[0]))

/* The test passes if it ends its process with this status. */
#define EXITS(test, status) tcase_add_exit_test(suite_group, test, status)

/* Each of the tests below begins and ends with these, in its process; either may be NULL. */
#define FIXTURE(setup, teardown) \
	(suite_begin_group(), tcase_add_checked_fixture(suite_group, setup, teardown))

/* The tests below begin and end with these once, in the process that starts theirs. */
#define FIXTURE_ONCE(setup, teardown) \
	(suite_begin_group(), tcase_add_unchecked_fixture(suite_group, setup, teardown))

#endif

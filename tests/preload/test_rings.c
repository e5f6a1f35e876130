/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: a wait inside the liburing that is installed here is missed, or changed.
 * Skipped, loudly, where the kernel gives nobody a ring.
 */
#include "target.h"

/* What the short calls are has taken too little to be an op. */
static const struct target_case rings = { "rings",
					  "waits",
					  { { "op", "poll", "__io_uring_get_cqe", 1, 11 },
					    { "op", "poll", "io_uring_submit_and_wait", 1, 1 } } };

static int status_alone(char *program)
{
	char command[5 * PATH_MAX];
	snprintf(command, sizeof(command), "LD_PRELOAD= %s/../targets/rings waits",
		 dirname(program));
	return WEXITSTATUS(system(command));
}

/* Bound at start-up and read-only by then, or not bound yet. */
START_TEST(test_rings)
{
	struct dumps dumps;
	if (_i)
		setenv("LD_BIND_NOW", "1", 1);
	run_case(&rings, &dumps);
	free_dumps(&dumps);
}
END_TEST

int main(int count, char **arguments)
{
	(void)count;
	if (status_alone(arguments[0]) == 77)
		return 77;
	Suite *suite = suite_create("rings");
	TCase *group = tcase_create("rings");
	tcase_set_timeout(group, 60);
	tcase_add_loop_test(group, test_rings, 0, 2);
	suite_add_tcase(suite, group);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}

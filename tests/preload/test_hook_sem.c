/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: permits do not add up, or a semaphore's wait is no cancellation point any
 * more.
 */
#include "target.h"

static const struct target_case cases[] = {
	/* 0 */ { "semaphores",
		  "counted",
		  { { "wait", "sem", "sem_wait", 11, 11 },
		    { "wait", "sem", "sem_trywait", 1, 1 },
		    { "link", "post", "sem semaphores+0x", 2, 2 } } },
	/* 1 */
	{ "semaphores",
	  "forms",
	  { { "wait", "sem", "sem_timedwait", 5, 5 },
	    { "wait", "sem", "sem_clockwait", 2, 2 },
	    { "wait", "sem", "sem_trywait", 1, 1 } } },
	/* 2 */ { "semaphores", "cancelled", { { "wait", "sem", "sem_wait", 1, 1 } } },
};

START_TEST(test_case)
{
	struct dumps dumps;
	run_case(&cases[_i], &dumps);
	int count = timeouts_within(&dumps, "sem", 20000000);
	if (strcmp(cases[_i].scenario, "forms") == 0)
		ck_assert_int_gt(count, 0);
	free_dumps(&dumps);
}
END_TEST

SUITE()
{
	EACH(test_case, cases);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: a wait for a condition, a signal, or a section of its mutex is missed or
 * changed.
 */
#include "target.h"

static const struct target_case cases[] = {
	/* 0 */ { "conditions",
		  "signalled",
		  { { "wait", "cond", "pthread_cond_wait", 1, 1 },
		    { "op", "hold", "mutex conditions+0x", 12, 13 },
		    { "link", "wake", "cond conditions+0x", 1, 1 } } },
	/* 1 */
	{ "conditions",
	  "broadcast",
	  { { "wait", "cond", "pthread_cond_wait", 2, 2 },
	    { "link", "wake", "cond conditions+0x", 1, 1 } } },
	/* 2 */
	{ "conditions",
	  "unheard",
	  { { "wait", "cond", "", 0, 0 },
	    { "op", "hold", "mutex conditions+0x", 9, 9 },
	    { "link", "wake", "cond conditions+0x", 11, 11 } } },
	/* 3 */
	{ "conditions",
	  "timed",
	  { { "wait", "cond", "pthread_cond_timedwait", 3, 3 },
	    { "wait", "cond", "pthread_cond_clockwait", 2, 2 } } },
	/* 4 */
	{ "conditions",
	  "cancelled",
	  { { "wait", "cond", "pthread_cond_wait", 1, 1 },
	    { "op", "hold", "mutex conditions+0x", 2, 3 } } },
	/* 5 */
	{ "conditions",
	  "versions",
	  { { "wait", "cond", "pthread_cond_wait", 2, 2 },
	    { "wait", "cond", "pthread_cond_timedwait", 1, 1 },
	    { "link", "wake", "cond conditions+0x", 3, 3 } } },
	/* 6 */
	{ "conditions",
	  "c11",
	  { { "wait", "cond", "cnd_wait", 1, 1 },
	    { "wait", "cond", "cnd_timedwait", 1, 1 },
	    { "link", "wake", "cond conditions+0x", 2, 2 } } },
};

START_TEST(test_case)
{
	struct dumps dumps;
	run_case(&cases[_i], &dumps);
	int count = timeouts_within(&dumps, "cond", 20000000);
	if (strcmp(cases[_i].scenario, "timed") == 0)
		ck_assert_int_gt(count, 0);
	free_dumps(&dumps);
}
END_TEST

SUITE()
{
	EACH(test_case, cases);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: a wait inside libgomp is missed, or a program is told that a library is
 * there which is not.
 */
#include "target.h"
#include "suite.h"

static const struct target_case cases[] = {
	/* 0 */ { "teams",
		  "waits",
		  { { "wait", "mutex", "GOMP_critical_name_start", 2, 2 },
		    { "wait", "mutex", "omp_set_lock", 2, 2 },
		    { "wait", "mutex", "GOMP_critical_start", 2, 2 },
		    { "op", "hold", "mutex teams+0x", 6, 6 },
		    { "op", "hold", "mutex libgomp.so", 3, 3 },
		    { "wait", "barrier", "GOMP_barrier", 2, MANY } } },
	/* 1 */
	{ "teams",
	  "tries",
	  { { "wait", "mutex", "omp_test_lock", 1, 1 },
	    { "wait", "mutex", "", 1, 1 },
	    { "op", "hold", "mutex teams+0x", 2, 2 },
	    { "op", "hold", "", 2, 2 } } },
	/* 2 */ { "teams", "asks", { { "wait", "", "", 0, 0 } } },
};

/* Bound at start-up and read-only by then, or not bound yet. */
START_TEST(test_case)
{
	struct dumps dumps;
	setenv("LD_BIND_NOW", "1", 1);
	run_case(&cases[_i], &dumps);
	free_dumps(&dumps);
	unsetenv("LD_BIND_NOW");
	run_case(&cases[_i], &dumps);
	free_dumps(&dumps);
}
END_TEST

SUITE()
{
	EACH(test_case, cases);
}

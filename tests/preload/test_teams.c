/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if this fails: a wait of a thread of a team between its parts is missed, or made up. */
#include "target.h"
#include "suite.h"

static const struct target_case cases[] = {
	/* 0 */
	{ "teams",
	  "parts",
	  { { "wait", "barrier", "GOMP_barrier", 3, 3 },
	    { "wait", "barrier", "OpenMP team", 7, 7 },
	    { "wait", "sem", "OpenMP dock", 2, 3 }, /* one thread ends in it */
	    { "link", "post", "OpenMP dock", 3, 3 },
	    { "link", "wake", "OpenMP team", 4, 4 } } },
	/* 1 */
	{ "teams",
	  "nested",
	  { { "wait", "barrier", "OpenMP team", 2, 2 },
	    { "link", "wake", "OpenMP team", 1, 1 },
	    { "link", "post", "OpenMP dock", 0, 0 } } },
	/* 2 */
	{ "teams",
	  "unseen",
	  { { "op", "sleep", "usleep", 3, 3 },
	    { "wait", "barrier", "OpenMP team", 6, 6 },
	    { "wait", "sem", "OpenMP dock", 2, 2 } } },
	/* 3 */
	{ "teams", "tasks", { { "wait", "", "OpenMP", 0, 0 }, { "link", "post", "", 0, 0 } } },
};

START_TEST(test_case)
{
	struct dumps dumps;

	run_case(&cases[_i], &dumps);
	free_dumps(&dumps);
}
END_TEST

SUITE()
{
	EACH(test_case, cases);
}

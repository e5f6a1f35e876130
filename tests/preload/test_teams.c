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
	{ "teams", "tasks", { { "wait", "", "OpenMP", 0, 0 }, { "link", "post", "", 0, 0 } } },
};

START_TEST(test_case)
{
	struct dumps dumps;

	run_case(&cases[_i], &dumps);
	free_dumps(&dumps);
}
END_TEST

static const struct target_case unseen = {
	"teams",
	"unseen",
	{ { "op", "sleep", "usleep", 3, 3 },
	  { "wait", "barrier", "OpenMP team", 6, 6 },
	  { "wait", "sem", "OpenMP dock", 2, 2 } },
};

/* A thread that sleeps waits for no team, though nobody was seen to call it. */
START_TEST(a_part_that_is_not_seen_to_begin_ends_the_wait)
{
	struct dumps dumps;
	size_t i, k, docks = 0;
	json_t *wait, *nap;

	run_case(&unseen, &dumps);
	json_array_foreach(dumps.lines[0], i, wait)
	{
		if (strcmp(word_of(wait, "rs"), "sem") != 0)
			continue;
		docks++;
		json_array_foreach(dumps.lines[0], k, nap)
		{
			if (strcmp(word_of(nap, "k"), "sleep") == 0 &&
			    number_of(nap, "th") == number_of(wait, "th"))
				ck_assert_int_le(number_of(wait, "d"), number_of(nap, "s"));
		}
	}
	ck_assert_uint_eq(docks, 2);
	free_dumps(&dumps);
}
END_TEST

SUITE()
{
	TEST(a_part_that_is_not_seen_to_begin_ends_the_wait);
	EACH(test_case, cases);
}

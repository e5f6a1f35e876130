/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: a thread, its creator or its join is missed, joins answer otherwise, or do
 * not say for whom they waited.
 */
#include "target.h"
#include "suite.h"

static const struct target_case cases[] = {
	/* 0 */ { "threads",
		  "joins",
		  { { "op", "thread", "thread", 5, 5 },
		    { "link", "spawn", "", 4, 4 },
		    { "wait", "join", "", 6, 6 } } },
	/* 1 */
	{ "threads",
	  "many",
	  { { "op", "thread", "thread", 20001, 20001 },
	    { "wait", "join", "pthread_join", 20000, 20000 } } },
	/* 2 */ { "threads", "keys", { { "op", "thread", "thread", 2, 2 } } },
	/* 3 */ { "threads", "detach", { { "op", "thread", "thread", 2, 501 } } },
	/* 4 */ { "threads", "cancelled", { { "wait", "join", "pthread_join", 2, 2 } } },
	/* 5 */ { "threads", "failing", { { "op", "thread", "thread", 2, 2 } } },
	/* 6 */
	{ "threads",
	  "crowd",
	  { { "op", "thread", "thread", 6007, 6007 },
	    { "wait", "join", "pthread_join", 6006, 6006 } } },
	/* 7: where its number was written is gone when it is there */
	{ "threads", "gone", { { "op", "thread", "thread", 1, 301 } } },
};

/* Of those that did not give up. */
static int joins_of_nobody(const struct dumps *dumps)
{
	int count = 0;
	for (int i = 0; i < dumps->count; i++)
		for (size_t j = 1; j < json_array_size(dumps->lines[i]); j++) {
			json_t *event = json_array_get(dumps->lines[i], j);
			count += strcmp(word_of(event, "rs"), "join") == 0 &&
				 !json_object_get(event, "t") && !json_object_get(event, "to");
		}
	return count;
}

START_TEST(test_case)
{
	struct dumps dumps;
	run_case(&cases[_i], &dumps);
	int unknown = joins_of_nobody(&dumps);
	ck_assert_msg(strcmp(cases[_i].scenario, "cancelled") == 0 || unknown == 0,
		      "%d joins do not say for whom they waited", unknown);
	free_dumps(&dumps);
}
END_TEST

SUITE()
{
	EACH(test_case, cases);
}

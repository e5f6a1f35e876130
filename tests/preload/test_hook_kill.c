/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if this fails: a signal is missed, does not come as without the library, or
 * does not say to whom it went. Or a call that waits for one does not say which came.
 */
#include "target.h"
#include "suite.h"

static const struct target_case cases[] = {
	/* 0: the two that could not be sent count as well */
	{ "kills",
	  "calls",
	  { { "link", "signal", "", 11, 11 }, { "op", "poll", "sigwait", 8, 8 } } },
	/* 1 */
	{ "kills",
	  "processes",
	  { { "link", "signal", "", 8, 8 },
	    { "op", "poll", "sigwait", 5, 5 }, /* and sigwaitinfo */
	    { "op", "poll", "sigwaitinfo", 1, 1 },
	    { "op", "poll", "sigtimedwait", 1, 1 },
	    { "op", "poll", "sigsuspend", 1, 1 } } },
};

/* By its number, its process's, or its op. */
static int to_nobody(const struct dumps *dumps)
{
	int count = 0;
	for (int i = 0; i < dumps->count; i++)
		for (size_t j = 1; j < json_array_size(dumps->lines[i]); j++) {
			json_t *event = json_array_get(dumps->lines[i], j);
			bool is_signal = strcmp(word_of(event, "lk"), "signal") == 0;
			count += is_signal &&
				 (!json_object_get(event, "n") ||
				  (!json_object_get(event, "a") && !json_object_get(event, "t")));
		}
	return count;
}

static int without_number(const struct dumps *dumps)
{
	int count = 0;
	for (int i = 0; i < dumps->count; i++)
		for (size_t j = 1; j < json_array_size(dumps->lines[i]); j++) {
			json_t *event = json_array_get(dumps->lines[i], j);
			bool is_poll = strcmp(word_of(event, "k"), "poll") == 0 &&
				       strcmp(word_of(event, "o"), "ok") == 0;
			count += is_poll && !json_object_get(event, "n");
		}
	return count;
}

START_TEST(test_case)
{
	struct dumps dumps;
	run_case(&cases[_i], &dumps);
	ck_assert_int_eq(to_nobody(&dumps), 0);
	ck_assert_int_eq(without_number(&dumps), 0);
	free_dumps(&dumps);
}
END_TEST

SUITE()
{
	EACH(test_case, cases);
}

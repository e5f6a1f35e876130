/* SPDX-License-Identifier: Apache-2.0 */
/* If these fail, what a fix would buy is never answered for a busy server, or from few events. */
#include <check.h>
#include <string.h>

#include "suite.h"
#include "top_whatif.h"

#define S UINT64_C(1000000000)

static struct top_whatif whatif;

START_TEST(a_quiet_process_is_asked_about_all_of_the_window)
{
	top_whatif_begin(&whatif, "");
	ck_assert_uint_eq(top_whatif_window_ns(&whatif, 10 * S, 0), 10 * S);
	ck_assert_uint_eq(top_whatif_window_ns(&whatif, 10 * S, 2000), 10 * S);
}
END_TEST

/* At 40 us of CPU an event: the time that an answer takes is that of the window. */
START_TEST(windows_become_as_long_as_answers_come_soon)
{
	static const struct {
		double events_per_s, event_s;
		double least_s, most_s; /* of the answer, in the end */
	} rows[] = {
		/* 0 */ { 105000, 45e-6, 1, 5 },
		/* 1 */ { 105000, 2e-6, 2, 5 },
		/* 2 */ { 1e6, 45e-6, 1, 5 },
		/* 3 */ { 105000, 400e-6, 1, 6 },
		/* 4 */ { 20000, 1e-6, 0.1, 2 }, /* all of the window */
	};
	double answer_s = 0;

	top_whatif_begin(&whatif, "");
	for (int i = 0; i < 20; i++) {
		uint64_t window_ns = top_whatif_window_ns(&whatif, 60 * S, rows[_i].events_per_s);

		answer_s = (double)window_ns / 1e9 * rows[_i].events_per_s * rows[_i].event_s;
		top_whatif_took(&whatif, (uint64_t)(answer_s * 1e9));
	}
	ck_assert_double_ge(answer_s, rows[_i].least_s);
	ck_assert_double_le(answer_s, rows[_i].most_s);
}
END_TEST

START_TEST(windows_are_never_empty)
{
	top_whatif_begin(&whatif, "");
	for (int i = 0; i < 100; i++)
		top_whatif_took(&whatif, 60 * S);
	ck_assert_uint_ge(top_whatif_window_ns(&whatif, 10 * S, 1e6), S / 1000);
	ck_assert(whatif.is_starved);
	top_whatif_took(&whatif, S);
	ck_assert(!whatif.is_starved);
}
END_TEST

SUITE()
{
	TEST(a_quiet_process_is_asked_about_all_of_the_window);
	LOOP(windows_become_as_long_as_answers_come_soon, 0, 5);
	TEST(windows_are_never_empty);
}

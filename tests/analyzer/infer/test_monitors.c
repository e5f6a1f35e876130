/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a section is cut wrongly, or a wait is tied to a signal that did not end it. */
#include "infer/monitors.h"

#include "monitored.h"
#include "suite.h"

START_TEST(a_section_goes_on_through_its_waits)
{
	struct monitored monitored;
	struct sketch *sketch = &monitored.sketch;

	sketch_begin(sketch);
	sketch_thread(sketch, "taker", 0, 100);
	sketch_thread(sketch, "putter", 0, 100);
	uint32_t before = sketch_hold(sketch, 0, "M", 1, 10, 11);
	uint32_t spurious = sketch_wait(sketch, 0, REASON_COND, "C", 11, 20, NO_INDEX);
	uint32_t between = sketch_hold(sketch, 0, "M", 2, 20, 21);
	uint32_t real = sketch_wait(sketch, 0, REASON_COND, "C", 21, 30, NO_INDEX);
	uint32_t after = sketch_hold(sketch, 0, "M", 2, 30, 31);
	uint32_t other = sketch_hold(sketch, 0, "M", 1, 40, 41);
	sketch_hold(sketch, 1, "M", 3, 28, 29);
	uint32_t signal = sketch_link(sketch, 1, LINK_WAKE, "C", 28.5, 1, NO_INDEX);
	monitored_build(&monitored);
	const struct monitors *monitors = &monitored.monitors;
	ck_assert_uint_eq(monitors->condition_count, 1);
	ck_assert_uint_eq(monitors->section_count, 3);
	uint32_t section = monitors->section_of_hold[before];
	ck_assert_uint_eq(monitors->section_of_hold[between], section);
	ck_assert_uint_eq(monitors->section_of_hold[after], section);
	ck_assert_uint_ne(monitors->section_of_hold[other], section);
	ck_assert_uint_eq(monitors->sections[section].first_wait, spurious);
	ck_assert_uint_eq(monitors->sections[section].last_wait, real);
	ck_assert_uint_eq(monitors->sections[section].site[0],
			  monitors->sections[monitors->section_of_hold[other]].site[0]);
	ck_assert_uint_eq(monitors->waking_link[real], signal);
	ck_assert_uint_eq(monitors->waking_link[spurious], NO_INDEX);
	monitored_free(&monitored);
}
END_TEST

/* A wait that ended in vain is met by the next one; what comes before a signal of the section's own
 * was not in vain. */
START_TEST(a_section_that_signals_had_what_it_waited_for)
{
	struct monitored monitored;
	struct sketch *sketch = &monitored.sketch;
	uint32_t waits[4];

	sketch_begin(sketch);
	sketch_thread(sketch, "caller", 0, 100);
	sketch_thread(sketch, "server", 0, 100);
	sketch_hold(sketch, 0, "M", 1, 9, 10);
	for (int i = 0; i < 4; i++) {
		waits[i] = sketch_wait(sketch, 0, REASON_COND, "C", 10 * i + 10, 10 * i + 19,
				       NO_INDEX);
		sketch_hold(sketch, 0, "M", 2, 10 * i + 19, 10 * i + 20);
		if (i == 1)
			sketch_link(sketch, 0, LINK_WAKE, "C", 29.5, 1, NO_INDEX);
	}
	monitored_build(&monitored);
	const uint32_t *met_by = monitored.monitors.met_by_wait;

	ck_assert_uint_eq(monitored.monitors.section_of_wait[waits[0]],
			  monitored.monitors.section_of_wait[waits[3]]);
	ck_assert_uint_eq(met_by[waits[0]], waits[1]);
	ck_assert_uint_eq(met_by[waits[1]], waits[1]);
	ck_assert_uint_eq(met_by[waits[2]], waits[3]);
	ck_assert_uint_eq(met_by[waits[3]], waits[3]);
	monitored_free(&monitored);
}
END_TEST

/* A recording without call stacks has no frames to compare. */
START_TEST(a_section_of_a_wait_alone_needs_no_frames)
{
	struct monitored monitored;
	struct sketch *sketch = &monitored.sketch;

	sketch_begin(sketch);
	sketch_thread(sketch, "taker", 0, 100);
	sketch_thread(sketch, "putter", 0, 100);
	sketch_wait(sketch, 0, REASON_COND, "C", 11, 20, NO_INDEX);
	sketch_hold(sketch, 0, "M", 0, 20, 21);
	sketch_hold(sketch, 1, "M", 0, 5, 6);
	sketch->rec.frames = NULL;
	monitored_build(&monitored);
	ck_assert_uint_gt(monitored.monitors.section_count, 0);
	monitored_free(&monitored);
}
END_TEST

START_TEST(one_signal_wakes_one_a_broadcast_all)
{
	struct monitored monitored;
	struct sketch *sketch = &monitored.sketch;
	uint32_t waits[3];

	sketch_begin(sketch);
	for (int t = 0; t < 3; t++) {
		sketch_thread(sketch, "taker", 0, 100);
		waits[t] = sketch_wait(sketch, (uint32_t)t, REASON_COND, "C", 10,
				       t == 0 ? 20 : 40 + t, NO_INDEX);
		sketch_hold(sketch, (uint32_t)t, "M", 1, t == 0 ? 20 : 40 + t,
			    t == 0 ? 21 : 40.5 + t);
	}
	sketch_thread(sketch, "putter", 0, 100);
	uint32_t one = sketch_link(sketch, 3, LINK_WAKE, "C", 19, 1, NO_INDEX);
	uint32_t all = sketch_link(sketch, 3, LINK_WAKE, "C", 39, 2, NO_INDEX);
	monitored_build(&monitored);
	ck_assert_uint_eq(monitored.monitors.waking_link[waits[0]], one);
	ck_assert_uint_eq(monitored.monitors.waking_link[waits[1]], all);
	ck_assert_uint_eq(monitored.monitors.waking_link[waits[2]], all);
	monitored_free(&monitored);
}
END_TEST

START_TEST(a_broadcast_is_one_even_if_one_waits)
{
	struct monitored monitored;
	struct sketch *sketch = &monitored.sketch;

	sketch_begin(sketch);
	sketch_thread(sketch, "taker", 0, 100);
	sketch_wait(sketch, 0, REASON_COND, "C", 10, 20, NO_INDEX);
	sketch_hold(sketch, 0, "M", 1, 20, 21);
	sketch_thread(sketch, "putter", 0, 100);
	uint32_t one = sketch_link(sketch, 1, LINK_WAKE, "C", 19, 1, NO_INDEX);
	uint32_t all = sketch_link(sketch, 1, LINK_WAKE, "C", 39, 1, NO_INDEX);
	sketch->rec.links[all].all = true;
	monitored_build(&monitored);
	ck_assert(!monitored.monitors.signals[one].wakes_all);
	ck_assert(monitored.monitors.signals[all].wakes_all);
	monitored_free(&monitored);
}
END_TEST

START_TEST(a_section_that_began_unseen_has_its_neighbours_site)
{
	struct monitored monitored;
	struct sketch *sketch = &monitored.sketch;

	/* lock calls at 1 and 5, the wait's call at 9 of the code; the lock before it is at 5 */
	sketch_begin(sketch);
	sketch_thread(sketch, "taker", 0, 100);
	sketch_thread(sketch, "putter", 0, 100);
	uint32_t wait = sketch_wait(sketch, 0, REASON_COND, "C", 1, 10, NO_INDEX);
	sketch->rec.waits[wait].stack = 9;
	sketch_hold(sketch, 0, "M", 9, 10, 11);
	uint32_t far = sketch_hold(sketch, 1, "M", 1, 20, 21);
	uint32_t near = sketch_hold(sketch, 0, "M", 5, 30, 31);
	monitored_build(&monitored);
	const struct monitors *monitors = &monitored.monitors;
	const struct section *unseen = &monitors->sections[monitors->section_of_wait[wait]];
	ck_assert_uint_eq(unseen->first_hold, NO_INDEX);
	ck_assert_uint_eq(unseen->site[0],
			  monitors->sections[monitors->section_of_hold[near]].site[0]);
	ck_assert_uint_ne(unseen->site[0],
			  monitors->sections[monitors->section_of_hold[far]].site[0]);
	monitored_free(&monitored);
}
END_TEST

/* The only lock call that was recorded is another function's. */
START_TEST(a_lock_call_far_away_is_no_neighbour)
{
	struct monitored monitored;
	struct sketch *sketch = &monitored.sketch;

	sketch_begin(sketch);
	sketch_thread(sketch, "taker", 0, 100);
	sketch_thread(sketch, "putter", 0, 100);
	sketch->rec.frames[9].offset = 0x39ad8;
	sketch->rec.frames[1].offset = 0x33ceb;
	uint32_t wait = sketch_wait(sketch, 0, REASON_COND, "C", 1, 10, NO_INDEX);
	sketch->rec.waits[wait].stack = 9;
	sketch_hold(sketch, 0, "M", 9, 10, 11);
	uint32_t far = sketch_hold(sketch, 1, "M", 1, 20, 21);
	monitored_build(&monitored);
	const struct monitors *monitors = &monitored.monitors;
	ck_assert_uint_eq(monitors->sections[monitors->section_of_wait[wait]].site[0], 0);
	ck_assert_uint_ne(monitors->sections[monitors->section_of_hold[far]].site[0], 0);
	monitored_free(&monitored);
}
END_TEST

/* The lock call's callers were not looked for, those of the wait were. */
START_TEST(a_lock_call_without_callers_is_no_neighbour)
{
	struct monitored monitored;
	struct sketch *sketch = &monitored.sketch;

	sketch_begin(sketch);
	sketch_thread(sketch, "taker", 0, 100);
	sketch_thread(sketch, "putter", 0, 100);
	sketch->stacks[9].frame_count = 2;
	uint32_t wait = sketch_wait(sketch, 0, REASON_COND, "C", 1, 10, NO_INDEX);
	sketch->rec.waits[wait].stack = 9;
	sketch_hold(sketch, 0, "M", 9, 10, 11);
	sketch_hold(sketch, 1, "M", 5, 20, 21);
	monitored_build(&monitored);
	const struct monitors *monitors = &monitored.monitors;
	ck_assert_uint_eq(monitors->sections[monitors->section_of_wait[wait]].site[0], 0);
	monitored_free(&monitored);
}
END_TEST

SUITE()
{
	TEST(a_lock_call_without_callers_is_no_neighbour);
	TEST(a_section_goes_on_through_its_waits);
	TEST(a_section_that_signals_had_what_it_waited_for);
	TEST(a_section_of_a_wait_alone_needs_no_frames);
	TEST(one_signal_wakes_one_a_broadcast_all);
	TEST(a_broadcast_is_one_even_if_one_waits);
	TEST(a_lock_call_far_away_is_no_neighbour);
	TEST(a_section_that_began_unseen_has_its_neighbours_site);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a condition for several things were replayed as one, or one for one thing as several. */
#include "infer/monitors_parts.h"

#include "monitored.h"
#include "suite.h"

enum { ROUNDS = 9, END_MS = 250 };

/* A thread waits for the condition at a site, until another one signals at its own. */
static void waits_for(struct sketch *sketch, uint32_t waiter, uint32_t site, uint32_t signaller,
		      uint32_t signalling_site, double at_ms)
{
	sketch_hold(sketch, waiter, "M", site, at_ms, at_ms + 0.1);
	sketch_wait(sketch, waiter, REASON_COND, "C", at_ms + 0.1, at_ms + 2, NO_INDEX);
	sketch_hold(sketch, signaller, "M", signalling_site, at_ms + 1, at_ms + 1.2);
	sketch->rec.links[sketch_link(sketch, signaller, LINK_WAKE, "C", at_ms + 1.1, 1, NO_INDEX)]
		.all = true;
	sketch_hold(sketch, waiter, "M", site, at_ms + 2, at_ms + 2.1);
}

/* It has no need to wait there, and signals to nobody if it signals. */
static void passes(struct sketch *sketch, uint32_t thread, uint32_t site, bool signals,
		   double at_ms)
{
	sketch_hold(sketch, thread, "M", site, at_ms, at_ms + 0.2);
	if (signals)
		sketch_link(sketch, thread, LINK_WAKE, "C", at_ms + 0.1, 0, NO_INDEX);
}

/* A reader (sites 1, 2) and a writer (3, 4) with two halves of a buffer. The reader comes to wait
 * for the writer, and when it has become slower the writer for the reader. */
static void halves_begin(struct sketch *sketch)
{
	sketch_begin(sketch);
	sketch_thread(sketch, "reader", 0, END_MS);
	sketch_thread(sketch, "writer", 0, END_MS);
	for (int i = 0; i < 2; i++) {
		passes(sketch, 0, 1, false, i);
		passes(sketch, 0, 2, true, i + 0.5);
	}
	passes(sketch, 1, 3, false, 10);
	for (int i = 0; i < ROUNDS; i++) {
		waits_for(sketch, 0, 1, 1, 4, 11 + i * 10);
		passes(sketch, 1, 3, false, 13.5 + i * 10); /* the other half */
		passes(sketch, 0, 2, true, 15 + i * 10);
	}
	passes(sketch, 1, 4, true, 101);
	passes(sketch, 1, 3, false, 102);
	passes(sketch, 1, 4, true, 103);
	for (int i = 0; i < ROUNDS; i++) {
		passes(sketch, 0, 1, false, 110 + i * 10);
		waits_for(sketch, 1, 3, 0, 2, 111 + i * 10);
		passes(sketch, 1, 4, true, 115 + i * 10);
	}
}

static size_t conditions_of(struct monitored *monitored)
{
	monitored_build(monitored);
	size_t count = monitored->monitors.condition_count;
	monitored_free(monitored);
	return count;
}

START_TEST(each_side_waits_for_the_other)
{
	struct monitored monitored;
	const struct recording *rec = &monitored.sketch.rec;

	halves_begin(&monitored.sketch);
	monitored_build(&monitored);
	const struct monitors *monitors = &monitored.monitors;
	ck_assert_uint_eq(monitors->condition_count, 2);
	for (size_t i = 0; i < rec->wait_count; i++) {
		uint32_t condition = monitors->condition_of_wait[i];

		ck_assert_uint_eq(condition != monitors->condition_of_wait[0],
				  rec->waits[i].thread != rec->waits[0].thread);
		ck_assert_uint_eq(condition, monitors->signals[monitors->waking_link[i]].condition);
	}
	for (int c = 0; c < 2; c++)
		ck_assert_int_ne(monitors->conditions[c].model, PUT_NONE);
	monitored_free(&monitored);
}
END_TEST

START_TEST(threads_that_meet_are_not_told_apart)
{
	struct monitored monitored;

	/* at two places: the last to arrive there lets the other one go */
	sketch_begin(&monitored.sketch);
	sketch_thread(&monitored.sketch, "early", 0, END_MS);
	sketch_thread(&monitored.sketch, "late", 0, END_MS);
	for (int i = 0; i < ROUNDS; i++) {
		waits_for(&monitored.sketch, 0, 1, 1, 1, i * 10);
		waits_for(&monitored.sketch, 0, 2, 1, 2, i * 10 + 5);
	}
	ck_assert_uint_eq(conditions_of(&monitored), 1);
}
END_TEST

START_TEST(a_lock_is_one_thing)
{
	struct monitored monitored;
	struct sketch *sketch = &monitored.sketch;

	/* two threads take and put one token in turns, each from places of its own */
	sketch_begin(sketch);
	sketch_thread(sketch, "one", 0, END_MS);
	sketch_thread(sketch, "other", 0, END_MS);
	passes(sketch, 0, 1, false, 0);
	for (int i = 0; i < ROUNDS; i++) {
		waits_for(sketch, 1, 3, 0, 2, 10 + i * 10);
		waits_for(sketch, 0, 1, 1, 4, 15 + i * 10);
	}
	ck_assert_uint_eq(conditions_of(&monitored), 1);
}
END_TEST

/* A signal that nobody waits for, after which the threads come to these sites. */
static size_t with_a_last_signal(uint32_t reader, uint32_t writer)
{
	struct monitored monitored;
	double at_ms = 230;

	halves_begin(&monitored.sketch);
	sketch_hold(&monitored.sketch, 0, "M", 5, at_ms, at_ms + 0.1);
	sketch_link(&monitored.sketch, 0, LINK_WAKE, "C", at_ms + 0.05, 0, NO_INDEX);
	sketch_hold(&monitored.sketch, 0, "M", reader, at_ms + 1, at_ms + 1.1);
	sketch_hold(&monitored.sketch, 1, "M", writer, at_ms + 2, at_ms + 2.1);
	return conditions_of(&monitored);
}

START_TEST(the_last_signal_is_for_who_comes_afterwards)
{
	ck_assert_uint_eq(with_a_last_signal(6, 3), 2);
	ck_assert_uint_eq(with_a_last_signal(1, 3), 1); /* for one of both, or both */
}
END_TEST

static void signals_all(struct sketch *sketch, uint32_t thread, double at_ms)
{
	sketch->rec.links[sketch_link(sketch, thread, LINK_WAKE, "C", at_ms, 1, NO_INDEX)].all =
		true;
}

/* A thread that puts (site 1) tells two that take (site 2) in turns. Each of these tells all that
 * there is room, which only lets the other one look again. In the end site 3 tells all. */
START_TEST(room_that_nobody_needs_is_nothing)
{
	struct monitored monitored;
	struct sketch *sketch = &monitored.sketch;
	double waits_ms[] = { 0, 0, 0.1, 0.3 }; /* by thread */

	sketch_begin(sketch);
	for (int i = 0; i < 4; i++)
		sketch_thread(sketch, "user", 0, END_MS);
	for (uint32_t i = 2; i < 4; i++)
		sketch_hold(sketch, i, "M", 2, waits_ms[i] - 0.1, waits_ms[i]);
	for (int i = 0; i <= 2 * ROUNDS; i++) {
		double at_ms = 10 * i + 1;
		bool is_end = i == 2 * ROUNDS;
		uint32_t takes = 2 + (uint32_t)i % 2, looks = 5 - takes;

		sketch_hold(sketch, !is_end, "M", is_end ? 3 : 1, at_ms, at_ms + 0.2);
		signals_all(sketch, !is_end, at_ms + 0.1);
		sketch_wait(sketch, takes, REASON_COND, "C", waits_ms[takes], at_ms + 0.3,
			    NO_INDEX);
		sketch_hold(sketch, takes, "M", 2, at_ms + 0.3, at_ms + 0.5);
		sketch_wait(sketch, looks, REASON_COND, "C", waits_ms[looks], at_ms + 0.6,
			    NO_INDEX);
		sketch_hold(sketch, looks, "M", 2, at_ms + 0.6, at_ms + 0.7);
		if (is_end)
			break;
		signals_all(sketch, takes, at_ms + 0.4);
		sketch_hold(sketch, takes, "M", 2, at_ms + 4, at_ms + 4.1);
		waits_ms[takes] = at_ms + 4.1;
		waits_ms[looks] = at_ms + 0.7;
	}
	monitored_build(&monitored);
	const struct condition *condition =
		&monitored.monitors.conditions[monitored.monitors.condition_of_wait[0]];
	ck_assert_int_ne(condition->model, PUT_NONE);
	ck_assert(condition->is_pool && !condition->is_fed_back);
	monitored_free(&monitored);
}
END_TEST

SUITE()
{
	TEST(room_that_nobody_needs_is_nothing);
	TEST(each_side_waits_for_the_other);
	TEST(threads_that_meet_are_not_told_apart);
	TEST(a_lock_is_one_thing);
	TEST(the_last_signal_is_for_who_comes_afterwards);
}

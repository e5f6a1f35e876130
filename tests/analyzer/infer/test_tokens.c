/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a condition is replayed by tokens that its recording does not obey. */
#include "infer/tokens.h"

#include "feeding.h"
#include "lots.h"
#include "monitored.h"
#include "suite.h"

/* Thread 0 puts at `put_ms` (signalling when `signals`), thread 1 takes at once, or waits for
 * it. */
static void hand_over(struct sketch *sketch, double from_ms, double put_ms, bool signals)
{
	sketch_hold(sketch, 0, "M", 1, put_ms, put_ms + 0.1);
	if (signals)
		sketch_link(sketch, 0, LINK_WAKE, "C", put_ms + 0.05, from_ms < put_ms, NO_INDEX);
	if (from_ms < put_ms) {
		sketch_hold(sketch, 1, "M", 2, from_ms, from_ms + 0.1);
		sketch_wait(sketch, 1, REASON_COND, "C", from_ms + 0.1, put_ms + 0.2, NO_INDEX);
		sketch_hold(sketch, 1, "M", 3, put_ms + 0.2, put_ms + 0.3);
	} else {
		sketch_hold(sketch, 1, "M", 2, from_ms, from_ms + 0.1);
	}
}

START_TEST(a_signal_for_each_item)
{
	struct monitored monitored;

	sketch_begin(&monitored.sketch);
	sketch_thread(&monitored.sketch, "putter", 0, 100);
	sketch_thread(&monitored.sketch, "taker", 0, 100);
	for (int i = 0; i < 9; i++)
		hand_over(&monitored.sketch, i * 10, i * 10 + (i % 2 ? 5 : -2 + 2 * !i), true);
	monitored_build(&monitored);
	ck_assert_uint_eq(monitored.monitors.condition_count, 1);
	ck_assert_int_eq(monitored.monitors.conditions[0].model, PUT_BY_SIGNAL);
	ck_assert(!monitored.monitors.conditions[0].is_pool);
	monitored_free(&monitored);
}
END_TEST

START_TEST(a_signal_only_when_it_was_empty)
{
	struct monitored monitored;

	sketch_begin(&monitored.sketch);
	sketch_thread(&monitored.sketch, "putter", 0, 100);
	sketch_thread(&monitored.sketch, "taker", 0, 100);
	/* two items are put while the taker sleeps; only the first is signalled */
	for (int i = 0; i < 4; i++) {
		hand_over(&monitored.sketch, i * 20, i * 20 + 5, true);
		hand_over(&monitored.sketch, i * 20 + 10, i * 20 + 6, false);
	}
	monitored_build(&monitored);
	ck_assert_int_eq(monitored.monitors.conditions[0].model, PUT_BY_SECTION);
	monitored_free(&monitored);
}
END_TEST

START_TEST(a_wait_that_nothing_ends_takes_nothing)
{
	struct monitored monitored;
	struct sketch *sketch = &monitored.sketch;

	sketch_begin(sketch);
	sketch_thread(sketch, "putter", 0, 100);
	sketch_thread(sketch, "taker", 0, 100);
	for (int i = 0; i < 9; i++)
		hand_over(sketch, i * 10, i * 10 + 5, true);
	sketch_hold(sketch, 1, "M", 2, 90, 90.1);
	sketch->rec.waits[sketch_wait(sketch, 1, REASON_COND, "C", 90.1, 100, NO_INDEX)].open =
		true;
	monitored_build(&monitored);
	const struct monitors *monitors = &monitored.monitors;

	ck_assert_int_eq(monitors->conditions[0].model, PUT_BY_SIGNAL);
	ck_assert_uint_eq(monitors->conditions[0].initial, 0);
	ck_assert_uint_eq(monitors->sections[monitors->section_count - 2].take, 0);
	ck_assert_uint_eq(monitors->sections[monitors->section_count - 1].take, NO_INDEX);
	monitored_free(&monitored);
}
END_TEST

static void gives_up(struct sketch *sketch, double from_ms)
{
	uint32_t wait;

	sketch_hold(sketch, 1, "M", 2, from_ms, from_ms + 0.1);
	wait = sketch_wait(sketch, 1, REASON_COND, "C", from_ms + 0.1, from_ms + 1.1, NO_INDEX);
	sketch->rec.waits[wait].timed_out = true;
	sketch_hold(sketch, 1, "M", 3, from_ms + 1.1, from_ms + 1.2);
}

/* A thread looks again after a while for what another one gives, or goes without it. */
START_TEST(a_wait_that_times_out_takes_nothing)
{
	static const struct {
		int timeouts;
		enum put_model model;
	} rows[] = {
		/* 0 */ { 0, PUT_BY_SIGNAL },
		/* 1 */ { 10, PUT_BY_SIGNAL },
		/* 2: timeouts are what the thread waits for */ { 100, PUT_NONE },
	};
	struct monitored monitored;
	struct sketch *sketch = &monitored.sketch;

	sketch_begin(sketch);
	sketch_thread(sketch, "putter", 0, 1000);
	sketch_thread(sketch, "taker", 0, 1000);
	for (int i = 0; i < 100; i++) {
		hand_over(sketch, i * 10, i * 10 + 5, true);
		if (i >= 100 - rows[_i].timeouts)
			gives_up(sketch, i * 10 + 6);
	}
	/* The taker lets others go: it does not take all that is there. */
	sketch_link(sketch, 1, LINK_WAKE, "D", 999, 0, NO_INDEX);
	monitored_build(&monitored);
	const struct monitors *monitors = &monitored.monitors;

	ck_assert_int_eq(monitors->conditions[0].model, rows[_i].model);
	for (size_t i = 0; i < monitors->section_count; i++) {
		const struct section *section = &monitors->sections[i];

		if (section->last_wait != NO_INDEX && rows[_i].model == PUT_BY_SIGNAL)
			ck_assert((section->take == NO_INDEX) ==
				  sketch->rec.waits[section->last_wait].timed_out);
	}
	monitored_free(&monitored);
}
END_TEST

/* Two jobs are put. The thread that was woken for the first one finds that another has taken it,
 * and comes back for the second. */
static void steal(struct sketch *sketch, double at_ms)
{
	sketch_hold(sketch, 1, "M", 2, at_ms, at_ms + 0.1);
	sketch_wait(sketch, 1, REASON_COND, "C", at_ms + 0.1, at_ms + 5.3, NO_INDEX);
	sketch_hold(sketch, 0, "M", 1, at_ms + 5, at_ms + 5.1);
	sketch_link(sketch, 0, LINK_WAKE, "C", at_ms + 5.05, 1, NO_INDEX);
	sketch_hold(sketch, 2, "M", 2, at_ms + 5.15, at_ms + 5.25);
	sketch_io(sketch, 2, "write", "/two", 1, at_ms + 5.3, at_ms + 9);
	sketch_hold(sketch, 1, "M", 3, at_ms + 5.3, at_ms + 5.4);
	sketch_hold(sketch, 1, "M", 2, at_ms + 5.5, at_ms + 5.6);
	sketch_wait(sketch, 1, REASON_COND, "C", at_ms + 5.6, at_ms + 8.2, NO_INDEX);
	sketch_hold(sketch, 0, "M", 1, at_ms + 8, at_ms + 8.1);
	sketch_link(sketch, 0, LINK_WAKE, "C", at_ms + 8.05, 1, NO_INDEX);
	sketch_hold(sketch, 1, "M", 3, at_ms + 8.2, at_ms + 8.3);
	sketch_io(sketch, 1, "write", "/one", 1, at_ms + 8.4, at_ms + 9);
}

START_TEST(who_comes_back_at_once_was_woken_in_vain)
{
	struct monitored monitored;
	struct sketch *sketch = &monitored.sketch;

	sketch_begin(sketch);
	sketch_thread(sketch, "putter", 0, 100);
	sketch_thread(sketch, "taker", 0, 100);
	sketch_thread(sketch, "thief", 0, 100);
	for (int i = 0; i < 9; i++)
		steal(sketch, i * 10);
	monitored_build(&monitored);
	const struct monitors *monitors = &monitored.monitors;

	ck_assert_int_eq(monitors->conditions[0].model, PUT_BY_SIGNAL);
	ck_assert_uint_eq(monitors->conditions[0].initial, 0);
	ck_assert(monitors->conditions[0].is_pool);
	for (size_t i = 0; i < monitors->section_count; i++) {
		const struct section *section = &monitors->sections[i];
		bool in_vain =
			section->thread == 1 && (section->start_ns / (SKETCH_MS / 10)) % 100 == 0;

		ck_assert(section->in_vain == in_vain);
		if (section->thread)
			ck_assert((section->take == NO_INDEX) == in_vain);
	}
	monitored_free(&monitored);
}
END_TEST

/* One starts the other, and waits until it runs. Both lock by the same function, at one site. */
START_TEST(who_opens_a_condition_takes_behind_its_signal)
{
	struct monitored monitored;
	struct sketch *sketch = &monitored.sketch;

	sketch_begin(sketch);
	sketch_thread(sketch, "starter", 0, 100);
	sketch_thread(sketch, "started", 5, 100);
	sketch_hold(sketch, 0, "M", 1, 4, 6);
	sketch_wait(sketch, 0, REASON_COND, "C", 6, 10.2, NO_INDEX);
	sketch_hold(sketch, 0, "M", 1, 10.2, 10.3);
	sketch_hold(sketch, 1, "M", 1, 10, 10.1);
	sketch_link(sketch, 1, LINK_WAKE, "C", 10.05, 1, NO_INDEX);
	sketch_hold(sketch, 0, "M", 1, 20, 21);
	monitored_build(&monitored);
	const struct section *sections = monitored.monitors.sections;

	ck_assert_uint_eq(monitored.monitors.section_count, 3);
	/* before the signal, and after it */
	ck_assert(sections[0].take == 0 && !sections[0].takes_late);
	ck_assert(sections[1].take == 0 && !sections[1].takes_late);
	ck_assert(sections[2].take == 0 && sections[2].takes_late);
	monitored_free(&monitored);
}
END_TEST

/* One holds a lock, lets the other go by another condition, and waits for its answer. */
START_TEST(who_lets_another_go_takes_where_it_waits)
{
	struct monitored monitored;
	struct sketch *sketch = &monitored.sketch;

	sketch_begin(sketch);
	sketch_thread(sketch, "starter", 0, 100);
	sketch_thread(sketch, "started", 0, 100);
	sketch_hold(sketch, 1, "N", 1, 2, 2.1);
	sketch_wait(sketch, 1, REASON_COND, "D", 2.1, 10.2, NO_INDEX);
	sketch_hold(sketch, 1, "N", 1, 10.2, 10.3);
	sketch_hold(sketch, 0, "M", 2, 4, 12);
	sketch_hold(sketch, 0, "N", 3, 10, 10.1);
	sketch_link(sketch, 0, LINK_WAKE, "D", 10.05, 1, NO_INDEX);
	sketch_wait(sketch, 0, REASON_COND, "C", 12, 15.2, NO_INDEX);
	sketch_hold(sketch, 0, "M", 2, 15.2, 15.3);
	sketch_hold(sketch, 1, "M", 4, 15, 15.1);
	sketch_link(sketch, 1, LINK_WAKE, "C", 15.05, 1, NO_INDEX);
	monitored_build(&monitored);
	const struct monitors *monitors = &monitored.monitors;

	ck_assert_uint_eq(monitors->condition_count, 2);
	for (size_t i = 0; i < monitors->section_count; i++) {
		const struct section *section = &monitors->sections[i];

		if (section->first_wait != NO_INDEX)
			ck_assert(section->takes_late == (section->thread == 0));
	}
	monitored_free(&monitored);
}
END_TEST

START_TEST(one_computes_for_all)
{
	struct monitored monitored;

	/* a broadcast lets all go on, and those who come later go on by themselves: no tokens */
	sketch_begin(&monitored.sketch);
	sketch_thread(&monitored.sketch, "putter", 0, 100);
	sketch_thread(&monitored.sketch, "taker", 0, 100);
	sketch_thread(&monitored.sketch, "late", 0, 100);
	for (int i = 0; i < 9; i++) {
		hand_over(&monitored.sketch, i * 10, i * 10 + 5, true);
		sketch_hold(&monitored.sketch, 2, "M", 2, i * 10 + 6, i * 10 + 6.1);
	}
	monitored_build(&monitored);
	ck_assert_int_eq(monitored.monitors.conditions[0].model, PUT_NONE);
	monitored_free(&monitored);
}
END_TEST

START_TEST(copies_of_a_call_are_one_site)
{
	struct monitored monitored;
	struct sketch *sketch = &monitored.sketch;

	/* a compiler has made two calls of the taker's: only the first one ever waits. Its lock
	 * call is known without its callers, as nobody had waited for that lock before. */
	sketch_begin(sketch);
	sketch->rec.stacks[20] = (struct rec_stack){ 20, 2 }; /* the wait */
	sketch->rec.stacks[30] = (struct rec_stack){ 30, 2 }; /* the other call */
	sketch->rec.stacks[40] = (struct rec_stack){ 40, 2 }; /* the putter's */
	sketch->rec.frames[31] = sketch->rec.frames[21];
	sketch_thread(sketch, "putter", 0, 100);
	sketch_thread(sketch, "taker", 0, 100);
	sketch_hold(sketch, 1, "M", 2, 0, 0.1);
	sketch->rec.waits[sketch_wait(sketch, 1, REASON_COND, "C", 0.1, 1.2, NO_INDEX)].stack = 20;
	sketch_hold(sketch, 1, "M", 20, 1.2, 1.3);
	for (int i = 0; i < 9; i++) {
		sketch_hold(sketch, 0, "M", 40, 1 + i, 1.1 + i);
		sketch_link(sketch, 0, LINK_WAKE, "C", 1.05 + i, !i, NO_INDEX);
	}
	for (int i = 1; i < 9; i++)
		sketch_hold(sketch, 1, "M", 30, 10 + i, 10.1 + i);
	monitored_build(&monitored);
	const struct monitors *monitors = &monitored.monitors;
	ck_assert_uint_eq(monitors->section_count, 18);
	for (size_t i = 0; i < monitors->section_count; i++)
		ck_assert_uint_eq(monitors->sections[i].take,
				  monitors->sections[i].thread == 1 ? 0 : NO_INDEX);
	monitored_free(&monitored);
}
END_TEST

/* A slow taker has a backlog as the putter says that no more will come, from a place of its own. */
START_TEST(what_is_there_at_the_end_is_taken_yet)
{
	enum { ITEMS = 12, EMPTY = 3 /* items that are put while none is there */ };
	struct monitored monitored;
	struct sketch *sketch = &monitored.sketch;

	sketch_begin(sketch);
	sketch_thread(sketch, "putter", 0, 50);
	sketch_thread(sketch, "taker", 0, 50);
	for (int i = 0; i < ITEMS; i++) {
		sketch_hold(sketch, 0, "M", 1, 2 * i + 1, 2 * i + 1.1);
		if (i < EMPTY)
			sketch_link(sketch, 0, LINK_WAKE, "C", 2 * i + 1.05, !i, NO_INDEX);
	}
	sketch_hold(sketch, 0, "M", 4, 24.5, 24.6);
	sketch_link(sketch, 0, LINK_WAKE, "C", 24.55, 0, NO_INDEX);
	sketch_hold(sketch, 1, "M", 20, 0.4, 0.5);
	sketch_wait(sketch, 1, REASON_COND, "C", 0.5, 1.2, NO_INDEX);
	for (int i = 0; i <= ITEMS; i++)
		sketch_hold(sketch, 1, "M", 20, 3 * i + 1.2, 3 * i + 1.3);
	monitored_build(&monitored);
	ck_assert_int_eq(monitored.monitors.conditions[0].model, PUT_BY_SECTION);
	monitored_free(&monitored);
}
END_TEST

/* One, two, three, one ... items are put, with a signal for the first of them; what comes after
 * the take is the longer the more it were. The last thing that the taker does is a link. */
static enum put_model model_of_drain(int takes, enum link_kind last, const char *resource)
{
	struct monitored monitored;
	struct sketch *sketch = &monitored.sketch;
	double at_ms = 10;

	sketch_begin(sketch);
	sketch_thread(sketch, "putter", 0, 300);
	sketch_thread(sketch, "taker", 0, 300);
	for (int i = 0; i < takes; i++, at_ms += 20) {
		double busy_ms = (i - 1) % 3 + 1;

		hand_over(sketch, i ? at_ms - 20 + 2 + busy_ms : 0, at_ms, true);
		for (int k = 0; k < i % 3; k++)
			sketch_hold(sketch, 0, "M", 1, at_ms + 0.11 + k * 0.02,
				    at_ms + 0.12 + k * 0.02);
	}
	sketch_link(sketch, 1, last, resource, 299, 0, NO_INDEX);
	monitored_build(&monitored);
	const struct condition *condition = &monitored.monitors.conditions[0];
	enum put_model model = condition->model;
	bool is_lumped = takes > 3 && model != PUT_BATCH;

	/* 11 takes, of three to five milliseconds */
	ck_assert_double_eq_tol((double)condition->lumps_ns / 1e6, is_lumped ? 40 : 0, 2);
	if (is_lumped)
		ck_assert_uint_eq(condition->lumps_of, 1);
	monitored_free(&monitored);
	return model;
}

START_TEST(a_take_of_all_there_is)
{
	ck_assert_int_eq(model_of_drain(12, LINK_LEAVE, "end"), PUT_BATCH);
	ck_assert_int_eq(model_of_drain(12, LINK_CLOCK, "end"), PUT_BATCH);
	/* a line goes through any two */
	ck_assert_int_eq(model_of_drain(3, LINK_CLOCK, "end"), PUT_BY_SIGNAL);
	/* one that takes all lets nobody go */
	ck_assert_int_eq(model_of_drain(12, LINK_WAKE, "end"), PUT_BY_SIGNAL);
	/* but for who waits for the lock */
	ck_assert_int_eq(model_of_drain(12, LINK_WAKE, "M"), PUT_BATCH);
}
END_TEST

static const struct {
	int least;
	double timeout_ms;
	uint32_t found_least;
	uint64_t found_ms;
	bool is_uneven;
} lot_rows[] = {
	/* 0 */ { 1, 1000, 1, 0, false },
	/* 1 */ { 10, 1000, 10, 0, false },
	/* 2 */ { 10, 8, 10, 8, false },
	/* 3 */ { 5, 3, 5, 3, false },
	/* 4: more signals come than takes while it is busy */ { 5, 1000, 5, 0, true },
};

START_TEST(a_take_of_a_lot_or_after_a_time)
{
	struct monitored monitored;

	lots_sketch(&monitored.sketch, 2, lot_rows[_i].least, lot_rows[_i].timeout_ms,
		    lot_rows[_i].is_uneven);
	class_table_free(&monitored.sketch.classes);
	monitored_build(&monitored);
	const struct condition *condition = &monitored.monitors.conditions[0];
	ck_assert_int_eq(condition->model, PUT_BATCH);
	ck_assert_uint_eq(condition->least, lot_rows[_i].found_least);
	ck_assert_uint_eq((condition->timeout_ns + SKETCH_MS / 2) / SKETCH_MS,
			  lot_rows[_i].found_ms);
	monitored_free(&monitored);
}
END_TEST

/* Workers give and take in one section, which also tells all of the end, once. */
START_TEST(workers_put_for_themselves)
{
	struct monitored monitored;
	size_t late = 0;

	feeding_sketch(&monitored.sketch);
	class_table_free(&monitored.sketch.classes);
	monitored_build(&monitored);
	const struct condition *condition = &monitored.monitors.conditions[0];
	ck_assert_int_eq(condition->model, PUT_BY_SIGNAL);
	ck_assert_uint_eq(condition->initial, 0);
	ck_assert(condition->is_pool && condition->is_fed_back);
	ck_assert_uint_eq(condition->gate_ns, 50050000);
	for (size_t i = 0; i < monitored.monitors.section_count; i++)
		late += monitored.monitors.sections[i].takes_late;
	ck_assert_uint_ge(late, 4); /* their own puts come before */
	monitored_free(&monitored);
}
END_TEST

/* One starts the other and waits until it runs; that one waits to be told to go on. Both lock by
 * one function, and begin by the same routine. */
START_TEST(two_who_wait_for_each_other_once_are_no_pool)
{
	struct monitored monitored;
	struct sketch *sketch = &monitored.sketch;

	sketch_begin(sketch);
	for (uint32_t stack = 20; stack <= 40; stack += 10) {
		sketch->rec.stacks[stack] = (struct rec_stack){ stack, 2 };
		sketch->rec.frames[stack] = sketch->rec.frames[20];
	}
	sketch_thread(sketch, "main", 0, 100);
	sketch_thread(sketch, "starter", 0, 100);
	sketch_thread(sketch, "started", 5, 100);
	sketch_hold(sketch, 1, "M", 20, 4, 6);
	sketch_wait(sketch, 1, REASON_COND, "C", 6, 10.2, NO_INDEX);
	sketch_hold(sketch, 1, "M", 20, 10.2, 10.3);
	sketch_hold(sketch, 2, "M", 30, 10, 10.1);
	sketch_link(sketch, 2, LINK_WAKE, "C", 10.05, 1, NO_INDEX);
	sketch_wait(sketch, 2, REASON_COND, "C", 10.1, 20.2, NO_INDEX);
	sketch_hold(sketch, 2, "M", 30, 20.2, 20.3);
	sketch_hold(sketch, 1, "M", 40, 20, 20.1);
	sketch_link(sketch, 1, LINK_WAKE, "C", 20.05, 1, NO_INDEX);
	monitored_build(&monitored);
	ck_assert_uint_eq(monitored.monitors.section_count, 3);
	ck_assert(monitored.monitors.conditions[0].is_fed_back);
	ck_assert(!monitored.monitors.conditions[0].is_pool);
	monitored_free(&monitored);
}
END_TEST

SUITE()
{
	TEST(two_who_wait_for_each_other_once_are_no_pool);
	TEST(workers_put_for_themselves);
	TEST(a_signal_for_each_item);
	TEST(a_signal_only_when_it_was_empty);
	TEST(a_wait_that_nothing_ends_takes_nothing);
	LOOP(a_wait_that_times_out_takes_nothing, 0, 3);
	TEST(who_comes_back_at_once_was_woken_in_vain);
	TEST(what_is_there_at_the_end_is_taken_yet);
	TEST(who_opens_a_condition_takes_behind_its_signal);
	TEST(who_lets_another_go_takes_where_it_waits);
	TEST(one_computes_for_all);
	TEST(copies_of_a_call_are_one_site);
	TEST(a_take_of_all_there_is);
	EACH(a_take_of_a_lot_or_after_a_time, lot_rows);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if whoever takes all that is there is taken to do as much after each take as in the
 * recording, however much there is.
 */
#include "script/script_parts.h"

#include "lots.h"
#include "replay/simulate.h"
#include "replay/simulate.h"
#include "sketch.h"
#include "suite.h"

#include <math.h>

static const struct script_options as_recorded = { 0 };

enum { ITEMS = 60 };

static double put_ms(double make_ms, int item)
{
	return (item + 1) * make_ms;
}

/* One take at `at_ms`, or when the next item comes; returns when it has the lock. */
static double take_all(struct sketch *sketch, double at_ms, double next_ms, bool waits)
{
	sketch_hold(sketch, 0, "M", 2, at_ms, at_ms + 0.01);
	if (!waits)
		return at_ms + 0.01;
	sketch_wait(sketch, 0, REASON_COND, "C", at_ms + 0.01, next_ms + 0.02, NO_INDEX);
	sketch_hold(sketch, 0, "M", 3, next_ms + 0.02, next_ms + 0.03);
	return next_ms + 0.03;
}

static void put_all(struct sketch *sketch, double make_ms, const bool *was_empty,
		    const bool *is_awaited)
{
	for (int i = 0; i <= ITEMS; i++) {
		bool closes = i == ITEMS;
		double at_ms = put_ms(make_ms, i) - (closes ? make_ms - 0.1 : 0);

		if (!closes)
			sketch_sleep(sketch, 1, "make", at_ms - make_ms + (i ? 0.01 : 0), at_ms);
		sketch_hold(sketch, 1, "M", closes ? 4 : 1, at_ms, at_ms + 0.01);
		if (closes || was_empty[i])
			sketch_link(sketch, 1, LINK_WAKE, "C", at_ms + 0.005, is_awaited[i],
				    NO_INDEX);
	}
}

/* An item each `make_ms`; who takes them needs 3 ms for each take and 1 ms for each item. Returns
 * how long all takes. */
static double drain(struct sketch *sketch, double make_ms)
{
	bool was_empty[ITEMS + 1] = { false }, is_awaited[ITEMS + 1] = { false };
	double closed_ms = put_ms(make_ms, ITEMS - 1) + 0.1, at_ms = 0;
	int taken = 0, there = 0;

	sketch_thread(sketch, "taker", 0, 1000);
	sketch_thread(sketch, "putter", 0, closed_ms + 0.01);
	sketch_link(sketch, 0, LINK_SPAWN, "", 0, 0, sketch->rec.threads[1].op);
	while (taken < ITEMS || at_ms < closed_ms) {
		for (there = taken; there < ITEMS && put_ms(make_ms, there) + 0.01 <= at_ms;)
			there++;
		bool waits = there == taken && at_ms < closed_ms;
		double next_ms = taken < ITEMS ? put_ms(make_ms, taken) : closed_ms;

		if (taken < ITEMS)
			was_empty[taken] = true;
		if (waits)
			is_awaited[taken] = true;
		at_ms = take_all(sketch, at_ms, next_ms, waits);
		there += waits && taken < ITEMS;
		if (there > taken) {
			sketch_sleep(sketch, 0, "fixed", at_ms, at_ms + 3);
			at_ms += 3;
		}
		for (; taken < there; taken++, at_ms += 1)
			sketch_sleep(sketch, 0, "item", at_ms, at_ms + 1);
	}
	put_all(sketch, make_ms, was_empty, is_awaited);
	sketch->rec.ops[sketch->rec.threads[0].op].end_ns = (uint64_t)(at_ms * 1e6);
	sketch->rec.ops[sketch->rec.processes[0].op].end_ns = (uint64_t)(at_ms * 1e6);
	sketch_end(sketch);
	return at_ms;
}

static double really_ms(double make_ms)
{
	struct sketch sketch;

	sketch_begin(&sketch);
	double ms = drain(&sketch, make_ms);
	sketch_free(&sketch);
	return ms;
}

static struct replay_answer replayed(const struct script *script, const struct sketch *sketch,
				     const char *class, double factor)
{
	struct machine machine;
	machine_begin(&machine, script, 0);
	const struct replayer replayer = simulate_replayer(script, &machine);
	const struct scaling scaling = { sketch_class(sketch, class), factor };
	const struct trial trial = { .scalings = &scaling, .count = 1 };

	return replayer_try(&replayer, &trial);
}

static double replayed_ms(const struct script *script, const struct sketch *sketch,
			  const char *class, double factor)
{
	const struct replay_answer answer = replayed(script, sketch, class, factor);

	ck_assert_uint_eq(answer.forced_steps, 0);
	return answer.makespan_ns / 1e6;
}

START_TEST(larger_batches_take_longer)
{
	static const struct {
		double factor;
		double tolerance_ms;
	} rows[] = {
		/* 1 */ { 1, 0.5 },
		/* 2 */ { 0.5, 4 },
		/* 3 */ { 0.75, 4 },
		/* 4 */ { 2, 4 },
	};
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	drain(&sketch, 2);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert_uint_eq(script.monitors.conditions[0].model, PUT_BATCH);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ck_assert_msg(fabs(replayed_ms(&script, &sketch, "make", rows[i].factor) -
				   really_ms(2 * rows[i].factor)) < rows[i].tolerance_ms,
			      "row %zu: %g ms, really %g", i + 1,
			      replayed_ms(&script, &sketch, "make", rows[i].factor),
			      really_ms(2 * rows[i].factor));
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

START_TEST(what_is_done_once_and_what_for_each)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	drain(&sketch, 2);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	const struct job_list *jobs = &script.jobs[0];
	ck_assert_uint_eq(jobs->all_items, ITEMS);
	for (uint32_t i = 0; i < script.scopes.count; i++) {
		uint32_t leaf = script.scopes.scopes[i].leaf;

		if (leaf == sketch_class(&sketch, "fixed")) {
			ck_assert_double_eq_tol(jobs->cost_of[i].fixed_ns, 3e6, 1000);
			ck_assert_double_eq_tol(jobs->cost_of[i].item_ns, 0, 1000);
		} else if (leaf == sketch_class(&sketch, "item")) {
			ck_assert_double_eq_tol(jobs->cost_of[i].fixed_ns, 0, 1000);
			ck_assert_double_eq_tol(jobs->cost_of[i].item_ns, 1e6, 1000);
		}
	}
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* As where a recording ends before the taker finds nothing left: it goes on, or the replay would
 * never end. */
START_TEST(a_taker_without_a_way_out_comes_to_an_end)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	drain(&sketch, 2);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert_uint_ne(script.actors[0].last_body, NO_INDEX);
	script.actors[0].last_body = NO_INDEX;
	ck_assert_double_gt(replayed_ms(&script, &sketch, "make", 0.5), 0);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

static double lots_really_ms(double make_ms, int least, double timeout_ms)
{
	struct sketch sketch;
	double ms = lots_sketch(&sketch, make_ms, least, timeout_ms, false);

	sketch_free(&sketch);
	return ms;
}

/* Of a taker that waits for several, or for a time. */
START_TEST(as_many_takes_as_there_are_lots)
{
	static const struct {
		int least;
		double timeout_ms;
	} rows[] = {
		/* 0 */ { 10, 1000 },
		/* 1: mostly by the time */ { 10, 8 },
		/* 2: by the time alone; it finds nothing now and then */ { 30, 3 },
	};
	struct sketch sketch;
	struct script script;

	lots_sketch(&sketch, 2, rows[_i].least, rows[_i].timeout_ms, false);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	for (double factor = 0.5; factor <= 2; factor *= 2) {
		double said_ms = replayed_ms(&script, &sketch, "make", factor);
		double ms = lots_really_ms(2 * factor, rows[_i].least, rows[_i].timeout_ms);

		ck_assert_msg(fabs(said_ms - ms) < 6, "x%g: %g ms, really %g", factor, said_ms, ms);
	}
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* The items never come that it waits for, and nobody tells it to end. */
START_TEST(a_taker_with_a_timeout_does_not_go_round_for_ever)
{
	struct sketch sketch;
	struct script script;

	lots_sketch(&sketch, 2, 10, 8, false);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert_uint_gt(script.monitors.conditions[0].timeout_ns, 0);
	script.jobs[0].all_items += 5;
	for (size_t i = 0; i < sketch.rec.link_count; i++)
		script.monitors.signals[i].is_gate = false;
	ck_assert(!replayed(&script, &sketch, "make", 1).ran_away);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(a_taker_with_a_timeout_does_not_go_round_for_ever);
	LOOP(as_many_takes_as_there_are_lots, 0, 3);
	TEST(a_taker_without_a_way_out_comes_to_an_end);
	TEST(larger_batches_take_longer);
	TEST(what_is_done_once_and_what_for_each);
}

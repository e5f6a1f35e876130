/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a thread that comes to wake another one in the replay does so for nothing. */
#include "script/script_parts.h"

#include "sketch.h"
#include "suite.h"

static const struct script_options as_recorded = { 0 };

enum { ITEMS = 24 };

/* An item at `put_ms`, which takes 1.05 ms from the signal on if somebody waits, else 0.05. */
static void hand_over(struct sketch *sketch, double from_ms, double put_ms)
{
	bool waits = from_ms < put_ms;
	double end_ms = put_ms + (waits ? 1.1 : 0.1);

	sketch_hold(sketch, 0, "M", 1, put_ms, end_ms);
	sketch_link(sketch, 0, LINK_WAKE, "C", put_ms + 0.05, waits, NO_INDEX);
	sketch_hold(sketch, 1, "M", 2, from_ms, from_ms + 0.1);
	if (!waits)
		return;
	sketch_wait(sketch, 1, REASON_COND, "C", from_ms + 0.1, end_ms + 0.1, NO_INDEX);
	sketch_hold(sketch, 1, "M", 3, end_ms + 0.1, end_ms + 0.2);
}

/* Every `waiting` one of the items is waited for. */
static void build(struct sketch *sketch, struct script *script, int waiting)
{
	sketch_begin(sketch);
	sketch_thread(sketch, "putter", 0, ITEMS * 10 + 10);
	sketch_thread(sketch, "taker", 0, ITEMS * 10 + 10);
	for (int i = 0; i < ITEMS; i++)
		hand_over(sketch, 5 + i * 10, i % waiting ? 3 + i * 10 : 7 + i * 10);
	sketch_end(sketch);
	script_build(script, &sketch->rec, &sketch->classes, &as_recorded);
	ck_assert_int_eq(script->monitors.conditions[0].model, PUT_BY_SIGNAL);
}

START_TEST(who_woke_nobody_pays_if_it_does)
{
	static const struct {
		int waiting;
		uint64_t more_ns; /* than after signals that woke nobody */
	} rows[] = {
		/* 1 */ { 2, 1000000 },
		/* 2 */ { 12, 0 }, /* two that woke somebody say nothing */
	};

	for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		struct sketch sketch;
		struct script script;
		int signals = 0;

		build(&sketch, &script, rows[row].waiting);
		for (size_t i = 0; i + 1 < script.step_count; i++) {
			if (script.steps[i].type != STEP_SIGNAL)
				continue;
			uint64_t expected_ns = rows[row].more_ns;

			signals++;
			ck_assert_uint_eq(script.steps[i + 1].type, STEP_WAKING);
			ck_assert_msg(script.steps[i + 1].ns + 10 > expected_ns &&
					      script.steps[i + 1].ns < expected_ns + 10,
				      "row %zu, signal %d: %lu ns", row + 1, signals,
				      (unsigned long)script.steps[i + 1].ns);
		}
		ck_assert_int_eq(signals, ITEMS);
		script_free(&script);
		sketch_free(&sketch);
	}
}
END_TEST

/* Writes take 10.5 us if the reader waits, else 0.5; every other one is waited for. */
START_TEST(who_writes_to_nobody_pays_if_somebody_waits)
{
	struct sketch sketch;
	struct script script;
	int writes = 0;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "writer", 0, ITEMS * 10 + 10);
	sketch_thread(&sketch, "reader", 0, ITEMS * 10 + 10);
	for (int i = 0; i < ITEMS; i++) {
		double at_ms = 5 + i * 10;
		bool waits = i % 2;

		sketch_io(&sketch, 0, "write", "pipe:[7]", 10, at_ms,
			  at_ms + (waits ? 0.0105 : 0.0005));
		sketch_io(&sketch, 1, "read", "pipe:[7]", 10, at_ms + (waits ? -2 : 2),
			  at_ms + (waits ? 0.01 : 2.0005));
	}
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	for (size_t i = 0; i + 2 < script.step_count; i++) {
		if (script.steps[i].type != STEP_SEND)
			continue;
		writes++;
		ck_assert_uint_eq(script.steps[i + 1].type, STEP_DELAY);
		ck_assert_uint_eq(script.steps[i + 2].type, STEP_WAKING);
		ck_assert_double_eq_tol((double)script.steps[i + 1].ns, 500, 5);
		ck_assert_double_eq_tol((double)script.steps[i + 2].ns, 10000, 5);
	}
	ck_assert_int_eq(writes, ITEMS);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* Sends that all wake their reader take 10.5 us. Writes that wake nobody take 0.5, which says
 * nothing of them. */
START_TEST(a_call_is_compared_with_those_of_its_class)
{
	struct sketch sketch;
	struct script script;
	int sends = 0;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "writer", 0, ITEMS * 10 + 10);
	sketch_thread(&sketch, "reader", 0, ITEMS * 10 + 10);
	for (int i = 0; i < ITEMS; i++) {
		double at_ms = 5 + i * 10;

		sketch_io(&sketch, 0, "send", "pipe:[7]", 10, at_ms, at_ms + 0.0105);
		sketch_io(&sketch, 1, "read", "pipe:[7]", 10, at_ms - 2, at_ms + 0.01);
		sketch_io(&sketch, 0, "write", "pipe:[8]", 10, at_ms + 3, at_ms + 3.0005);
		sketch_io(&sketch, 1, "read", "pipe:[8]", 10, at_ms + 5, at_ms + 5.0005);
	}
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	for (size_t i = 0; i + 2 < script.step_count; i++) {
		if (script.steps[i].type != STEP_SEND || script.steps[i + 1].ns < 5000)
			continue;
		sends++;
		ck_assert_double_eq_tol((double)script.steps[i + 1].ns, 10500, 5);
		ck_assert_uint_eq(script.steps[i + 2].type, STEP_WAKING);
		ck_assert_uint_eq(script.steps[i + 2].ns, 0);
	}
	ck_assert_int_eq(sends, ITEMS);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(who_woke_nobody_pays_if_it_does);
	TEST(who_writes_to_nobody_pays_if_somebody_waits);
	TEST(a_call_is_compared_with_those_of_its_class);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a saving that rests on recorded groups would seem sure. Or a barrier would be
 * doubted, or answers withheld for threads that nothing hangs on.
 */
#include "report/checks_parts.h"

#include "report/analysis.h"
#include "sketch.h"
#include "suite.h"

#include <string.h>

enum { TURNS = 20, FOLLOWERS = 3, PERIOD_MS = 10, REST_FROM_MS = PERIOD_MS * TURNS, END_MS = 204 };

/* A leader works 8 ms a turn, and wakes all that wait: always the same, or now this one and now
 * that one. It is one of them, or they are idle: it only joins the first of them, which has worked
 * for the last 4 ms. */
static void take_turns(struct sketch *sketch, bool varies, bool are_idle)
{
	sketch_begin(sketch);
	sketch_thread(sketch, are_idle ? "leader" : "follower", 0, END_MS);
	for (uint32_t t = 1; t <= FOLLOWERS; t++) {
		sketch_thread(sketch, "follower", 0, END_MS);
		sketch_link(sketch, 0, LINK_SPAWN, "", 0, 0, sketch->rec.threads[t].op);
	}
	for (int i = 0; i < TURNS; i++) {
		double from_ms = PERIOD_MS * i, to_ms = from_ms + 8;
		uint32_t count = 0;
		sketch_sleep(sketch, 0, "flush", from_ms, to_ms);
		for (uint32_t t = 1; t <= FOLLOWERS; t++) {
			if (varies && (i + (int)t) % (int)(t + 1) != 0)
				continue;
			count++;
			uint32_t wait = sketch_wait(sketch, t, REASON_COND, "C", from_ms + 1,
						    to_ms + 0.01, NO_INDEX);
			sketch->rec.waits[wait].name = sketch_string(sketch, "pthread_cond_wait");
		}
		if (count)
			sketch->rec
				.links[sketch_link(sketch, 0, LINK_WAKE, "C", to_ms, count,
						   NO_INDEX)]
				.all = true;
	}
	if (are_idle) {
		sketch_sleep(sketch, 1, "rest", REST_FROM_MS, END_MS);
		sketch_wait(sketch, 0, REASON_JOIN, "", REST_FROM_MS, END_MS,
			    sketch->rec.threads[1].op);
	}
	sketch_end(sketch);
}

START_TEST(groups_that_vary_are_said)
{
	struct options options = {
		.top = 10, .factors = { { 0, 0.5 }, 2 }, .class_regex = "", .model = "threads"
	};
	static const struct {
		bool varies, are_idle, is_said;
	} rows[] = { { false, false, false }, { true, false, true }, { true, true, false } };
	for (int i = 0; i < 3; i++) {
		bool is_said = rows[i].is_said;
		struct sketch sketch;
		struct analysis analysis;
		char error[OPTIONS_ERROR_BYTES];
		take_turns(&sketch, rows[i].varies, rows[i].are_idle);
		ck_assert_int_eq(analysis_build(&analysis, &sketch.rec, &options, NULL, error), 0);
		const struct check *check = &analysis.checks.rows[CHECK_GROUPS];
		ck_assert_int_eq(check->state, is_said ? CHECK_FAILED : CHECK_PASSED);
		ck_assert(is_said == (check->value > 15));
		ck_assert(is_said == (strstr(check->line, "`follower`") != NULL));
		ck_assert(is_said == (strstr(check->line, "in pthread_cond_wait") != NULL));
		analysis_free(&analysis);
		sketch_free(&sketch);
	}
}
END_TEST

enum { LUMPS = 12, LUMP_MS = 20 };

/* One, two, three, one ... lines are put, or two of them but for the first time. The taker writes
 * them, so long for each, and says that there is room, for which nobody waits. */
static void take_lumps(struct sketch *sketch, double line_ms, bool varies)
{
	double from_ms = 0;

	sketch_begin(sketch);
	sketch_thread(sketch, "main", 0, LUMPS * LUMP_MS + 1);
	sketch_thread(sketch, "giver", 0, LUMPS * LUMP_MS + 1);
	sketch_thread(sketch, "taker", 0, LUMPS * LUMP_MS + 1);
	for (int i = 0; i < LUMPS; i++) {
		double ms = LUMP_MS * (i + 1);
		int lines = varies ? 1 + i % 3 : 1 + (i > 0);

		sketch_hold(sketch, 2, "M", 2, from_ms, from_ms + 0.1);
		sketch_link(sketch, 2, LINK_WAKE, "room", from_ms + 0.05, 0, NO_INDEX);
		sketch_wait(sketch, 2, REASON_COND, "C", from_ms + 0.1, ms + 0.2, NO_INDEX);
		sketch_hold(sketch, 2, "M", 3, ms + 0.2, ms + 0.3);
		for (int k = lines; k-- > 0;)
			sketch_hold(sketch, 1, "M", 1, ms - 0.2 * k, ms - 0.2 * k + 0.1);
		sketch_link(sketch, 1, LINK_WAKE, "C", ms + 0.05, 1, NO_INDEX);
		from_ms = i + 1 < LUMPS ? ms + 0.4 + line_ms * lines : ms + 0.9;
		sketch_sleep(sketch, 2, "write", ms + 0.35, from_ms - 0.05);
	}
	sketch_end(sketch);
}

/* A taker that works for most of the time is told of, also where the run waits for its givers. */
START_TEST(a_thread_that_takes_all_is_said)
{
	static const struct {
		double line_ms;
		bool varies, is_said;
	} rows[] = { { 6.3, true, true }, { 0.5, true, false }, { 6.3, false, false } };
	const struct options options = {
		.top = 10, .factors = { { 0, 0.5 }, 2 }, .class_regex = "", .model = "threads"
	};
	struct sketch sketch;
	struct analysis analysis;
	char error[OPTIONS_ERROR_BYTES];

	take_lumps(&sketch, rows[_i].line_ms, rows[_i].varies);
	ck_assert_int_eq(analysis_build(&analysis, &sketch.rec, &options, NULL, error), 0);
	const struct check *check = &analysis.checks.rows[CHECK_GROUPS];
	ck_assert(rows[_i].is_said == (strstr(check->line, "takes all that has come") != NULL));
	ck_assert(rows[_i].is_said == (check->state > CHECK_PASSED));
	analysis_free(&analysis);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	LOOP(a_thread_that_takes_all_is_said, 0, 3);
	TEST(groups_that_vary_are_said);
}

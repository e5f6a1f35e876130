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

SUITE()
{
	TEST(groups_that_vary_are_said);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if holds are not acquired, or released, as they were. */
#include "script/script.h"

#include "keyed.h"
#include "replayed.h"
#include "steps.h"
#include "suite.h"

static const struct script_options as_recorded = { 0 };

START_TEST(a_lock_wait_becomes_an_acquisition)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 10);
	sketch_thread(&sketch, "other", 0, 10);
	sketch_hold(&sketch, 1, "M", 1, 1, 4);
	sketch_wait(&sketch, 0, REASON_MUTEX, "M", 2, 4.5, NO_INDEX);
	sketch_hold(&sketch, 0, "M", 2, 4.5, 6);
	sketch_io(&sketch, 0, "write", "", 1, 5, 5.5);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	static const struct expected_step main_steps[] = {
		{ STEP_RUN, 2 },     { STEP_ACQUIRE, 0.5 }, { STEP_RUN, 0.5 },
		{ STEP_DELAY, 0.5 }, { STEP_RUN, 0.5 },     { STEP_RELEASE, 0 },
		{ STEP_RUN, 4 },     { STEP_MARK, 0 },      { STEP_END, 0 },
	};
	expect_steps(&script, 0, main_steps, sizeof(main_steps) / sizeof(main_steps[0]));
	ck_assert_uint_eq(script.unresolved_waits, 0);
	ck_assert_uint_eq(script.lock_latency_ns, 500000); /* of the one wait there is */
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

START_TEST(readers_share_and_tries_grab)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 10);
	sketch.rec.extras[sketch_hold(&sketch, 0, "R", 1, 1, 2)].shared = true;
	sketch.rec.extras[sketch_hold(&sketch, 0, "M", 1, 3, 4)].tried = true;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	static const struct expected_step steps[] = {
		{ STEP_RUN, 1 },     { STEP_SHARE, 0 },   { STEP_RUN, 1 },
		{ STEP_UNSHARE, 0 }, { STEP_RUN, 1 },     { STEP_GRAB, 0 },
		{ STEP_RUN, 1 },     { STEP_RELEASE, 0 }, { STEP_RUN, 6 },
	};
	expect_steps(&script, 0, steps, sizeof(steps) / sizeof(steps[0]));
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

static const struct {
	double use, rest;
} changes[] = { { 1, 1 }, { 0.5, 1 }, { 0, 1 }, { 1, 0.5 }, { 1, 0 }, { 1.5, 1 } };

static void keyed_replay(struct keyed keyed, size_t change, double *got_ms, double *expected_ms)
{
	struct keyed changed = keyed;
	struct sketch sketch;
	bool is_use = changes[change].use != 1;

	keyed_sketch(&keyed, &sketch);
	sketch_end(&sketch);
	changed.use = changes[change].use;
	changed.rest = changes[change].rest;
	*expected_ms += keyed_run(&changed);
	*got_ms +=
		replayed_ms(&sketch, is_use ? "use" : "rest", is_use ? changed.use : changed.rest);
	sketch_free(&sketch);
}

/* Threads wait more or less often for a key that another one has. Which keys those are is not
 * known, and they are other ones in the replay: right in the mean. */
START_TEST(keys_are_locks)
{
	static const double close_enough = 3; /* in percent */
	double got_ms = 0, expected_ms = 0;

	for (uint32_t seed = 0; seed < 8; seed++)
		keyed_replay((struct keyed){ .keys = 4, .seed = 10 * seed, .use = 1, .rest = 1 },
			     (size_t)_i, &got_ms, &expected_ms);
	double off = 100 * (got_ms / expected_ms - 1);
	ck_assert_msg(off < close_enough && off > -close_enough, "%g ms, worked out %g", got_ms,
		      expected_ms);
}
END_TEST

SUITE()
{
	TEST(a_lock_wait_becomes_an_acquisition);
	TEST(readers_share_and_tries_grab);
	EACH(keys_are_locks, changes);
}

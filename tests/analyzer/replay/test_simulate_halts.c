/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if threads that another one stops now and then wait for that one where they waited before,
 * or are not stopped where they are.
 */
#include "replay/simulate_parts.h"

#include "halting.h"
#include "replayed.h"
#include "suite.h"

static void join(struct sketch *sketch, uint32_t thread, double from_ms, double to_ms)
{
	sketch_wait(sketch, 0, REASON_JOIN, "", from_ms, to_ms, sketch->rec.threads[thread].op);
}

/* They run for 20.1, 24.69 and 16.59 ms, as of 0, 20.41 and 45.41 ms. */
static void sketch_runners(struct sketch *sketch)
{
	sketch_begin(sketch);
	sketch_thread(sketch, "main", 0, 62);
	halting_thread(sketch, 62);
	for (uint32_t i = 2; i <= 3; i++) {
		sketch_thread(sketch, "runs", 0, 62);
		halting_wait(sketch, i, 20.1, 20.41);
		halting_wait(sketch, i, 45.1, 45.41);
		join(sketch, i, i == 2 ? 0 : 62, 62);
	}
	sketch_end(sketch);
}

static const struct {
	double factor;
	double halted_ms;
} runs[] = {
	/* 0 */ { 0.2, 0 },
	/* 1: in the middle of a run, once */ { 0.5, 0.31 },
	/* 2: twice */ { 0.9, 0.62 },
	/* 3: behind their runs, that end after the halt has begun */ { 1, 0.62 },
	/* 4: in the middle of the first and the second run */ { 1.2, 0.62 },
};

START_TEST(threads_are_halted_where_they_are)
{
	struct sketch sketch;

	sketch_runners(&sketch);
	replayed_expect(&sketch, _i, "runs", runs[_i].factor,
			61.38 * runs[_i].factor + runs[_i].halted_ms);
	sketch_free(&sketch);
}
END_TEST

/* They have run for 20.1 ms, run on for 0.99 ms, and wait for permits that are given at 44 ms. */
START_TEST(who_waits_for_something_else_is_not_late)
{
	struct sketch sketch;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 62);
	halting_thread(&sketch, 62);
	sketch_io(&sketch, 0, "gives", "", 1, 0, 44);
	for (uint32_t i = 2; i <= 3; i++) {
		sketch_thread(&sketch, "runs", 0, 62);
		halting_wait(&sketch, i, 20.1, 20.41);
		sketch_wait(&sketch, i, REASON_SEM, "S", 21.4, 44.01, NO_INDEX);
		halting_wait(&sketch, i, 45.1, 45.41);
		sketch_link(&sketch, 0, LINK_POST, "S", 44, 0, NO_INDEX);
		join(&sketch, i, i == 2 ? 44 : 62, 62);
	}
	sketch_end(&sketch);
	replayed_expect(&sketch, 0, NULL, 1, 62);
	/* 1.09 and 16.59 ms, between them the second halt */
	replayed_expect(&sketch, 1, "runs", 0.5, 44.01 + 1.09 / 2 + 16.59 / 2 + 0.31);
	sketch_free(&sketch);
}
END_TEST

/* A planted error of the script: the thread never lets them go on. */
START_TEST(a_halt_that_nobody_ends_is_let_go)
{
	struct sketch sketch;
	struct script script;

	sketch_runners(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &(const struct script_options){ 0 });
	for (size_t i = 0; i < script.step_count; i++)
		if (script.steps[i].type == STEP_SIGNAL)
			script.steps[i] = (struct step){ .type = STEP_FIXED };
	const struct replay_answer answer = replayed_script(&script, NO_INDEX, 1);
	ck_assert_uint_gt(answer.forced_steps, 0);
	ck_assert(!answer.ran_away);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	LOOP(threads_are_halted_where_they_are, 0, sizeof(runs) / sizeof(runs[0]));
	TEST(who_waits_for_something_else_is_not_late);
	TEST(a_halt_that_nobody_ends_is_let_go);
}

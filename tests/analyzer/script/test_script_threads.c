/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if threads and images are started or joined by others than those that did it. */
#include "script/script.h"

#include "sketch.h"
#include "suite.h"

static const struct script_options as_recorded = { 0 };

START_TEST(a_program_goes_on_by_exec)
{
	struct sketch sketch;
	struct script script;
	struct rec_process processes[2] = { { .pid = 1, .client = 1, .cpus = 2 },
					    { .pid = 1, .client = 1, .cpus = 1 } };

	/* one process of two images: the second begins where the first ends, and ends the whole */
	sketch_begin(&sketch);
	sketch_string(&sketch, "1:1");
	sketch_thread(&sketch, "main", 0, 10);
	processes[0].op = sketch.rec.processes[0].op;
	sketch_thread(&sketch, "main", 12, 40);
	processes[1].op = sketch_op(&sketch, KIND_PROCESS, "next", NO_INDEX, 12, 40);
	sketch.rec.threads[1].tid = 1;
	sketch.rec.threads[1].process = 1;
	sketch.rec.processes = processes;
	sketch.rec.process_count = 2;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert(script.actors[1].is_spawned && !script.actors[0].is_spawned);
	ck_assert(script.actors[1].counts && !script.actors[0].counts);
	ck_assert_uint_eq(script.actual_ns, 40 * SKETCH_MS);
	ck_assert_double_eq(script.recorded_cpus, 1);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* In one that has ended, _i == 1, nobody waits for what its children still do. */
/* A child that does nothing between fork and exec: its first image has no threads. */
START_TEST(a_child_goes_on_by_exec_at_once)
{
	struct sketch sketch;
	struct script script;
	struct rec_process processes[3] = { { .pid = 1, .client = 1 },
					    { .pid = 2, .client = 2 },
					    { .pid = 2, .client = 2 } };

	sketch_begin(&sketch);
	sketch_thread(&sketch, "parent", 0, 40);
	processes[0].op = sketch.rec.processes[0].op;
	sketch_thread(&sketch, "child", 12, 30);
	processes[1].op = sketch_op(&sketch, KIND_PROCESS, "fork", NO_INDEX, 9, 11);
	processes[2].op = sketch_op(&sketch, KIND_PROCESS, "next", NO_INDEX, 12, 30);
	sketch.rec.threads[1].process = 2;
	sketch.rec.processes = processes;
	sketch.rec.process_count = 3;
	uint32_t link = sketch_link(&sketch, 0, LINK_NESTED_CLIENT, "", 10, 0, NO_INDEX);
	sketch.rec.links[link].ident = 2;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert(script.actors[1].is_spawned && !script.actors[0].is_spawned);
	ck_assert(script.actors[0].counts && !script.actors[1].counts);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_thread_that_no_link_starts_was_started_by_who_ran_last)
{
	struct sketch sketch;
	struct script script;

	/* main runs from 10 on, is in a call when the helper starts at 25; another one sleeps */
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 50);
	sketch_thread(&sketch, "asleep", 0, 50);
	sketch_thread(&sketch, "helper", 25, 40);
	sketch_sleep(&sketch, 0, "first", 0, 10);
	sketch_sleep(&sketch, 0, "second", 20, 50);
	sketch_sleep(&sketch, 1, "long", 1, 50);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert(script.actors[2].is_spawned);
	const struct step *step = &script.steps[script.actors[0].first_step];
	for (; step->type != STEP_END && step->type != STEP_SPAWN; step++)
		;
	ck_assert_int_eq(step->type, STEP_SPAWN);
	ck_assert(!script.actors[1].is_spawned);
	ck_assert_uint_eq(step->arg, 2);
	ck_assert_uint_eq(step->ns, 15 * SKETCH_MS);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* The second thread got the first one's handle, and began late. The recorder took it for that. */
START_TEST(a_thread_is_joined_once)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 20);
	sketch_thread(&sketch, "first", 1, 4);
	uint32_t first = sketch.rec.threads[1].op;
	sketch_thread(&sketch, "second", 6, 10);
	sketch_wait(&sketch, 0, REASON_JOIN, "T", 2, 4.5, first);
	sketch_wait(&sketch, 0, REASON_JOIN, "T", 5, 10.5, first);
	/* a thread that had ended is joined at once */
	sketch_thread(&sketch, "third", 11, 12);
	sketch_wait(&sketch, 0, REASON_JOIN, "T", 13, 13.25, sketch.rec.threads[3].op);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	static const struct {
		uint32_t actor;
		double latency_ms;
	} joins[] = { { 1, 0.5 }, { 2, 0.5 }, { 3, 0.25 } };
	size_t found = 0;
	const struct step *step = &script.steps[script.actors[0].first_step];

	for (; step->type != STEP_END; step++) {
		if (step->type != STEP_JOIN)
			continue;
		ck_assert_uint_lt(found, 3);
		ck_assert_uint_eq(step->arg, joins[found].actor);
		ck_assert_double_eq_tol((double)step->ns / 1e6, joins[found].latency_ms, 1e-6);
		found++;
	}
	ck_assert_uint_eq(found, 3);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(a_program_goes_on_by_exec);
	TEST(a_child_goes_on_by_exec_at_once);
	TEST(a_thread_that_no_link_starts_was_started_by_who_ran_last);
	TEST(a_thread_is_joined_once);
}

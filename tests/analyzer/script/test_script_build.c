/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if CPUs or usual latencies are not those of the recording. */
#include "script/script.h"

#include "replayed.h"
#include "sketch.h"
#include "suite.h"

#include <math.h>

/* A CPU time of `cpu_ms` each of two threads in 20 ms. */
START_TEST(cpus_are_those_of_the_recording)
{
	static const struct {
		int row;
		uint32_t cpus;
		uint64_t tick_ns;
		unsigned cpu_ms;
		double recorded_cpus;
		bool was_crowded;
		double idle_share;
		uint64_t recorded_tick_ns;
		uint32_t shared, recorded_cache_cpus;
	} rows[] = {
		{ 1, 1, 1000000, 10, 1, true, 0, 1000000, 1, 0 },
		{ 2, 1, 10000000, 1, 1, true, 0.9, 10000000, 0, 0 },
		/* both were busy for half of the time */
		{ 3, 2, 0, 10, 2, false, 0.75, 0, 1, 1 },
		/* ticks that no kernel has */
		{ 4, 0, 1, 10, INFINITY, false, 1, 0, 0, 0 },
		{ 5, 0, UINT64_MAX, 10, INFINITY, false, 1, 0, 0, 0 },
		/* all of its CPUs share one cache */
		{ 6, 2, 0, 10, 2, false, 0.75, 0, 8, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct script_options options = { 0 };
		struct rec_sample samples[4];
		struct sketch sketch;
		struct script script;

		sketch_begin(&sketch);
		for (uint32_t t = 0; t < 2; t++) {
			sketch_thread(&sketch, "burner", 0, 20);
			samples[2 * t] = (struct rec_sample){ .thread = t };
			samples[2 * t + 1] =
				(struct rec_sample){ .at_ns = 20 * SKETCH_MS,
						     .cpu_ns = rows[i].cpu_ms * SKETCH_MS,
						     .thread = t };
		}
		sketch.rec.processes[0].cpus = rows[i].cpus;
		sketch.rec.processes[0].cache_cpus = rows[i].shared;
		sketch.rec.processes[0].tick_ns = rows[i].tick_ns;
		sketch.rec.samples = samples;
		sketch.rec.sample_count = 4;
		sketch_end(&sketch);
		script_build(&script, &sketch.rec, &sketch.classes, &options);
		ck_assert_msg(script.recorded_cpus == rows[i].recorded_cpus &&
				      script.was_crowded == rows[i].was_crowded &&
				      script.recorded_tick_ns == rows[i].recorded_tick_ns &&
				      script.recorded_cache_cpus == rows[i].recorded_cache_cpus &&
				      fabs(script.idle_share - rows[i].idle_share) < 1e-6,
			      "row %d: %f CPUs", rows[i].row, script.recorded_cpus);
		script_free(&script);
		sketch_free(&sketch);
	}
}
END_TEST

/* Two containers of one machine share its CPUs, another machine has its own; threads stay there. */
START_TEST(each_kernel_has_cpus_of_its_own)
{
	struct rec_process processes[] = { { .cpus = 2, .op = NO_INDEX },
					   { .cpus = 4, .op = NO_INDEX },
					   { .cpus = 1, .op = NO_INDEX, .clock = 1 } };
	struct rec_sample sample = { 0 };
	struct sketch sketch;
	struct script script;

	for (int crowded = 0; crowded < 2; crowded++) {
		sketch_begin(&sketch);
		sketch.rec.processes = processes;
		sketch.rec.process_count = 3;
		sketch.rec.clock_count = 2;
		for (uint32_t t = 0; t < 3; t++)
			sketch_thread(&sketch, "any", 0, 20);
		sketch.rec.threads[1].process = 1;
		sketch.rec.threads[2].process = 2;
		if (crowded)
			sketch.rec.threads[1].process = 2;
		sketch.rec.samples = &sample;
		sketch.rec.sample_count = 1;
		sketch_end(&sketch);
		script_build(&script, &sketch.rec, &sketch.classes,
			     &(const struct script_options){ 0 });
		ck_assert_uint_eq(script.kernel_count, 2);
		ck_assert_double_eq(script.kernel_cpus[0], 4);
		ck_assert_double_eq(script.kernel_cpus[1], 1);
		ck_assert_double_eq(script.recorded_cpus, 5);
		ck_assert_uint_eq(script.actors[0].kernel, 0);
		ck_assert_uint_eq(script.actors[1].kernel, (uint32_t)crowded);
		ck_assert_uint_eq(script.actors[2].kernel, 1);
		ck_assert_int_eq(script.was_crowded, crowded);
		script_free(&script);
		sketch_free(&sketch);
	}
}
END_TEST

/* A thread is started at 2 ms, and has used 3 ms of CPU time when it is first seen, at 6. */
START_TEST(a_start_runs)
{
	const struct script_options options = { 0 };
	struct rec_sample samples[] = {
		{ .thread = 0 }, { .thread = 1, .at_ns = 6 * SKETCH_MS, .cpu_ns = 3 * SKETCH_MS }
	};
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 20);
	sketch_thread(&sketch, "late", 6, 20);
	sketch_link(&sketch, 0, LINK_SPAWN, "", 2, 0, sketch.rec.threads[1].op);
	sketch.rec.threads[1].tid = 2;
	sketch.rec.processes[0].cpus = 2;
	sketch.rec.samples = samples;
	sketch.rec.sample_count = 2;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &options);
	const struct step *first = &script.steps[script.actors[1].first_step];
	ck_assert(script.actors[1].startup_steps == 1 && !script.actors[0].startup_steps);
	ck_assert(first->type == STEP_RUN && first->ns == 3 * SKETCH_MS);
	for (size_t i = 0; i < script.step_count; i++)
		if (script.steps[i].type == STEP_SPAWN)
			ck_assert_uint_eq(script.steps[i].ns, 1 * SKETCH_MS);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* A child starts at 2 ms, with 3 ms of CPU time until 6, of which recording took one. It runs until
 * 20. Halved, the child saves half of the other two, and of its 14. */
START_TEST(a_start_without_recording_is_shorter)
{
	struct rec_process processes[] = {
		{ .pid = 1, .op = NO_INDEX, .cpus = 4 },
		{ .pid = 2, .op = NO_INDEX, .cpus = 4, .own_start_ns = 1 * SKETCH_MS },
	};
	struct rec_sample samples[] = {
		{ .thread = 0 }, { .thread = 1, .at_ns = 6 * SKETCH_MS, .cpu_ns = 3 * SKETCH_MS }
	};
	struct sketch sketch;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 20);
	sketch_thread(&sketch, "child", 6, 20);
	sketch_link(&sketch, 0, LINK_SPAWN, "", 2, 0, sketch.rec.threads[1].op);
	sketch_wait(&sketch, 0, REASON_JOIN, "", 3, 20, sketch.rec.threads[1].op);
	sketch.rec.processes = processes;
	sketch.rec.process_count = 2;
	sketch.rec.threads[0].tid = 1;
	sketch.rec.threads[1].tid = 2;
	sketch.rec.threads[1].process = 1;
	sketch.rec.samples = samples;
	sketch.rec.sample_count = 2;
	sketch_end(&sketch);
	const struct trial recorded = { .as_recorded = true };

	ck_assert_double_eq_tol(replayed_trial(&sketch, recorded, NULL, 1).makespan_ns, 20e6, 1);
	ck_assert_double_eq_tol(replayed_ms(&sketch, NULL, 1), 19, 1e-6);
	ck_assert_double_eq_tol(replayed_ms(&sketch, "child", 0.5), 19 - 8, 1e-6);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(a_start_without_recording_is_shorter);
	TEST(cpus_are_those_of_the_recording);
	TEST(each_kernel_has_cpus_of_its_own);
	TEST(a_start_runs);
}

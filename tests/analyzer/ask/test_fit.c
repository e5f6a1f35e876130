/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if CPUs that others used are taken for the recorded program's, or the other way round. */
#include "ask/fit.h"

#include "sketch.h"
#include "suite.h"

#include <math.h>

enum { THREADS_MAX = 5 };

/* Threads that burn 10 ms of CPU time each on two CPUs, in `wall_ms`, the last one in `last_ms`. */
static double fitted_uneven(uint32_t threads, double wall_ms, double last_ms, double asked)
{
	struct sketch sketch;
	struct script script;
	struct machine machine;
	struct rec_sample samples[2 * THREADS_MAX];
	const struct script_options options = { 0 };

	sketch_begin(&sketch);
	for (uint32_t t = 0; t < threads; t++) {
		double end_ms = t + 1 < threads ? wall_ms : last_ms;

		sketch_thread(&sketch, "burner", 0, end_ms + 0.001 * t); /* the last one counts */
		samples[2 * t] = (struct rec_sample){ .thread = t };
		samples[2 * t + 1] = (struct rec_sample){ .at_ns = (uint64_t)(end_ms * 1e6),
							  .cpu_ns = 10 * SKETCH_MS,
							  .thread = t };
	}
	sketch.rec.processes[0].cpus = 2;
	sketch.rec.samples = samples;
	sketch.rec.sample_count = 2 * threads;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &options);
	machine_begin(&machine, &script, asked);
	fit_cpus(&machine, &script);
	double cpus = machine.cpus;
	script_free(&script);
	sketch_free(&sketch);
	return cpus;
}

static double fitted(double wall_ms, double asked)
{
	return fitted_uneven(3, wall_ms, wall_ms, asked);
}

/* Fewer CPUs would have had all threads end late. */
START_TEST(what_took_one_thread_longer_was_no_lack_of_cpus)
{
	ck_assert_double_eq_tol(fitted_uneven(5, 25, 40, 0), 2, 1e-9);
}
END_TEST

START_TEST(what_others_used_is_not_there)
{
	static const struct {
		int row;
		double wall_ms, asked, cpus, error;
	} rows[] = {
		{ 1, 15, 0, 2, 1e-9 },
		{ 2, 20, 0, 1.6, 0.15 }, /* both CPUs are slower */
		{ 3, 17, 0, 1.8, 0.15 },
		{ 4, 30, 4, 4, 1e-9 }, /* asked for */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double cpus = fitted(rows[i].wall_ms, rows[i].asked);

		ck_assert_msg(fabs(cpus - rows[i].cpus) < rows[i].error, "row %d: %f CPUs",
			      rows[i].row, cpus);
	}
}
END_TEST

/* Two threads that take turns on one CPU of two, 10 ms of each 25 or so, and wait for it. */
static double fitted_beside_another(double wall_ms)
{
	struct sketch sketch;
	struct script script;
	struct machine machine;
	struct rec_sample samples[6];
	const struct script_options options = { 0 };

	sketch_begin(&sketch);
	for (uint32_t t = 0; t < 2; t++) {
		sketch_thread(&sketch, "burner", 0, wall_ms + 0.001 * t);
		for (uint32_t i = 0; i < 3; i++)
			samples[3 * t + i] =
				(struct rec_sample){ .at_ns = (uint64_t)(wall_ms * 0.5e6 * i),
						     .cpu_ns = i * 5 * SKETCH_MS,
						     .queued_ns = 1 + i * 5 * SKETCH_MS,
						     .thread = t,
						     .cpu_number = 1 };
	}
	sketch.rec.processes[0].cpus = 2;
	sketch.rec.samples = samples;
	sketch.rec.sample_count = 6;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &options);
	ck_assert(script.was_crowded && script.made_crowd);
	machine_begin(&machine, &script, 0);
	fit_cpus(&machine, &script);
	double cpus = machine.cpus;
	script_free(&script);
	sketch_free(&sketch);
	return cpus;
}

/* Not two slow CPUs: one, and it is full. */
START_TEST(what_another_had_for_itself_is_a_whole_cpu)
{
	ck_assert_double_eq_tol(fitted_beside_another(20), 1, 1e-9);
	ck_assert_double_eq_tol(fitted_beside_another(25), 0.8, 0.06);
	/* not quite for itself: one would not have done */
	ck_assert_double_eq_tol(fitted_beside_another(15), 1.33, 0.1);
}
END_TEST

SUITE()
{
	TEST(what_others_used_is_not_there);
	TEST(what_took_one_thread_longer_was_no_lack_of_cpus);
	TEST(what_another_had_for_itself_is_a_whole_cpu);
}

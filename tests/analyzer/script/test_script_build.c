/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if CPUs or usual latencies are not those of the recording. */
#include "script/script.h"

#include "sketch.h"
#include "suite.h"

#include <math.h>

/* A CPU time of `cpu_ms` each of two threads in 20 ms, who waited `queued_ms` for a CPU. */
START_TEST(cpus_are_those_of_the_recording)
{
	static const struct {
		int row;
		uint32_t cpus;
		unsigned cpu_ms, queued_ms;
		double recorded_cpus;
		bool was_crowded, made_crowd;
	} rows[] = {
		{ 1, 1, 10, 10, 1, true, true },
		{ 2, 1, 1, 10, 1, true, false }, /* somebody else used it */
		{ 3, 1, 1, 0, 1, false, false },
		{ 4, 2, 10, 0, 2, false, false },
		{ 5, 0, 10, 0, INFINITY, false, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct script_options options = { 0 };
		struct rec_sample samples[4];
		struct sketch sketch;
		struct script script;

		sketch_begin(&sketch);
		for (uint32_t t = 0; t < 2; t++) {
			sketch_thread(&sketch, "burner", 0, 20);
			samples[2 * t] = (struct rec_sample){ .thread = t, .queued_ns = 1 };
			samples[2 * t + 1] =
				(struct rec_sample){ .at_ns = 20 * SKETCH_MS,
						     .cpu_ns = rows[i].cpu_ms * SKETCH_MS,
						     .queued_ns = 1 + rows[i].queued_ms * SKETCH_MS,
						     .thread = t };
		}
		sketch.rec.processes[0].cpus = rows[i].cpus;
		sketch.rec.samples = samples;
		sketch.rec.sample_count = 4;
		sketch_end(&sketch);
		script_build(&script, &sketch.rec, &sketch.classes, &options);
		ck_assert_msg(script.recorded_cpus == rows[i].recorded_cpus &&
				      script.was_crowded == rows[i].was_crowded &&
				      script.made_crowd == rows[i].made_crowd,
			      "row %d: %f CPUs", rows[i].row, script.recorded_cpus);
		script_free(&script);
		sketch_free(&sketch);
	}
}
END_TEST

SUITE()
{
	TEST(cpus_are_those_of_the_recording);
}

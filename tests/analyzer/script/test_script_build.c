/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if CPUs or usual latencies are not those of the recording. */
#include "script/script.h"

#include "sketch.h"
#include "suite.h"

#include <math.h>

START_TEST(cpus_are_as_recorded_unless_asked)
{
	static struct rec_sample sample = { .at_ns = 0, .cpu_ns = 500, .thread = 0 };
	static const struct {
		bool has_samples;
		double asked, cpus;
	} rows[] = {
		/* 0 */ { true, 0, 2 },
		/* 1 */ { true, 4, 4 },
		/* 2 */ { true, INFINITY, INFINITY },
		/* 3 */ { false, 0, INFINITY }, /* what ran is not known */
		/* 4 */ { false, 1, 1 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct script_options options = { .cpus = rows[i].asked };
		struct sketch sketch;
		struct script script;

		sketch_begin(&sketch);
		sketch_thread(&sketch, "main", 0, 10);
		sketch.rec.processes[0].cpus = 2;
		sketch.rec.samples = &sample;
		sketch.rec.sample_count = rows[i].has_samples;
		sketch_end(&sketch);
		script_build(&script, &sketch.rec, &sketch.classes, &options);
		ck_assert_msg(script.cpus == rows[i].cpus && script.recorded_cpus == 2, "row %zu",
			      i);
		script_free(&script);
		sketch_free(&sketch);
	}
}
END_TEST

SUITE()
{
	TEST(cpus_are_as_recorded_unless_asked);
}

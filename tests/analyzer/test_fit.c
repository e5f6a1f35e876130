/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if CPUs that others used are taken for the recorded program's, or the other way round. */
#include "fit.h"

#include "sketch.h"

#include <check.h>

/* Three threads that burn 10 ms of CPU time each on two CPUs, in `wall_ms`. */
static double fitted(double wall_ms, double asked)
{
	struct sketch sketch;
	struct script script;
	struct rec_sample samples[6];
	const struct script_options options = { .cpus = asked };

	sketch_begin(&sketch);
	for (uint32_t t = 0; t < 3; t++) {
		sketch_thread(&sketch, "burner", 0, wall_ms + 0.001 * t); /* the last one counts */
		samples[2 * t] = (struct rec_sample){ .thread = t };
		samples[2 * t + 1] = (struct rec_sample){ .at_ns = (uint64_t)(wall_ms * 1e6),
							  .cpu_ns = 10 * SKETCH_MS,
							  .thread = t };
	}
	sketch.rec.processes[0].cpus = 2;
	sketch.rec.samples = samples;
	sketch.rec.sample_count = 6;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &options);
	fit_cpus(&script);
	double cpus = script.cpus;
	script_free(&script);
	sketch_free(&sketch);
	return cpus;
}

START_TEST(what_others_used_is_not_there)
{
	ck_assert_double_eq_tol(fitted(15, 0), 2, 1e-9);
	ck_assert_double_eq_tol(fitted(30, 0), 1, 0.06);
	ck_assert_double_eq_tol(fitted(20, 0), 1.6, 0.15); /* slices are coarse */
	ck_assert_double_eq_tol(fitted(30, 4), 4, 1e-9);   /* asked for */
}
END_TEST

static Suite *suite(void)
{
	Suite *suite = suite_create("fit");
	TCase *tcase = tcase_create("fit");

	tcase_add_test(tcase, what_others_used_is_not_there);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(suite());

	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}

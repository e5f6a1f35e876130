/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a curve would be that of another class, or not go through the answers of the
 * table.
 */
#include "ask/curves.h"

#include "recording/recording.h"
#include "suite.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { CLASSES = 12, FACTORS = 2, RUNAWAY = 6 };

static const double factors[FACTORS] = { 0, 0.5 };
static atomic_int trials_run;

static void *no_scratch(const struct replayer *replayer)
{
	(void)replayer;
	return calloc(1, 1);
}

/* Class c saves c us times what is left out; below 0.2 nothing ends class RUNAWAY. */
static void run(const struct replayer *replayer, const struct trial *trials, size_t count,
		void *scratch, struct replay_answer *answers)
{
	(void)replayer;
	ck_assert_ptr_nonnull(scratch);
	for (size_t i = 0; i < count; i++) {
		const struct scaling *scaling = trials[i].scalings;
		double saved_ns =
			trials[i].count ? 1000.0 * scaling->class * (1 - scaling->factor) : 0;
		answers[i] = (struct replay_answer){ .makespan_ns = 1e6 - saved_ns };
		answers[i].ran_away =
			trials[i].count && scaling->class == RUNAWAY && scaling->factor < 0.2;
		trials_run += trials[i].count > 0;
	}
}

/* Row i is of class CLASSES - 1 - i, and the second one is the same as the first. */
static void build(struct curves *curves, size_t threads)
{
	static struct whatif_row rows[CLASSES];
	static struct estimate estimates[CLASSES][FACTORS];
	const struct replayer replayer = {
		.scratch_new = no_scratch, .scratch_free = free, .run = run, .classes_at_once = 1
	};
	const struct whatif_options options = { .factors = factors,
						.factor_count = FACTORS,
						.thread_count = threads };
	struct whatif whatif = { .rows = rows, .row_count = CLASSES };
	struct estimator estimator;
	for (uint32_t i = 0; i < CLASSES; i++) {
		rows[i] = (struct whatif_row){ .class = CLASSES - 1 - i,
					       .same_as = i == 1 ? CLASSES - 1 : NO_INDEX,
					       .estimates = estimates[i] };
		for (size_t f = 0; f < FACTORS; f++)
			estimates[i][f] = (struct estimate){ .saved_ns = 7, .most_ns = 9 };
	}
	estimator_begin(&estimator, &replayer, NULL);
	trials_run = 0;
	curves_build(curves, &whatif, &estimator, &options);
	estimator_end(&estimator);
}

START_TEST(points_are_of_the_best_classes)
{
	struct curves curves;
	build(&curves, (size_t)_i);
	/* the third from below lacks 0.1 */
	ck_assert_uint_eq(curves.count, CURVES_MOST * CURVE_POINTS - 1);
	ck_assert_int_eq(trials_run, CURVES_MOST * (CURVE_POINTS - 1 - FACTORS));
	for (size_t i = 0; i < curves.count; i++) {
		const struct curve_point *point = &curves.points[i];
		double saved_ns = 1000.0 * point->class * (1 - point->factor);
		bool is_known = point->factor == 0 || point->factor == 0.5;
		ck_assert_uint_ne(point->class, CLASSES - 2);
		ck_assert(i == 0 || point->class < point[-1].class ||
			  (point->class == point[-1].class && point->factor < point[-1].factor));
		ck_assert_double_eq_tol(point->estimate.saved_ns, is_known ? 7 : saved_ns, 0.01);
	}
	ck_assert_uint_eq(curves.points[0].class, CLASSES - 1);
	ck_assert_double_eq(curves.points[0].factor, 1);
	ck_assert_double_eq(curves.points[CURVE_POINTS - 1].factor, 0);
	curves_free(&curves);
}
END_TEST

START_TEST(no_rows_have_no_curves)
{
	struct curves curves;
	const struct replayer replayer = {
		.scratch_new = no_scratch, .scratch_free = free, .run = run, .classes_at_once = 1
	};
	const struct whatif whatif = { 0 };
	struct estimator estimator;
	estimator_begin(&estimator, &replayer, NULL);
	curves_build(&curves, &whatif, &estimator,
		     &(const struct whatif_options){ .factors = factors, .factor_count = FACTORS });
	ck_assert_uint_eq(curves.count, 0);
	curves_free(&curves);
	estimator_end(&estimator);
}
END_TEST

SUITE()
{
	LOOP(points_are_of_the_best_classes, 1, 4);
	TEST(no_rows_have_no_curves);
}

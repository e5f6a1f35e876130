/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a gain would be said to stop where it goes on, or the wrong class would be called
 * the next limit.
 */
#include "ask/prospects.h"

#include "recording/recording.h"
#include "suite.h"

#include <stdlib.h>

/*
 * Two threads side by side, of 100 (class 0) and 60 ms (class 1), and 10 ms (class 2) before both;
 * class 3 is nowhere.
 */
enum { CLASSES = 4 };

static void *no_scratch(const struct replayer *replayer)
{
	(void)replayer;
	return calloc(1, 1);
}

static void run_trial(const struct replayer *replayer, const struct trial *trial, void *scratch,
		      struct replay_answer *answer)
{
	double factor[CLASSES] = { 1, 1, 1, 1 };
	(void)replayer;
	ck_assert_ptr_nonnull(scratch);
	for (size_t i = 0; i < trial->count; i++)
		factor[trial->scalings[i].class] *= trial->scalings[i].factor;
	double one_ms = 100 * factor[0], other_ms = 60 * factor[1];
	double most_ms = one_ms > other_ms ? one_ms : other_ms;
	*answer = (struct replay_answer){ .makespan_ns = (10 * factor[2] + most_ms) * 1e6 };
}

static void run(const struct replayer *replayer, const struct trial *trials, size_t count,
		void *scratch, struct replay_answer *answers)
{
	for (size_t i = 0; i < count; i++)
		run_trial(replayer, &trials[i], scratch, &answers[i]);
}

static const uint64_t weight_ns[CLASSES] = { 100000000, 60000000, 10000000, 1000 };
static const double factors[] = { 0.5, 0 };

static void build(struct whatif *whatif, size_t threads, size_t cost)
{
	static struct whatif_row rows[CLASSES];
	static struct estimate estimates[CLASSES][2];
	const struct replayer replayer = { .scratch_new = no_scratch,
					   .scratch_free = free,
					   .run = run,
					   .classes_at_once = 1,
					   .cost = cost };
	const struct whatif_options options = { .factors = factors,
						.factor_count = 2,
						.weight_ns = weight_ns,
						.thread_count = threads };
	struct estimator estimator;
	estimator_begin(&estimator, &replayer, NULL);
	*whatif = (struct whatif){ .rows = rows, .row_count = CLASSES };
	whatif->baseline = estimator.baseline;
	for (uint32_t i = 0; i < CLASSES; i++) {
		rows[i] = (struct whatif_row){ .class = i,
					       .estimates = estimates[i],
					       .same_as = NO_INDEX,
					       .within = NO_INDEX,
					       .next_class = NO_INDEX };
		for (size_t f = 0; f < 2; f++) {
			const struct scaling scaling = { i, factors[f] };
			const struct trial trial = { .scalings = &scaling, .count = 1 };
			const struct replay_answer answer = replayer_try(&replayer, &trial);
			estimates[i][f] = estimate_first(&estimator, &trial, &answer);
		}
	}
	prospects_build(whatif, &estimator, &options, 1);
	estimator_end(&estimator);
}

START_TEST(a_gain_stops_where_something_else_takes_as_long)
{
	struct whatif whatif;
	build(&whatif, (size_t)_i, 1);
	ck_assert_double_eq_tol(whatif.rows[0].stops_at, 0.6, 0.03);
	ck_assert_uint_eq(whatif.rows[0].next_class, 1);
	ck_assert_double_eq(whatif.rows[1].stops_at, 0); /* saves nothing at all */
	ck_assert_double_eq(whatif.rows[2].stops_at, 0); /* goes on to the end */
	ck_assert_uint_eq(whatif.rows[2].next_class, NO_INDEX);
}
END_TEST

START_TEST(what_would_take_long_is_not_looked_into)
{
	struct whatif whatif;
	build(&whatif, 1, 1000000000);
	ck_assert_double_eq(whatif.rows[0].stops_at, 0);
	build(&whatif, 1, 10000000); /* enough for where, not for what */
	ck_assert_double_eq_tol(whatif.rows[0].stops_at, 0.6, 0.03);
	ck_assert_uint_eq(whatif.rows[0].next_class, NO_INDEX);
}
END_TEST

SUITE()
{
	LOOP(a_gain_stops_where_something_else_takes_as_long, 0, 4);
	TEST(what_would_take_long_is_not_looked_into);
}

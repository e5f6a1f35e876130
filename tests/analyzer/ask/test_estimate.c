/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, an answer would be taken for surer than it is, or the table would say other than
 * --what-if.
 */
#include "ask/estimate.h"

#include <math.h>

#include "ask/asked.h"
#include "ask/whatif.h"
#include "rebuilt.h"
#include "replay/simulate.h"
#include "suite.h"

/* --- any replay --- */

/*
 * The unchanged run takes 100 ms, and the class 0 is 60 of it. Handed over otherwise, the whole
 * takes 20 ms more whatever the class takes. With timeouts kept it takes 5 ms more, with the latest
 * jobs first 7 ms. With CPUs shared it takes 3 ms less with the class gone.
 */
static void *no_scratch(const struct replayer *replayer)
{
	(void)replayer;
	return calloc(1, 1);
}

static unsigned runs;

static void run(const struct replayer *replayer, const struct trial *trials, size_t count,
		void *scratch, struct replay_answer *answers)
{
	ck_assert_ptr_nonnull(scratch);
	for (size_t i = 0; i < count; i++) {
		const struct trial *trial = &trials[i];
		double class_ms = trial->count ? 60 * trial->scalings[0].factor : 60;
		double fair_ms = trial->count && trial->is_fair ? 20 : 0;
		double kept_ms = trial->count && trial->keeps_timeouts ? 5 : 0;
		double latest_ms = trial->count && trial->takes_latest ? 7
				   : trial->count && trial->shares_all ? 8
								       : 0;
		double gone_ms = trial->shares_cpus ? 3 * (60 - class_ms) / 60 : 0;
		double jitter_ms = trial->count && trial->jitter ? 10.0 * trial->jitter : 0;
		runs++;
		answers[i] =
			(struct replay_answer){ .makespan_ns = (40 + class_ms + fair_ms + kept_ms +
								latest_ms - gone_ms + jitter_ms) *
							       1e6,
						.forced_steps = trial->is_fair ? 2 : 1 };
		if (trial->finish_ns)
			*trial->finish_ns = trial->jitter + 1;
		for (size_t r = 0; trial->requests && r < replayer->request_count; r++)
			trial->requests[r] =
				(struct request_time){ .start_ns = 1000 * r,
						       .taken_ns = (uint64_t)(10 * class_ms) };
		for (size_t f = 0; f < REQUEST_FIGURES; f++)
			answers[i].requests_ns[f] = 10 * class_ms;
	}
}

static const struct {
	struct replayer replayer;
	double sampling_error;
	size_t estimate_count;
	bool is_affordable;
	double saved_ms, least_ms, most_ms;
	bool depends_on_order, depends_on_cpus;
	unsigned runs; /* of one estimate */
} rows[] = {
	/* 0: nothing else is known */
	{ { .cost = 1 }, 0, 1, false, 60, 60, 60, false, false, 1 },
	/* 1: locks */
	{ { .cost = 1, .has_locks = true }, 0, 1, true, 60, 40, 60, true, false, 2 },
	/* 2: CPUs */
	{ { .cost = 1, .is_crowded = true }, 0, 1, true, 60, 60, 63, false, true, 2 },
	/* 3: jitter, of which the median is the third of 10, 20, 30, 40, 50, 60 */
	{ { .cost = 1, .has_jitter = true }, 0, 1, true, 30, 0, 60, true, false, 7 },
	/* 4: all, and with sampling 30 * 1.96 * 0.1 more */
	{ { .cost = 1, .has_jitter = true, .has_locks = true, .is_crowded = true },
	  0.1,
	  1,
	  true,
	  30,
	  0 - 5.88,
	  63 + 5.88,
	  true,
	  true,
	  9 },
	/* 5: sampling alone */
	{ { .cost = 1 }, 0.1, 1, false, 60, 60 - 11.76, 60 + 11.76, false, false, 1 },
	/* 6: no time for jitter */
	{ { .cost = 10000, .has_jitter = true, .has_locks = true, .is_crowded = true },
	  0,
	  10000,
	  true,
	  60,
	  40,
	  63,
	  true,
	  true,
	  3 },
	/* 7: nor for CPUs */
	{ { .cost = 20000, .has_jitter = true, .has_locks = true, .is_crowded = true },
	  0,
	  10000,
	  true,
	  60,
	  40,
	  60,
	  true,
	  false,
	  2 },
	/* 8: nor for locks */
	{ { .cost = 40000, .has_jitter = true, .has_locks = true, .is_crowded = true },
	  0,
	  10000,
	  false,
	  60,
	  60,
	  60,
	  false,
	  false,
	  1 },
	/* 9: timeouts */
	{ { .cost = 1, .has_timeouts = true }, 0, 1, true, 60, 55, 60, false, false, 2 },
	/* 10: jobs that a pool puts for itself */
	{ { .cost = 1, .feeds_pools = true }, 0, 1, true, 60, 53, 60, false, false, 2 },
	/* 11: pieces that may be shared out */
	{ { .cost = 1, .has_unsure_rounds = true }, 0, 1, true, 60, 52, 60, false, false, 2 },
};

START_TEST(the_widest_of_causes_counts)
{
	struct replayer replayer = rows[_i].replayer;
	const struct scaling scaling = { 0, 0 };
	uint64_t finish_ns = 0;
	const struct trial trial = { .scalings = &scaling, .count = 1, .finish_ns = &finish_ns };
	struct estimator estimator;

	replayer.scratch_new = no_scratch;
	replayer.scratch_free = free;
	replayer.run = run;
	replayer.classes_at_once = 1;
	replayer.finish_count = 1;
	estimator_begin(&estimator, &replayer,
			rows[_i].sampling_error > 0 ? &rows[_i].sampling_error : NULL);
	ck_assert_uint_eq(estimator.baseline_finish_ns[0], 1);
	ck_assert(estimator_afford(&estimator, rows[_i].estimate_count) == rows[_i].is_affordable);
	runs = 0;
	const struct estimate estimate = estimate_make(&estimator, &replayer, &trial, NULL,
						       estimator_scratch(&estimator, 1));
	ck_assert_uint_eq(runs, rows[_i].runs);
	ck_assert_double_eq_tol(estimate.saved_ns / 1e6, rows[_i].saved_ms, 1e-6);
	ck_assert_double_eq_tol(estimate.least_ns / 1e6, rows[_i].least_ms, 1e-6);
	ck_assert_double_eq_tol(estimate.most_ns / 1e6, rows[_i].most_ms, 1e-6);
	ck_assert(estimate.depends_on_order == rows[_i].depends_on_order);
	ck_assert(estimate.depends_on_cpus == rows[_i].depends_on_cpus);
	ck_assert(estimate.depends_on_timeouts == rows[_i].replayer.has_timeouts);
	ck_assert(estimate.depends_on_jobs ==
		  (rows[_i].replayer.feeds_pools || rows[_i].replayer.has_unsure_rounds));
	ck_assert_uint_eq(estimate.forced_steps, rows[_i].least_ms < 41 && runs != 7 ? 2 : 1);
	ck_assert_uint_eq(finish_ns, estimate.saved_ns < 59e6 ? 4 : 1);
	estimator_end(&estimator);
}
END_TEST

/* All requests take 600 ns in the replay, and 300 ns if the class takes half as long. */
START_TEST(savings_of_requests_are_no_surer_than_the_replay)
{
	const struct replayer replayer = { .scratch_new = no_scratch,
					   .scratch_free = free,
					   .run = run,
					   .classes_at_once = 1,
					   .request_count = 200 };
	static const double recorded_ns[REQUEST_FIGURES] = {
		[REQUEST_MEAN] = NAN, [REQUEST_P50] = 580, [REQUEST_P95] = 650, [REQUEST_P99] = 600
	};
	const struct scaling scaling = { 0, 0.5 };
	const struct trial trial = { .scalings = &scaling, .count = 1 };
	struct estimator estimator;

	estimator_begin(&estimator, &replayer, NULL);
	estimator_compare(&estimator, recorded_ns);
	estimator_afford(&estimator, 1);
	const struct estimate estimate = estimate_make(&estimator, &replayer, &trial, NULL,
						       estimator_scratch(&estimator, 0));
	const struct shortened *median = &estimate.requests[REQUEST_P50];
	ck_assert(median->is_known);
	ck_assert_double_eq_tol(median->saved_ns, 300, 1);
	ck_assert_double_eq_tol(median->least_ns, 280, 1);
	ck_assert_double_eq_tol(median->most_ns, 320, 1);
	ck_assert_double_eq_tol(estimate.requests[REQUEST_P95].most_ns, 350, 1);
	ck_assert_double_eq_tol(estimate.requests[REQUEST_MEAN].most_ns, 300, 1);
	estimator_end(&estimator);
}
END_TEST

/* Nobody needs a CPU in the recorded run, but with fewer of them. */
START_TEST(a_variant_may_depend_on_more)
{
	const struct replayer replayer = {
		.scratch_new = no_scratch, .scratch_free = free, .run = run, .classes_at_once = 1
	};
	struct replayer variant = replayer;
	const struct scaling scaling = { 0, 0.5 };
	const struct trial trial = { .scalings = &scaling, .count = 1 };
	struct estimator estimator;

	variant.is_crowded = true;
	estimator_begin(&estimator, &replayer, NULL);
	estimator_afford(&estimator, 1);
	const struct estimate estimate =
		estimate_make(&estimator, &variant, &trial, NULL, estimator_scratch(&estimator, 0));
	ck_assert_double_eq_tol(estimate.saved_ns, 30e6, 1);
	ck_assert_double_eq_tol(estimate.most_ns, 31.5e6, 1);
	estimator_end(&estimator);
}
END_TEST

/* A thread that is let go by force goes on too late, so that the run seems to become slower. */
START_TEST(a_replay_that_is_only_later_by_force_has_no_answer)
{
	static const struct {
		double makespan_ms;
		uint64_t forced_steps;
		bool is_none;
	} answers[] = { { 110, 1, false }, { 110, 2, true }, { 90, 2, false }, { 90, 0, false } };
	const struct replayer replayer = {
		.scratch_new = no_scratch, .scratch_free = free, .run = run, .classes_at_once = 1
	};
	const struct scaling scaling = { 0, 0.5 };
	const struct trial trial = { .scalings = &scaling, .count = 1 };
	struct estimator estimator;

	estimator_begin(&estimator, &replayer, NULL);
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		const struct replay_answer answer = { .makespan_ns = answers[i].makespan_ms * 1e6,
						      .forced_steps = answers[i].forced_steps };

		ck_assert(estimate_first(&estimator, &trial, &answer).is_none ==
			  answers[i].is_none);
	}
	estimator_end(&estimator);
}
END_TEST

/* --- one answer for one question --- */

/*
 * Two threads take turns at a lock for 190 ms; then one goes on for 100 ms more. If they come back
 * at once, it depends on who gets the lock how long the other one, and that end, must wait.
 */
static void contended_lock(struct sketch *sketch)
{
	rebuilt_two(sketch, 292, 202);
	for (int i = 0; i < 10; i++) {
		double one_ms = 20 * i, two_ms = one_ms + 10;

		sketch_wait(sketch, 1, REASON_MUTEX, "M", i ? one_ms - 8 : 0, one_ms, NO_INDEX);
		sketch_hold(sketch, 1, "M", 1, one_ms, one_ms + 10);
		sketch_sleep(sketch, 1, "out", one_ms + 10, one_ms + 12);
		sketch_wait(sketch, 2, REASON_MUTEX, "M", i ? two_ms - 8 : 0, two_ms, NO_INDEX);
		sketch_hold(sketch, 2, "M", 2, two_ms, two_ms + 10);
		sketch_sleep(sketch, 2, "out", two_ms + 10, two_ms + 12);
	}
	sketch_sleep(sketch, 1, "end", 192, 292);
	sketch_end(sketch);
}

static void same_answer(const struct estimate *row, const struct estimate *answer)
{
	ck_assert_double_eq(row->saved_ns, answer->saved_ns);
	ck_assert_double_eq(row->least_ns, answer->least_ns);
	ck_assert_double_eq(row->most_ns, answer->most_ns);
	ck_assert(row->depends_on_order == answer->depends_on_order);
	ck_assert(row->depends_on_cpus == answer->depends_on_cpus);
	ck_assert_uint_eq(row->forced_steps, answer->forced_steps);
}

START_TEST(the_table_says_what_is_said_to_who_asks)
{
	static const double factors[] = { 0.5, 0 };
	static const char *questions[] = { "out*0.5", "out*0" };
	const struct text_list list = { .texts = { questions[0], questions[1] }, .count = 2 };
	const char *names[SKETCH_MAX], *kinds[SKETCH_MAX];
	double error_of[SKETCH_MAX];
	char error[OPTIONS_ERROR_BYTES];
	struct sketch sketch;
	struct script script;
	struct machine machine;
	struct estimator estimator;
	struct selftime selftime = { 0 };
	struct whatif whatif;
	struct asked asked;

	contended_lock(&sketch);
	uint32_t count = sketch.classes.count, by_total[SKETCH_MAX];
	for (uint32_t i = 0; i < count; i++) {
		names[i] = sketch.strings[sketch.classes.classes[i].name];
		kinds[i] = "any";
		error_of[i] = _i ? 0.1 : 0;
		by_total[i] = i;
	}
	selftime.by_total = by_total;
	script_build(&script, &sketch.rec, &sketch.classes, &(const struct script_options){ 0 });
	machine_begin(&machine, &script, _i == 2 ? 1 : 0);
	struct replayer replayer = simulate_replayer(&script, &machine);
	const struct subjects subjects = { names, kinds, count };
	uint64_t weight_ns[SKETCH_MAX] = { 0 };
	bool is_asked[SKETCH_MAX] = { false };
	if (_i == 3)
		replayer.cost = 50000000; /* a table has no time for ranges then */
	estimator_begin(&estimator, &replayer, error_of);
	const struct asked_of of = { &estimator, &script, &sketch.classes, &subjects, NULL };
	ck_assert_int_eq(asked_build(&asked, &of, &list, error), 0);
	const struct whatif_options options = {
		.factors = factors, .factor_count = 2, .weight_ns = weight_ns, .is_asked = is_asked
	};
	is_asked[asked.answers[0].class] = true;
	whatif_build(&whatif, &estimator, &sketch.classes, &selftime, &options);
	const struct whatif_row *row = whatif.rows;
	while (row->class != sketch_class(&sketch, "out"))
		row++;
	ck_assert(row->is_sure);
	for (size_t f = 0; f < 2; f++)
		same_answer(&row->estimates[f], &asked.answers[f].estimate);
	/* the order decides about most of the end */
	ck_assert_double_ge(row->estimates[1].most_ns - row->estimates[1].least_ns, 80e6);
	ck_assert(row->estimates[1].depends_on_order);
	whatif_free(&whatif);
	asked_free(&asked);
	estimator_end(&estimator);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(the_widest_of_causes_counts, rows);
	TEST(savings_of_requests_are_no_surer_than_the_replay);
	TEST(a_variant_may_depend_on_more);
	TEST(a_replay_that_is_only_later_by_force_has_no_answer);
	LOOP(the_table_says_what_is_said_to_who_asks, 0, 4);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, hypotheses would be lost, ranked wrongly, or given the answer of another.
 */
#include "sketch.h"
#include <stdatomic.h>

#include "ask/whatif.h"
#include "suite.h"

enum { CLASSES = 40 };

/* A replay that saves, of class c, c * (1 - factor): who asks must not know how it does that. */
static void *no_scratch(const struct replayer *replayer)
{
	(void)replayer;
	return calloc(1, 1);
}

static void easy_trial(const struct replayer *replayer, const struct trial *trial,
		       struct replay_answer *answer)
{
	double makespan_ns = 1e6;
	for (size_t i = 0; i < trial->count; i++)
		makespan_ns -= 100.0 * trial->scalings[i].class * (1 - trial->scalings[i].factor);
	*answer = (struct replay_answer){ .makespan_ns = makespan_ns, .broken_cycles = 3 };
	for (size_t i = 0; trial->finish_ns && i < replayer->finish_count; i++)
		trial->finish_ns[i] = (uint64_t)makespan_ns + i;
}

static void easy_run(const struct replayer *replayer, const struct trial *trials, size_t count,
		     void *scratch, struct replay_answer *answers)
{
	ck_assert_ptr_nonnull(scratch);
	for (size_t i = 0; i < count; i++)
		easy_trial(replayer, &trials[i], &answers[i]);
}

static const struct replayer easy_replayers[] = {
	/* 0 */ { .classes_at_once = 1,
		  .has_jitter = true,
		  .scratch_new = no_scratch,
		  .scratch_free = free,
		  .run = easy_run,
		  .finish_count = 2 },
	/* 1 */
	{ .classes_at_once = 7, .scratch_new = no_scratch, .scratch_free = free, .run = easy_run },
	/* 2 */
	{ .classes_at_once = 100000,
	  .scratch_new = no_scratch,
	  .scratch_free = free,
	  .run = easy_run },
};

enum { REPLAYERS = sizeof(easy_replayers) / sizeof(easy_replayers[0]) };

/* Class i has i + 1 ns of self time. */
static void ask_with(struct whatif *whatif, const struct replayer *replayer,
		     const double *sampling_error, const struct whatif_options *options)
{
	struct sketch sketch;
	struct graph graph;
	struct class_table classes;
	struct selftime selftime;
	sketch_begin(&sketch);
	for (uint32_t i = 0; i < CLASSES; i++)
		sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1 + i, 0, i + 1);
	graph_build(&graph, &sketch.rec);
	class_table_build(&classes, &sketch.rec, NULL);
	selftime_build(&selftime, &graph, &classes);
	struct estimator estimator;
	estimator_begin(&estimator, replayer, sampling_error);
	whatif_build(whatif, &estimator, &classes, &selftime, options);
	estimator_end(&estimator);
	selftime_free(&selftime);
	class_table_free(&classes);
	graph_free(&graph);
	sketch_free(&sketch);
}

static void ask(struct whatif *whatif, const struct replayer *replayer,
		const struct whatif_options *options)
{
	ask_with(whatif, replayer, NULL, options);
}

START_TEST(rows_are_ranked_by_the_smallest_factor)
{
	static const double factors[] = { 0.9, 0.25, 0.5 };
	struct whatif whatif;
	ask(&whatif, &easy_replayers[_i % REPLAYERS],
	    &(const struct whatif_options){ .factors = factors,
					    .factor_count = 3,
					    .thread_count = (size_t)_i / REPLAYERS });
	ck_assert_uint_eq(whatif.row_count, CLASSES);
	ck_assert_double_eq(whatif.baseline.makespan_ns, 1e6);
	ck_assert_uint_eq(whatif.baseline.broken_cycles, 3);
	for (uint32_t i = 0; i < CLASSES; i++) {
		ck_assert_uint_eq(whatif.rows[i].class, CLASSES - 1 - i);
		for (size_t f = 0; f < 3; f++)
			ck_assert_double_eq_tol(whatif.rows[i].estimates[f].saved_ns,
						100.0 * whatif.rows[i].class * (1 - factors[f]),
						1e-6);
		for (size_t t = 0; t < 2 * whatif.finish_count; t++)
			ck_assert_uint_eq(
				whatif.rows[i].finish_ns[t],
				(uint64_t)(1e6 - whatif.rows[i].estimates[t / 2].saved_ns) + t % 2);
	}
	whatif_free(&whatif);
}
END_TEST

static atomic_size_t runs;

enum { FUNCTIONS = 2 * CLASSES, HYPOTHESES_MAX = 3 * CLASSES };

/* Function CLASSES + c as class c, FUNCTIONS + c as all classes up to c. */
static void counting_run(const struct replayer *replayer, const struct trial *trials, size_t count,
			 void *scratch, struct replay_answer *answers)
{
	ck_assert_ptr_nonnull(scratch);
	for (size_t i = 0; i < count; i++) {
		struct scaling scaling = { 0 };
		struct trial trial = trials[i];
		if (trial.count == 1) {
			scaling = trials[i].scalings[0];
			runs++;
			scaling.class = scaling.class < FUNCTIONS ? scaling.class % CLASSES
								  : scaling.class - FUNCTIONS + 1;
			trial.scalings = &scaling;
		}
		easy_trial(replayer, &trial, &answers[i]);
	}
}

/* Each class is a stretch of its own. */
struct easy_reach {
	struct reach reach;
	struct script script;
	struct function functions[FUNCTIONS];
	uint64_t scope_ns[CLASSES];
	struct share parts[2 * CLASSES + CLASSES * CLASSES];
	size_t first[HYPOTHESES_MAX + 1];
	double total_ns[HYPOTHESES_MAX];
	uint64_t weight_ns[HYPOTHESES_MAX];
};

static void easy_reach_begin(struct easy_reach *of)
{
	size_t at = 0;
	*of = (struct easy_reach){ .script = { .class_count = CLASSES,
					       .scope_ns = of->scope_ns,
					       .shares.functions = of->functions },
				   .reach = { .script = &of->script,
					      .count = HYPOTHESES_MAX,
					      .first = of->first,
					      .parts = of->parts,
					      .total_ns = of->total_ns } };
	for (uint32_t i = 0; i < HYPOTHESES_MAX; i++) {
		uint32_t c = i % CLASSES, from = i < FUNCTIONS ? c : 0;
		of->scope_ns[c] = 1000;
		for (uint32_t s = from; s <= c; s++)
			of->parts[at++] = (struct share){ s, 1 };
		of->first[i + 1] = at;
		of->total_ns[i] = 1000 * (c - from + 1);
		/* functions are in order of time */
		of->weight_ns[i] = 10 + HYPOTHESES_MAX - i;
	}
}

/* Class 0 saves 100, class 1 250, function 2 200. */
static void wrapped_run(const struct replayer *replayer, const struct trial *trials, size_t count,
			void *scratch, struct replay_answer *answers)
{
	static const double saved_ns[] = { 100, 250, 200 };
	(void)replayer;
	(void)scratch;
	for (size_t i = 0; i < count; i++)
		answers[i] = (struct replay_answer){
			.makespan_ns =
				1e6 - (trials[i].count ? saved_ns[trials[i].scalings[0].class] : 0)
		};
}

START_TEST(what_is_the_same_is_tried_once)
{
	static const double factors[] = { 0.9, 0.25, 0.5 };
	struct easy_reach reach;
	struct whatif whatif;
	struct replayer replayer = easy_replayers[0];
	replayer.run = counting_run;
	easy_reach_begin(&reach);
	runs = 0;
	ask(&whatif, &replayer,
	    &(const struct whatif_options){ .factors = factors,
					    .factor_count = 3,
					    .hypothesis_count = FUNCTIONS,
					    .weight_ns = reach.weight_ns,
					    .reach = &reach.reach,
					    .thread_count = (size_t)_i });
	/* and the best ones twice with jitter; prospects look at ten, with five halvings and a
	 * first look */
	ck_assert_uint_ge(runs, 3 * CLASSES + 2 * 3 * WHATIF_BEST_ROWS);
	ck_assert_uint_lt(runs, 2 * 3 * CLASSES);
	ck_assert_uint_eq(whatif.row_count, FUNCTIONS);
	for (size_t i = 0; i < whatif.row_count; i++) {
		const struct whatif_row *row = &whatif.rows[i];
		bool is_function = row->class >= CLASSES;
		ck_assert_uint_eq(row->same_as, is_function ? row->class - CLASSES : NO_INDEX);
		const struct whatif_row *same = whatif_find(&whatif, row->same_as);
		for (size_t f = 0; is_function && f < 3; f++)
			ck_assert(row->estimates[f].saved_ns == same->estimates[f].saved_ns &&
				  row->estimates[f].least_ns == same->estimates[f].least_ns &&
				  row->estimates[f].most_ns == same->estimates[f].most_ns &&
				  row->estimates[f].requests[REQUEST_P99].saved_ns ==
					  same->estimates[f].requests[REQUEST_P99].saved_ns);
		for (size_t t = 0; is_function && t < 3 * whatif.finish_count; t++)
			ck_assert_uint_eq(row->finish_ns[t], same->finish_ns[t]);
	}
	whatif_free(&whatif);
}
END_TEST

/* The function around all classes saves most, and a little more than the best of them. */
START_TEST(a_function_ranks_by_what_its_best_part_does_not_save)
{
	static const double factors[] = { 0 };
	struct easy_reach reach;
	struct whatif whatif;
	struct replayer replayer = easy_replayers[0];
	bool is_wanted[HYPOTHESES_MAX] = { false };
	replayer.run = counting_run;
	easy_reach_begin(&reach);
	memset(is_wanted, true, CLASSES);
	is_wanted[HYPOTHESES_MAX - 1] = true;
	ask(&whatif, &replayer,
	    &(const struct whatif_options){ .factors = factors,
					    .factor_count = 1,
					    .hypothesis_count = HYPOTHESES_MAX,
					    .weight_ns = reach.weight_ns,
					    .is_wanted = is_wanted,
					    .reach = &reach.reach });
	ck_assert_uint_eq(whatif.rows[0].class, CLASSES - 1);
	const struct whatif_row *outer = whatif_find(&whatif, HYPOTHESES_MAX - 1);
	ck_assert_ptr_nonnull(outer);
	ck_assert_uint_eq(outer->within, CLASSES - 1);
	ck_assert_double_eq_tol(outer->estimates[0].saved_ns, 100.0 * CLASSES, 1e-6);
	ck_assert_double_eq_tol(whatif_own_ns(&whatif, outer, 0), 100, 1e-6);
	ck_assert_uint_ge((size_t)(outer - whatif.rows), CLASSES - 2);
	whatif_free(&whatif);
}
END_TEST

/* A class with parts comes after the one that it mostly is, another one does not. */
START_TEST(a_wrapper_ranks_after_its_best_caller)
{
	static const double factors[] = { 0 };
	const bool has_parts[] = { false, _i == 0 };
	struct easy_reach reach;
	struct whatif whatif;
	struct sketch sketch;
	struct graph graph;
	struct selftime selftime;
	struct estimator estimator;
	struct replayer replayer = easy_replayers[0];
	/* class 1 is all of scopes 0 and 1, function CLASSES is scope 0 of them */
	struct share parts[] = { { 2, 1 }, { 0, 1 }, { 1, 1 }, { 0, 1 } };
	size_t first[] = { 0, 1, 3, 4 };
	double total_ns[] = { 1000, 2000, 1900 };
	uint64_t weight_ns[] = { 1000, 2000, 1900 };

	easy_reach_begin(&reach);
	reach.script.class_count = 2;
	reach.scope_ns[0] = 1900;
	reach.scope_ns[1] = 100;
	reach.reach.count = 3;
	reach.reach.first = first;
	reach.reach.parts = parts;
	reach.reach.total_ns = total_ns;
	sketch_begin(&sketch);
	sketch_bare_op(&sketch, NO_INDEX, KIND_IO, 1, 0, 1000);
	sketch_bare_op(&sketch, NO_INDEX, KIND_IO, 2, 0, 2000);
	sketch_end(&sketch);
	graph_build(&graph, &sketch.rec);
	selftime_build(&selftime, &graph, &sketch.classes);
	/* function 2 saves 200, class 1 saves 250 */
	replayer.run = wrapped_run;
	estimator_begin(&estimator, &replayer, NULL);
	whatif_build(&whatif, &estimator, &sketch.classes, &selftime,
		     &(const struct whatif_options){ .factors = factors,
						     .factor_count = 1,
						     .hypothesis_count = 3,
						     .weight_ns = weight_ns,
						     .has_parts = has_parts,
						     .reach = &reach.reach });
	estimator_end(&estimator);
	ck_assert_uint_eq(whatif.rows[0].class, _i ? 1 : 2);
	ck_assert_uint_eq(whatif_find(&whatif, 1)->within, _i ? NO_INDEX : 2);
	whatif_free(&whatif);
	selftime_free(&selftime);
	graph_free(&graph);
	sketch_free(&sketch);
}
END_TEST

/* With other lengths the best class of all makes everything slower. */
static void lucky_run(const struct replayer *replayer, const struct trial *trials, size_t count,
		      void *scratch, struct replay_answer *answers)
{
	easy_run(replayer, trials, count, scratch, answers);
	for (size_t i = 0; i < count; i++)
		if (trials[i].count && trials[i].scalings[0].class == CLASSES - 1 &&
		    trials[i].jitter)
			answers[i].makespan_ns = 1.2e6 + 1000 * trials[i].jitter;
}

START_TEST(the_best_rows_are_made_sure)
{
	static const double factors[] = { 0 };
	struct replayer replayer = easy_replayers[0];
	struct whatif whatif;
	replayer.run = lucky_run;
	ask(&whatif, &replayer,
	    &(const struct whatif_options){
		    .factors = factors, .factor_count = 1, .thread_count = (size_t)_i });
	ck_assert_uint_eq(whatif.rows[0].class, CLASSES - 2);
	ck_assert(!whatif.rows[0].depends_on_order);
	/* the one that came up for the one that fell, too */
	for (size_t i = 0; i < WHATIF_BEST_ROWS; i++)
		ck_assert(whatif.rows[i].is_sure);
	const struct whatif_row *row = &whatif.rows[CLASSES - 1];
	ck_assert_uint_eq(row->class, CLASSES - 1);
	ck_assert(row->depends_on_order);
	ck_assert_double_eq_tol(row->estimates[0].saved_ns, -203000, 1e-6);
	ck_assert_double_eq_tol(row->estimates[0].least_ns, -206000, 1e-6);
	ck_assert_double_eq_tol(row->estimates[0].most_ns, 100 * (CLASSES - 1), 1e-6);
	whatif_free(&whatif);
	replayer.cost = 1000000000; /* that would take too long */
	ask(&whatif, &replayer,
	    &(const struct whatif_options){ .factors = factors, .factor_count = 1 });
	ck_assert_uint_eq(whatif.rows[0].class, CLASSES - 1);
	whatif_free(&whatif);
}
END_TEST

/* The best class has no answer if it takes no time at all, the next one has none at any factor. */
static void endless_run(const struct replayer *replayer, const struct trial *trials, size_t count,
			void *scratch, struct replay_answer *answers)
{
	easy_run(replayer, trials, count, scratch, answers);
	for (size_t i = 0; i < count; i++) {
		const struct scaling *scaling = trials[i].count ? trials[i].scalings : NULL;
		if (scaling && ((scaling->class == CLASSES - 1 && scaling->factor == 0) ||
				scaling->class == CLASSES - 2)) {
			answers[i].ran_away = true;
			answers[i].makespan_ns = 9e6;
			answers[i].stuck.actor = scaling->class;
		}
	}
}

START_TEST(a_change_without_an_answer_has_that_of_a_smaller_one)
{
	static const double factors[] = { 0, 0.9, 0.5 };
	struct replayer replayer = easy_replayers[0];
	struct whatif whatif;
	replayer.run = endless_run;
	ask(&whatif, &replayer,
	    &(const struct whatif_options){ .factors = factors, .factor_count = 3 });
	ck_assert_uint_eq(whatif.tried_count, CLASSES);
	ck_assert_uint_eq(whatif.endless_count, 2);
	ck_assert_uint_eq(whatif.endless_place.actor, whatif.endless_class);
	ck_assert_uint_eq(whatif.row_count, CLASSES - 1);
	ck_assert_ptr_null(whatif_find(&whatif, CLASSES - 2));
	const struct whatif_row *row = whatif_find(&whatif, CLASSES - 1);
	ck_assert_ptr_nonnull(row);
	ck_assert(row->is_none[0] && !row->is_none[1] && !row->is_none[2]);
	ck_assert_double_eq_tol(row->estimates[0].saved_ns, row->estimates[2].saved_ns, 1e-6);
	ck_assert_double_eq_tol(row->estimates[0].saved_ns, 50 * (CLASSES - 1), 1e-6);
	ck_assert_double_ge(row->estimates[0].most_ns, 100 * (CLASSES - 1));
	ck_assert_double_le(row->answers[0].makespan_ns, 1e6);
	ck_assert_uint_eq(row->finish_ns[0], row->finish_ns[2 * whatif.finish_count]);
	whatif_free(&whatif);
}
END_TEST

/* Of functions, which come behind the classes: what was recorded as it was needs no sample to be
 * the first. */
START_TEST(what_may_be_a_sampling_error_does_not_rank)
{
	enum { FUNCTION = CLASSES, OTHER, HYPOTHESES };
	static const double factors[] = { 0 };
	double error[HYPOTHESES] = { [FUNCTION] = 3.5 / HYPOTHESES, [OTHER] = 3.5 / HYPOTHESES };
	uint64_t weight_ns[HYPOTHESES];
	struct whatif whatif;
	for (uint32_t i = 0; i < HYPOTHESES; i++)
		weight_ns[i] = i + 1;
	error[CLASSES - 1] = error[CLASSES - 2] = 0.5;
	ask_with(&whatif, &easy_replayers[_i], error,
		 &(const struct whatif_options){ .factors = factors,
						 .factor_count = 1,
						 .weight_ns = weight_ns,
						 .hypothesis_count = HYPOTHESES });
	ck_assert_uint_eq(whatif.rows[0].class, CLASSES - 1);
	ck_assert_uint_eq(whatif.rows[1].class, CLASSES - 2);
	ck_assert_uint_eq(whatif.rows[2].class, OTHER);
	ck_assert_double_eq(whatif.rows[2].estimates[0].saved_ns, 100.0 * OTHER);
	whatif_free(&whatif);
}
END_TEST

START_TEST(classes_with_little_self_time_or_not_wanted_are_left_out)
{
	static const double factors[] = { 0 };
	bool is_wanted[CLASSES] = { false };
	struct whatif whatif;
	ask(&whatif, &easy_replayers[_i % REPLAYERS],
	    &(const struct whatif_options){
		    .factors = factors, .factor_count = 1, .min_self_ns = CLASSES - 4 });
	ck_assert_uint_eq(whatif.row_count, 5);
	whatif_free(&whatif);
	is_wanted[7] = is_wanted[9] = true;
	ask(&whatif, &easy_replayers[_i % REPLAYERS],
	    &(const struct whatif_options){ .factors = factors,
					    .factor_count = 1,
					    .min_self_ns = 9,
					    .is_wanted = is_wanted });
	ck_assert_uint_eq(whatif.row_count, 1);
	ck_assert_uint_eq(whatif.rows[0].class, 9);
	whatif_free(&whatif);
	ask(&whatif, &easy_replayers[_i % REPLAYERS],
	    &(const struct whatif_options){
		    .factors = factors, .factor_count = 1, .min_self_ns = 1000 });
	ck_assert_uint_eq(whatif.row_count, 0);
	whatif_free(&whatif);
}
END_TEST

SUITE()
{
	LOOP(rows_are_ranked_by_the_smallest_factor, 0, 5 * REPLAYERS);
	LOOP(classes_with_little_self_time_or_not_wanted_are_left_out, 0, REPLAYERS);
	TEST(a_change_without_an_answer_has_that_of_a_smaller_one);
	LOOP(what_may_be_a_sampling_error_does_not_rank, 0, REPLAYERS);
	LOOP(what_is_the_same_is_tried_once, 1, 3);
	TEST(a_function_ranks_by_what_its_best_part_does_not_save);
	LOOP(a_wrapper_ranks_after_its_best_caller, 0, 2);
	LOOP(the_best_rows_are_made_sure, 1, 3);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, two equal builds would differ, or a slower one pass.
 */
#include "diff/compare.h"

#include "random.h"
#include "suite.h"

#include <math.h>

enum { STRETCHES = 64, REQUESTS = 16, CLASSES = 40, TRIES = 20 };

/* A bell, about, of mean 0 and deviation 1. */
static double random_deviation(uint64_t *state)
{
	double sum = 0;
	for (int i = 0; i < 12; i++)
		sum += (double)random_number(state, 1000000) / 1e6;
	return sum - 6;
}

static int by_length(const void *left, const void *right)
{
	const struct cost_request *a = left, *b = right;
	return (a->taken_ns > b->taken_ns) - (a->taken_ns < b->taken_ns);
}

/* Forty classes, each of them one op of 100 us a request, whose length varies by a third. The first
 * one's length is times `factor`, its number times `times`. */
static void costs_fill(struct costs *costs, uint64_t seed, double factor, double times)
{
	uint64_t state = seed * 977 + 5;
	*costs = (struct costs){
		.unit = UNIT_REQUEST,
		.recordings = 1,
		.stretch_count = STRETCHES,
		.units = memory_new(STRETCHES, sizeof(double)),
		.elapsed_ns = memory_new(STRETCHES, sizeof(double)),
		.classes = memory_new(CLASSES, sizeof(struct cost_class)),
		.class_count = CLASSES,
		.requests = memory_new(STRETCHES * REQUESTS, sizeof(struct cost_request)),
		.request_count = STRETCHES * REQUESTS,
	};
	for (size_t c = 0; c < CLASSES; c++) {
		struct cost_class *class = &costs->classes[c];
		class->kind = strdup("io");
		class->name = memory_new(8, 1);
		snprintf(class->name, 8, "n%02zu", c);
		class->amounts = memory_new(COST_PARTS * STRETCHES, sizeof(double));
		for (size_t i = 0; i < STRETCHES; i++) {
			double of_class = c == 0 ? factor * times : 1;
			double ns = of_class * REQUESTS * 100e3 *
				    (1 + random_deviation(&state) / (3 * sqrt(REQUESTS)));
			class->amounts[COST_COUNT * STRETCHES + i] = REQUESTS * (c ? 1 : times);
			class->amounts[COST_TIME * STRETCHES + i] = ns;
			class->amounts[COST_BLOCKED * STRETCHES + i] = ns;
			class->amounts[COST_USUAL * STRETCHES + i] =
				ns / (REQUESTS * (c ? 1 : times));
			class->amounts[COST_MEDIANS * STRETCHES + i] = 1;
		}
	}
	for (size_t i = 0; i < STRETCHES; i++) {
		costs->units[i] = REQUESTS;
		for (size_t k = 0; k < REQUESTS; k++)
			costs->requests[i * REQUESTS + k] = (struct cost_request){
				(uint64_t)((3.9e6 + 1e5 * factor * times) *
					   (1 + 0.05 * random_deviation(&state))),
				(uint32_t)i, false
			};
	}
	qsort(costs->requests, costs->request_count, sizeof(*costs->requests), by_length);
}

static const struct difference *row_of(const struct comparison *comparison, enum diff_figure figure,
				       const char *name)
{
	for (size_t i = 0; i < comparison->count; i++) {
		const struct difference *row = &comparison->rows[i];
		const struct cost_class *class = difference_class(row);
		if (row->figure == figure && (!class || !strcmp(class->name, name)))
			return row;
	}
	ck_abort_msg("no such row");
}

START_TEST(equal_builds_differ_in_one_of_twenty_tries_at_most)
{
	int tries_with_findings = 0;
	for (uint64_t seed = 0; seed < TRIES; seed++) {
		struct costs a, b;
		struct comparison comparison;
		costs_fill(&a, 2 * seed, 1, 1);
		costs_fill(&b, 2 * seed + 1, 1, 1);
		comparison_build(&comparison, &a, &b);
		tries_with_findings += comparison.found_count > 0;
		ck_assert(comparison.found_count || !comparison_is_worse(&comparison));
		comparison_free(&comparison);
		costs_free(&a);
		costs_free(&b);
	}
	ck_assert_int_le(tries_with_findings, TRIES / 20);
}
END_TEST

static const struct {
	double factor, times;
	enum diff_figure figure, not_figure;
} planted[] = {
	/* 0 */ { 2, 1, FIGURE_CLASS_EACH, FIGURE_CLASS_COUNT },
	/* 1 */ { 1, 2, FIGURE_CLASS_COUNT, FIGURE_CLASS_EACH },
	/* 2 */ { 3, 1, FIGURE_CLASS_TIME, FIGURE_CLASS_COUNT }, /* 5% of a request */
};

START_TEST(a_planted_change_is_named)
{
	for (uint64_t seed = 0; seed < 2; seed++) {
		struct costs a, b;
		struct comparison comparison;
		costs_fill(&a, 2 * seed, 1, 1);
		costs_fill(&b, 2 * seed + 1, planted[_i].factor, planted[_i].times);
		comparison_build(&comparison, &a, &b);
		const struct difference *time = row_of(&comparison, FIGURE_CLASS_TIME, "n00");
		ck_assert(time->is_found && time->delta > 0);
		ck_assert(time->least > 0 && time->least < time->delta && time->delta < time->most);
		ck_assert(row_of(&comparison, planted[_i].figure, "n00")->is_found);
		ck_assert(!row_of(&comparison, planted[_i].not_figure, "n00")->is_found);
		ck_assert(comparison_is_worse(&comparison));
		comparison_free(&comparison);
		comparison_build(&comparison, &b, &a);
		ck_assert(!comparison_is_worse(&comparison));
		comparison_free(&comparison);
		costs_free(&a);
		costs_free(&b);
	}
}
END_TEST

/* Half of the longer requests, and all of the longest, were not finished. */
START_TEST(an_unfinished_request_took_longer_than_was_seen)
{
	struct costs a, b;
	struct comparison plain, cut;
	costs_fill(&a, 1, 1, 1);
	costs_fill(&b, 2, 1, 1);
	comparison_build(&plain, &a, &b);
	double before_ns = row_of(&plain, FIGURE_P50, "")->new_value;
	size_t count = b.request_count;
	for (size_t i = count / 4; i < count; i++)
		b.requests[i].is_cut = i % 2 || i >= count * 98 / 100;
	comparison_build(&cut, &a, &b);
	const struct difference *p50 = row_of(&cut, FIGURE_P50, "");
	ck_assert(p50->new_value > before_ns);
	ck_assert(isfinite(p50->delta) && p50->least <= p50->delta);
	const struct difference *p99 = row_of(&cut, FIGURE_P99, "");
	ck_assert(isfinite(p99->old_value) && isnan(p99->new_value));
	ck_assert(isnan(p99->delta) && !p99->is_found);
	comparison_free(&plain);
	comparison_free(&cut);
	costs_free(&a);
	costs_free(&b);
}
END_TEST

START_TEST(a_few_long_ops_do_not_hide_that_the_others_are_longer)
{
	struct costs a, b;
	struct comparison comparison;
	costs_fill(&a, 1, 1, 1);
	costs_fill(&b, 2, 1.5, 1);
	for (size_t i = 0; i < STRETCHES; i += 9)
		a.classes[0].amounts[COST_TIME * STRETCHES + i] *= 9,
			b.classes[0].amounts[COST_TIME * STRETCHES + i + 1] *= 7;
	comparison_build(&comparison, &a, &b);
	ck_assert(!row_of(&comparison, FIGURE_CLASS_TIME, "n00")->is_found);
	ck_assert(row_of(&comparison, FIGURE_CLASS_USUAL, "n00")->is_found);
	comparison_free(&comparison);
	costs_free(&a);
	costs_free(&b);
}
END_TEST

START_TEST(a_class_of_one_side_is_new_or_gone)
{
	struct costs a, b;
	struct comparison comparison;
	costs_fill(&a, 1, 1, 1);
	costs_fill(&b, 2, 1, 1);
	strcpy(b.classes[CLASSES - 1].name, "new");
	comparison_build(&comparison, &a, &b);
	const struct difference *gone = row_of(&comparison, FIGURE_CLASS_TIME, "n39");
	const struct difference *new = row_of(&comparison, FIGURE_CLASS_TIME, "new");
	ck_assert(gone->is_found && !gone->new_class && gone->delta < 0 && gone->new_value == 0);
	ck_assert(new->is_found && !new->old_class &&new->delta > 0 && new->old_value == 0);
	comparison_free(&comparison);
	costs_free(&a);
	costs_free(&b);
}
END_TEST

START_TEST(a_number_counts_as_much_as_its_ops)
{
	struct costs a, b;
	struct comparison comparison;
	costs_fill(&a, 1, 1, 1);
	costs_fill(&b, 2, 2, 1);
	/* All have one more op in 10,000: that is certain, and of no interest. */
	b.recordings = a.recordings = 2;
	for (size_t i = 0; i < STRETCHES; i++)
		b.classes[0].amounts[COST_COUNT * STRETCHES + i] *= 1.0001;
	comparison_build(&comparison, &a, &b);
	ck_assert(row_of(&comparison, FIGURE_CLASS_TIME, "n00")->is_found);
	ck_assert(!row_of(&comparison, FIGURE_CLASS_COUNT, "n00")->is_found);
	comparison_free(&comparison);
	costs_free(&a);
	costs_free(&b);
}
END_TEST

START_TEST(next_to_nothing_is_not_looked_at)
{
	struct costs a, b;
	struct comparison comparison;
	costs_fill(&a, 1, 1, 1);
	costs_fill(&b, 2, 1, 1);
	for (size_t i = 0; i < STRETCHES; i++)
		a.classes[3].amounts[COST_TIME * STRETCHES + i] /= 1e4,
			b.classes[3].amounts[COST_TIME * STRETCHES + i] /= 1e3;
	comparison_build(&comparison, &a, &b);
	ck_assert_uint_eq(comparison.small_count, 1);
	ck_assert_double_eq_tol(comparison.small_new_ns, 100, 20);
	comparison_free(&comparison);
	costs_free(&a);
	costs_free(&b);
}
END_TEST

SUITE()
{
	TEST(equal_builds_differ_in_one_of_twenty_tries_at_most);
	EACH(a_planted_change_is_named, planted);
	TEST(an_unfinished_request_took_longer_than_was_seen);
	TEST(a_few_long_ops_do_not_hide_that_the_others_are_longer);
	TEST(a_class_of_one_side_is_new_or_gone);
	TEST(a_number_counts_as_much_as_its_ops);
	TEST(next_to_nothing_is_not_looked_at);
}

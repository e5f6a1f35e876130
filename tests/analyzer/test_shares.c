/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a function is said to run more or less of a stretch than its samples say. */
#include "shares.h"

#include "sketch.h"

#include <check.h>

/* Functions 10, 11 and 12, which 11 always calls; stack 1 has the first, stack 2 all. */
static uint32_t first[64] = { 0, 0, 1, 4 };
static uint32_t functions[] = { 10, 10, 11, 12 };

static const struct function *function_named(const struct shares *shares, uint32_t name)
{
	for (size_t i = 0; i < shares->function_count; i++)
		if (shares->functions[i].name == name)
			return &shares->functions[i];
	return NULL;
}

START_TEST(shares_are_of_the_samples_in_a_scope)
{
	struct sketch sketch;
	struct shares shares;
	struct rec_sample samples[6];
	const uint32_t scope_of[6] = { 0, 0, 0, 0, 7, NO_INDEX };
	static const uint32_t stacks[6] = { 1, 2, 2, 1, 2, 1 };
	const struct stack_functions of = { first, functions };

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 60);
	for (uint32_t i = 0; i < 6; i++)
		samples[i] = (struct rec_sample){ .at_ns = i * 10 * SKETCH_MS,
						  .cpu_ns = i * 10 * SKETCH_MS,
						  .stack = stacks[i] };
	sketch.rec.samples = samples;
	sketch.rec.sample_count = 6;
	sketch_end(&sketch);
	for (size_t i = 4; i < 64; i++)
		first[i] = 4;
	shares_build(&shares, &sketch.rec, &of, scope_of);
	ck_assert_uint_eq(shares.function_count, 3);
	ck_assert_uint_eq(shares.functions[0].name, 10); /* most CPU time first */
	const struct function *second = function_named(&shares, 11);
	ck_assert_uint_eq(second->count, 2);
	ck_assert_uint_eq(shares.shares[second->first].scope, 0);
	ck_assert_double_eq_tol((double)shares.shares[second->first].share, 0.5, 1e-6);
	ck_assert_uint_eq(shares.shares[second->first + 1].scope, 7);
	ck_assert_double_eq_tol((double)shares.shares[second->first + 1].share, 1, 1e-6);
	ck_assert_uint_eq(second->cpu_ns, 3 * 10 * SKETCH_MS); /* 50 ms, five samples in scopes */
	ck_assert(shares_are_same(&shares, 1, 2));
	ck_assert(!shares_are_same(&shares, 0, 1));
	shares_free(&shares);
	sketch_free(&sketch);
}
END_TEST

static Suite *suite(void)
{
	Suite *suite = suite_create("shares");
	TCase *tcase = tcase_create("shares");

	tcase_add_test(tcase, shares_are_of_the_samples_in_a_scope);
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

/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a function is said to run more or less of a stretch than its samples say. */
#include "infer/shares.h"

#include "sketch.h"
#include "suite.h"

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

/* One scope and its places. */
struct shares_sketch {
	struct sketch sketch;
	struct scopes scopes;
	struct rec_sample samples[6];
	uint32_t outer, some, all, none, longer;
};

static void shares_sketch_begin(struct shares_sketch *of, const uint32_t *stacks)
{
	sketch_begin(&of->sketch);
	sketch_thread(&of->sketch, "main", 0, 60);
	for (uint32_t i = 0; i < 6; i++)
		of->samples[i] = (struct rec_sample){ .at_ns = i * 10 * SKETCH_MS,
						      .cpu_ns = i * 10 * SKETCH_MS,
						      .stack = stacks[i] };
	of->sketch.rec.samples = of->samples;
	of->sketch.rec.sample_count = 6;
	sketch_end(&of->sketch);
	of->scopes = (struct scopes){ 0 };
	of->outer = scopes_add(&of->scopes, 1, NULL, 0);
	of->some = scopes_add_place(&of->scopes, of->outer, 5);
	of->all = scopes_add_place(&of->scopes, of->outer, 7);
	of->none = scopes_add_place(&of->scopes, of->outer, 9);
	of->longer = scopes_add_place(&of->scopes, of->all, 11);
	for (size_t i = 4; i < 64; i++)
		first[i] = 4;
}

static void shares_sketch_free(struct shares_sketch *of)
{
	scopes_free(&of->scopes);
	sketch_free(&of->sketch);
}

/* -1: none. */
static double share_of(const struct shares *shares, uint32_t name, uint32_t scope)
{
	const struct function *function = function_named(shares, name);

	ck_assert_ptr_nonnull(function);
	for (uint32_t i = 0; i < function->count; i++)
		if (shares->shares[function->first + i].scope == scope)
			return (double)shares->shares[function->first + i].share;
	return -1;
}

/* Each scope takes a millisecond. */
static void shares_of_samples(const struct shares_sketch *of, struct shares *shares,
			      const uint32_t *scope_of)
{
	const struct stack_functions functions_of = { .first = first, .functions = functions };
	uint64_t scope_ns[16];
	struct contexts contexts;

	for (size_t i = 0; i < 16; i++)
		scope_ns[i] = SKETCH_MS;
	contexts_begin(&contexts, NULL, &functions_of);
	shares_build(shares, &(const struct shares_of){ .rec = &of->sketch.rec,
							.functions = &functions_of,
							.contexts = &contexts,
							.scopes = &of->scopes,
							.scope_of_sample = scope_of,
							.scope_ns = scope_ns });
	contexts_free(&contexts);
}

START_TEST(shares_are_of_the_samples_in_a_scope)
{
	static const uint32_t stacks[6] = { 1, 2, 2, 1, 2, 1 };
	struct shares_sketch of;
	struct shares shares;

	shares_sketch_begin(&of, stacks);
	const uint32_t scope_of[6] = { of.some, of.some, of.some, of.some, of.all, NO_INDEX };
	shares_of_samples(&of, &shares, scope_of);
	ck_assert_uint_eq(shares.function_count, 3);
	ck_assert_uint_eq(shares.functions[0].name, 10); /* most time first */
	ck_assert_double_eq_tol(share_of(&shares, 10, of.some), 1, 1e-6);
	ck_assert_double_eq_tol(share_of(&shares, 11, of.some), 0.5, 1e-6);
	ck_assert_double_eq_tol(share_of(&shares, 11, of.all), 1, 1e-6);
	/* half of `some`, all of `all` and of `longer`, 0.6 of `none` */
	ck_assert_double_eq_tol((double)function_named(&shares, 11)->total_ns, 3.1 * SKETCH_MS, 1);
	ck_assert_double_eq_tol((double)function_named(&shares, 11)->sampled_ns, 3.1 * SKETCH_MS,
				1);
	ck_assert_uint_eq(function_named(&shares, 11)->samples, 3);
	shares_free(&shares);
	shares_sketch_free(&of);
}
END_TEST

START_TEST(a_place_without_samples_is_like_what_is_around_it)
{
	static const uint32_t stacks[6] = { 1, 2, 2, 1, 2, 1 };
	struct shares_sketch of;
	struct shares shares;

	shares_sketch_begin(&of, stacks);
	const uint32_t scope_of[6] = { of.some, of.some, of.some, of.some, of.all, NO_INDEX };
	shares_of_samples(&of, &shares, scope_of);
	ck_assert_double_eq_tol(share_of(&shares, 11, of.none), 0.6, 1e-6); /* 3 of all 5 */
	ck_assert_double_eq_tol(share_of(&shares, 11, of.longer), 1, 1e-6); /* of `all` */
	/* delays are in it, too */
	ck_assert_double_eq_tol(share_of(&shares, 11, of.outer), -1, 1e-6);
	shares_free(&shares);
	shares_sketch_free(&of);
}
END_TEST

/* Contexts 1 and 2 are those of stacks 1 and 2. */
START_TEST(a_context_tells_where_samples_do_not)
{
	static const uint32_t stacks[6] = { 1, 1, 1, 1, 1, 1 };
	const struct stack_functions functions_of = { .first = first, .functions = functions };
	uint64_t scope_ns[16];
	struct shares_sketch of;
	struct shares shares;
	struct contexts contexts;

	shares_sketch_begin(&of, stacks);
	contexts_begin(&contexts, NULL, &functions_of);
	uint32_t context = contexts_between(&contexts, 2, 2, CONTEXT_PROGRAM | 20);
	/* a call, a place that was sampled, one of which only the scope around was, and idling */
	uint32_t call = scopes_add_context(&of.scopes, scopes_add(&of.scopes, 2, NULL, 0), context);
	uint32_t within = scopes_add_context(&of.scopes, of.outer, context);
	uint32_t sampled = scopes_add_place(&of.scopes, within, 5);
	uint32_t other = scopes_add_context(
		&of.scopes, of.outer, contexts_between(&contexts, 2, 2, CONTEXT_PROGRAM | 21));
	uint32_t unsampled = scopes_add_place(&of.scopes, other, 5);
	const uint32_t scope_of[6] = { sampled, sampled, of.some, of.some, of.some, of.some };
	for (size_t i = 0; i < 16; i++)
		scope_ns[i] = i == within || i == other ? 0 : SKETCH_MS;
	shares_build(&shares, &(const struct shares_of){ .rec = &of.sketch.rec,
							 .functions = &functions_of,
							 .contexts = &contexts,
							 .scopes = &of.scopes,
							 .scope_of_sample = scope_of,
							 .scope_ns = scope_ns });
	ck_assert_double_eq(share_of(&shares, 11, call), 1);
	ck_assert_double_eq(share_of(&shares, 10, call), 1);
	ck_assert_double_eq(share_of(&shares, 11, sampled), -1); /* no sample has it */
	ck_assert_double_eq(share_of(&shares, 10, sampled), 1);
	ck_assert_double_eq(share_of(&shares, 11, unsampled), 1);
	ck_assert_double_eq(share_of(&shares, 10, unsampled), 1);
	ck_assert_double_eq(share_of(&shares, 11, within), -1);
	const struct function *program = function_named(&shares, 20);
	ck_assert(program->is_program && !function_named(&shares, 11)->is_program);
	ck_assert_double_eq(share_of(&shares, 20, call), 1);
	ck_assert_double_eq(share_of(&shares, 20, sampled), 1);
	ck_assert_double_eq(share_of(&shares, 20, unsampled), -1);
	ck_assert_uint_eq(program->total_ns, 2 * SKETCH_MS);
	ck_assert_uint_eq(program->sampled_ns, 0);
	contexts_free(&contexts);
	shares_free(&shares);
	shares_sketch_free(&of);
}
END_TEST

SUITE()
{
	TEST(a_context_tells_where_samples_do_not);
	TEST(shares_are_of_the_samples_in_a_scope);
	TEST(a_place_without_samples_is_like_what_is_around_it);
}

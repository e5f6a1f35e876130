/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if changes of the same time are told apart, or different ones taken for the same. */
#include "ask/reach.h"

#include "sketch.h"
#include "suite.h"

/* Stack n has function 40 + n, innermost, and all have 50. */
static uint32_t first[SKETCH_STACKS + 1];
static uint32_t functions[2 * SKETCH_STACKS];

enum { OUTER = 50 };

static uint32_t function_at(const struct script *script, uint32_t name)
{
	for (uint32_t f = 0; f < script->shares.function_count; f++)
		if (script->shares.functions[f].name == name)
			return script->class_count + f;
	return NO_INDEX;
}

static void functions_fill(void)
{
	for (uint32_t i = 0; i < SKETCH_STACKS; i++) {
		first[i + 1] = 2 * (i + 1);
		functions[2 * i] = 40 + i;
		functions[2 * i + 1] = OUTER;
	}
}

static void sleeps(struct sketch *sketch, const char *name, uint32_t stack, double from_ms,
		   double to_ms)
{
	sketch_sleep(sketch, 0, name, from_ms, to_ms);
	sketch->rec.extras[sketch->rec.op_count - 1].stack = stack;
}

/* 40 ms of "a" in function 41, 20 ms of "b" in 42 and 20 ms of it in 43, all in OUTER. */
START_TEST(hypotheses_are_compared_by_time)
{
	const struct stack_functions functions_of = { .first = first, .functions = functions };
	const struct script_options options = { .functions = &functions_of };
	struct sketch sketch;
	struct script script;
	struct reach reach;

	functions_fill();
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 80);
	sleeps(&sketch, "a", 1, 0, 40);
	sleeps(&sketch, "b", 2, 40, 60);
	sleeps(&sketch, "b", 3, 60, 80);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &options);
	reach_build(&reach, &script);
	uint32_t a = sketch_class(&sketch, "a"), b = sketch_class(&sketch, "b");
	uint32_t a_only = function_at(&script, 41), b_part = function_at(&script, 42);
	uint32_t outer = function_at(&script, OUTER);
	ck_assert_double_eq_tol(reach.total_ns[a], 40e6, 1);
	ck_assert_double_eq_tol(reach.total_ns[outer], 80e6, 1);
	ck_assert(reach_is_same(&reach, a, a_only));
	ck_assert(!reach_is_same(&reach, b, a)); /* as long, but another time */
	ck_assert(!reach_is_same(&reach, b, b_part));
	ck_assert(!reach_is_same(&reach, outer, b));
	ck_assert(reach_contains(&reach, b, b_part));
	ck_assert(reach_contains(&reach, outer, b) && reach_contains(&reach, outer, a_only));
	ck_assert(!reach_contains(&reach, b_part, b) && !reach_contains(&reach, a, b_part));
	ck_assert(!reach_contains(&reach, a, a_only)); /* the same is no part */
	ck_assert(reach_has_own(&reach, outer) && reach_has_own(&reach, a_only));
	reach_free(&reach);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* All but 1.5 ms of OUTER's 41.5 ms is in 41. */
START_TEST(what_is_a_little_more_has_nothing_of_its_own)
{
	const struct stack_functions functions_of = { .first = first, .functions = functions };
	const struct script_options options = { .functions = &functions_of };
	struct sketch sketch;
	struct script script;
	struct reach reach;

	functions_fill();
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 41.5);
	sleeps(&sketch, "a", 1, 0, 40);
	sleeps(&sketch, "b", 2, 40, 41.5);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &options);
	reach_build(&reach, &script);
	ck_assert(!reach_has_own(&reach, function_at(&script, OUTER)));
	ck_assert(reach_has_own(&reach, function_at(&script, 41)));
	reach_free(&reach);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(hypotheses_are_compared_by_time);
	TEST(what_is_a_little_more_has_nothing_of_its_own);
}

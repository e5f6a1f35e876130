/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if time is said to be in a function that one of two calls was not made from. */
#include "infer/contexts.h"

#include "suite.h"

enum { STACKS = 6 };

/* Stack 1: 10 < 11 < 12; stack 2: 13 < 11 < 12; stack 3: 14; stack 4: as stack 1; 5: none. */
static uint32_t first[STACKS + 1] = { 0, 0, 3, 6, 7, 10, 10 };
static uint32_t functions[] = { 10, 11, 12, 13, 11, 12, 14, 10, 11, 12 };
static const struct stack_functions functions_of = { .first = first, .functions = functions };

static size_t count_of(const struct contexts *contexts, uint32_t context)
{
	return contexts->first[context + 1] - contexts->first[context];
}

START_TEST(two_stacks_have_their_common_functions)
{
	static const struct {
		uint32_t stack, other, program, count;
	} rows[] = {
		/* 0 */ { 1, 1, 0, 3 },
		/* 1 */ { 1, 2, 0, 2 },
		/* 2 */ { 2, 1, 0, 2 },
		/* 3 */ { 1, 3, 0, 0 },
		/* 4 */ { 1, 5, 0, 0 },
		/* 5 */ { 0, 1, 0, 0 },
		/* 6 */ { 1, 2, CONTEXT_PROGRAM | 3, 3 },
		/* 7 */ { 0, 0, CONTEXT_PROGRAM | 3, 1 },
	};
	struct contexts contexts;

	contexts_begin(&contexts, NULL, &functions_of);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t context =
			contexts_between(&contexts, rows[i].stack, rows[i].other, rows[i].program);

		ck_assert_msg(count_of(&contexts, context) == rows[i].count, "row %zu", i);
		ck_assert_msg(!rows[i].count == !context, "row %zu", i);
		ck_assert(!rows[i].program || contexts_have(&contexts, context, rows[i].program));
	}
	uint32_t common = contexts_between(&contexts, 1, 2, 0);
	ck_assert(contexts_have(&contexts, common, 11) && contexts_have(&contexts, common, 12));
	ck_assert(!contexts_have(&contexts, common, 10) && !contexts_have(&contexts, common, 13));
	contexts_free(&contexts);
}
END_TEST

START_TEST(equal_contexts_are_one)
{
	struct contexts contexts;
	uint32_t programs[500];

	contexts_begin(&contexts, NULL, &functions_of);
	ck_assert_uint_eq(contexts_between(&contexts, 1, 1, 0),
			  contexts_between(&contexts, 4, 4, 0));
	ck_assert_uint_eq(contexts_between(&contexts, 1, 2, 0),
			  contexts_between(&contexts, 4, 2, 0));
	/* more than the tables begin with */
	for (uint32_t i = 0; i < 500; i++)
		programs[i] = contexts_between(&contexts, 1, 1, CONTEXT_PROGRAM | i);
	for (uint32_t i = 0; i < 500; i++)
		ck_assert_uint_eq(contexts_between(&contexts, 4, 4, CONTEXT_PROGRAM | i),
				  programs[i]);
	ck_assert_uint_eq(contexts.count, 1 + 2 + 500);
	contexts_free(&contexts);
}
END_TEST

START_TEST(without_stacks_there_are_programs_alone)
{
	struct contexts contexts;

	contexts_begin(&contexts, NULL, NULL);
	ck_assert_uint_eq(contexts_between(&contexts, 1, 1, 0), 0);
	ck_assert_uint_ne(contexts_between(&contexts, 1, 1, CONTEXT_PROGRAM | 3), 0);
	contexts_free(&contexts);
}
END_TEST

/* Frames from the inside: 100 and 200 are of wrapper() at one place, 11 of page(), 12 and 13 of it
 * too, farther on, 20 of other(), 30 of main(). */
static struct rec_frame frames[] = { { 0, 0 },  { 0, 100 }, { 0, 11 }, { 0, 30 }, { 0, 100 },
				     { 0, 12 }, { 0, 30 },  { 0, 13 }, { 0, 30 }, { 0, 100 },
				     { 0, 20 }, { 0, 30 },  { 0, 7 },  { 0, 20 } };
static struct rec_stack stacks[] = { { 0, 0 }, { 1, 3 }, { 4, 3 }, { 7, 2 }, { 9, 3 }, { 12, 2 } };
enum { WRAPPER = 1, PAGE, OTHER, MAIN, CUT, NAMES };
static uint32_t stack_first[] = { 0, 0, 3, 6, 8, 11, 13 };
static uint32_t stack_names[] = { WRAPPER, PAGE,    MAIN,  WRAPPER, PAGE, MAIN, PAGE,
				  MAIN,    WRAPPER, OTHER, MAIN,    CUT,  OTHER };
static uint32_t stack_frames[] = { 0, 1, 2, 0, 1, 2, 0, 1, 0, 1, 2, 0, 1 };
static uint32_t callers_of[NAMES] = { [WRAPPER] = NO_INDEX, [PAGE] = MAIN, [OTHER] = MAIN };

START_TEST(a_wrapper_has_returned_between_two_calls)
{
	static const struct {
		uint32_t stack, other;
		bool wrapper, page, main;
	} rows[] = {
		/* 0 */ { 1, NO_INDEX, true, true, true }, /* in the call */
		/* 1 */ { 1, 2, false, true, true },       /* page() calls it twice */
		/* 2 */ { 1, 1, false, true, true },       /* again and again */
		/* 3 */ { 2, 3, false, true, true },
		/* 4 */ { 3, 3, false, true, true }, /* its only caller is no reason to leave it */
		/* 5 */ { 1, 4, false, false, true },
	};
	const struct recording rec = { .stacks = stacks, .frames = frames };
	const struct stack_functions of = { stack_first, stack_names, stack_frames, callers_of,
					    NULL };
	struct contexts contexts;

	contexts_begin(&contexts, &rec, &of);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t context = contexts_between(&contexts, rows[i].stack, rows[i].other, 0);

		ck_assert_msg(contexts_have(&contexts, context, WRAPPER) == rows[i].wrapper &&
				      contexts_have(&contexts, context, PAGE) == rows[i].page &&
				      contexts_have(&contexts, context, MAIN) == rows[i].main,
			      "row %zu", i);
	}
	/* the outermost frames of stack 5 are missing: all that it has in common must do */
	uint32_t cut = contexts_between(&contexts, 4, 5, 0);
	ck_assert(contexts_have(&contexts, cut, OTHER) && !contexts_have(&contexts, cut, CUT));
	ck_assert_uint_ne(contexts_within(&contexts, 1, 0), contexts_between(&contexts, 1, 1, 0));
	contexts_free(&contexts);
}
END_TEST

SUITE()
{
	TEST(a_wrapper_has_returned_between_two_calls);
	TEST(two_stacks_have_their_common_functions);
	TEST(equal_contexts_are_one);
	TEST(without_stacks_there_are_programs_alone);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a flame graph has time twice, or under another name. */
#include "cpu_sample.h"
#include "export/stacksums.h"
#include "suite.h"

START_TEST(equal_functions_and_leaves_are_one_sum)
{
	struct sketch sketch;
	struct walk walk;
	struct stack_sums sums;
	char text[512] = "";
	const struct labels labels = { .frames = cpu_names };
	cpu_sketch(&sketch);
	walk_begin_plain(&walk, &sketch.rec, &labels);
	stack_sums_build(&sums, &walk, NULL);
	for (size_t i = 0; i < sums.count; i++) {
		const struct stack_sum *sum = &sums.sums[i];
		char *leaf = stack_leaf(&walk, stack_leaf_number(sum->state, sum->cause), sum->name,
					sum->stack);
		sprintf(text + strlen(text), "%s %u %s %lu x%lu\n",
			sketch.strings[sum->thread_name], sum->stack, leaf ? leaf : "-",
			(unsigned long)sum->ns / 1000, (unsigned long)sum->count);
		free(leaf);
	}
	/* Stacks 1 and 3 are two places in one function. */
	ck_assert_str_eq(text, "n1 1 - 2000 x2\n"
			       "n1 2 - 1000 x1\n"
			       "n1 4 - 1000 x1\n"
			       "n1 0 [on CPU] 400 x1\n"
			       "n1 0 [unexplained] 600 x1\n"
			       "n2 2 mutex n12 2000 x1\n"
			       "n2 0 sleep n5 2000 x1\n"
			       "n2 0 [unexplained] 1000 x1\n");
	stack_sums_free(&sums);
	walk_end(&walk);
	sketch_free(&sketch);
}
END_TEST

START_TEST(idle_time_is_told_from_blocked_time)
{
	struct sketch sketch;
	struct walk walk;
	cpu_sketch(&sketch);
	walk_begin_plain(&walk, &sketch.rec, NULL);
	uint32_t poll = (uint32_t)sketch.rec.reasons.count + KIND_POLL;
	char *idle = stack_leaf(&walk, stack_leaf_number(WALK_IDLE, poll), 5, 0);
	char *blocked = stack_leaf(&walk, stack_leaf_number(WALK_BLOCKED, poll), 5, 0);
	ck_assert_str_eq(idle, "idle: poll n5");
	ck_assert_str_eq(blocked, "poll n5");
	free(idle);
	free(blocked);
	walk_end(&walk);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(equal_functions_and_leaves_are_one_sum);
	TEST(idle_time_is_told_from_blocked_time);
}

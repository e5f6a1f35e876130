/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if other code is made slower than that of a function, or more of it is said to be. */
#include "cpu_sample.h"
#include "export/slowcpu.h"
#include "suite.h"

static struct rec_module program = { .base = 0x1000, .start = 0x1000, .size = 0x1000 };
static uint32_t functions_first[] = { 0, 0, 2, 3, 5, 7 };
static uint32_t functions[] = {
	CPU_LEAF, CPU_MAIN, CPU_MAIN, CPU_LEAF, CPU_MAIN, CPU_LEAF, CPU_MAIN
};
static const struct stack_functions of_stacks = { .first = functions_first,
						  .functions = functions };

/* The innermost frames: leaf at 0x10, main at 0x90, leaf at 0x30 and 0x50, each one further. */
static void sketch_make(struct sketch *sketch, struct slow_samples *samples)
{
	static const uint64_t offsets[] = { 0x11, 0x80, 0x91, 0x31, 0x80, 0x51, 0x20, 0x80 };

	cpu_sketch(sketch);
	program.path = sketch_string(sketch, "/bin/program");
	sketch->rec.modules = &program;
	sketch->rec.module_count = 1;
	for (uint32_t i = 0; i < 8; i++)
		sketch->rec.frames[i] = (struct rec_frame){ 0, offsets[i] };
	*samples = (struct slow_samples){ &sketch->rec, &of_stacks, &cpu_names };
}

START_TEST(a_function_is_the_code_at_which_samples_found_it)
{
	struct sketch sketch;
	struct slow_samples samples;
	struct slow_ranges ranges;

	sketch_make(&sketch, &samples);
	slow_ranges_build(&ranges, &samples, CPU_LEAF);
	ck_assert_uint_eq(ranges.count, 1);
	ck_assert_uint_eq(ranges.ranges[0].from, 0x10);
	ck_assert_uint_eq(ranges.ranges[0].to, 0x51);
	ck_assert_double_eq_tol(ranges.covered_percent, 100, 1e-6);
	ck_assert_double_eq_tol(ranges.purity_percent, 100, 1e-6);
	slow_ranges_free(&ranges);
	sketch_free(&sketch);
}
END_TEST

START_TEST(code_that_it_calls_is_its_own)
{
	struct sketch sketch;
	struct slow_samples samples;
	struct slow_ranges ranges;

	sketch_make(&sketch, &samples);
	slow_ranges_build(&ranges, &samples, CPU_MAIN);
	ck_assert_uint_eq(ranges.count, 2);
	ck_assert_double_eq_tol(ranges.covered_percent, 100, 1e-6);
	slow_ranges_free(&ranges);
	sketch_free(&sketch);
}
END_TEST

START_TEST(code_that_mostly_others_run_is_not_its_own)
{
	struct sketch sketch;
	struct slow_samples samples;
	struct slow_ranges ranges;
	static uint32_t firsts[] = { 0, 0, 0, 0, 0, 1 };
	static uint32_t one[] = { CPU_LOCK };
	static const struct stack_functions last_only = { .first = firsts, .functions = one };

	sketch_make(&sketch, &samples);
	samples.functions = &last_only;
	slow_ranges_build(&ranges, &samples, CPU_LOCK);
	ck_assert_uint_eq(ranges.count, 0);
	ck_assert_double_eq(ranges.covered_percent, 0);
	slow_ranges_free(&ranges);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(a_function_is_the_code_at_which_samples_found_it);
	TEST(code_that_it_calls_is_its_own);
	TEST(code_that_mostly_others_run_is_not_its_own);
}

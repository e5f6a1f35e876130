/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, a slow request's time would go to functions that it never ran. */
#include "cpu_sample.h"
#include "export/sampledspans.h"
#include "suite.h"

/* Thread 0 has samples at 1 and 2 ms in stacks 1 and 3, at 3 and 4 ms in 2 and 4. */
static struct slow_span list[] = {
	{ .start_ns = 0, .end_ns = 2000000, .thread = 0 },
	{ .start_ns = 2000000, .end_ns = 5000000, .thread = 0, .is_slow = true },
};
static const struct slow_spans spans = {
	.spans = list, .span_count = 2, .count = 2, .slow_count = 1, .longest_ns = 3000000
};
static const uint32_t group_of[] = { 8, 9 };
static const uint32_t stack_of[] = { 0, 21, 22, 21, 24 };

static void build(struct sampled_spans *sampled)
{
	struct sketch sketch;
	cpu_sketch(&sketch);
	sampled_spans_build(sampled, &sketch.rec, &spans, group_of, stack_of);
	sketch_free(&sketch);
}

static uint64_t ns_of(const struct sampled_share *shares, size_t count, uint32_t stack,
		      bool is_slow)
{
	for (size_t i = 0; i < count; i++)
		if (shares[i].stack == stack)
			return is_slow ? shares[i].inside.slow_ns : shares[i].inside.other_ns;
	ck_abort_msg("stack %u has no share", stack);
}

START_TEST(each_stack_has_as_much_as_samples_inside)
{
	struct sampled_spans sampled;
	struct slow_time whole = { 2400000, 2000000 };
	size_t count;
	build(&sampled);
	struct sampled_share *shares = sampled_spans_share(&sampled, 8, &whole, &count);
	ck_assert_uint_eq(count, 3);
	ck_assert_uint_eq(ns_of(shares, count, 21, true), 800000);
	ck_assert_uint_eq(ns_of(shares, count, 21, false), 2000000);
	ck_assert_uint_eq(ns_of(shares, count, 22, true), 800000);
	ck_assert_uint_eq(ns_of(shares, count, 22, false), 0);
	ck_assert_uint_eq(ns_of(shares, count, 24, true), 800000);
	ck_assert(whole.slow_ns == 0 && whole.other_ns == 0);
	free(shares);
	sampled_spans_free(&sampled);
}
END_TEST

START_TEST(without_a_sample_inside_nothing_is_shared_out)
{
	struct sampled_spans sampled;
	struct slow_time whole = { 5, 7 };
	size_t count;
	build(&sampled);
	struct sampled_share *shares = sampled_spans_share(&sampled, 9, &whole, &count);
	ck_assert_uint_eq(count, 0);
	ck_assert(whole.slow_ns == 5 && whole.other_ns == 7);
	free(shares);
	sampled_spans_free(&sampled);
}
END_TEST

SUITE()
{
	TEST(each_stack_has_as_much_as_samples_inside);
	TEST(without_a_sample_inside_nothing_is_shared_out);
}

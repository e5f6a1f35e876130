/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, slow requests are said to be slow for the wrong reason. */
#include "export/latency.h"

#include "format.h"
#include "slow_requests.h"
#include "suite.h"

static uint32_t key_of(const struct latency *latency, const struct sketch *sketch,
		       enum walk_state state, const char *name)
{
	for (uint32_t k = 0; k < latency->key_count; k++)
		if (latency->keys[k].state == state &&
		    strcmp(sketch->rec.strings[latency->keys[k].name], name) == 0)
			return k;
	ck_abort_msg("no %s", name);
	return 0;
}

START_TEST(the_slow_one_waited_for_the_lock)
{
	struct slow slow;
	struct latency latency;
	slow_begin(&slow);
	latency_build(&latency, &slow.walk, &slow.judged);
	ck_assert_uint_eq(latency.count, SLOW_COUNT);
	ck_assert_uint_eq(latency.slow_from, SLOW_COUNT - 1);
	ck_assert_uint_eq(latency.requests[SLOW_COUNT - 1].taken_ns, 6 * SKETCH_MS);
	ck_assert_uint_eq(latency.requests[SLOW_COUNT - 1].thread, 1);
	uint32_t lock = key_of(&latency, &slow.sketch, WALK_BLOCKED, "lock");
	uint32_t nap = key_of(&latency, &slow.sketch, WALK_BLOCKED, "nap");
	ck_assert_double_eq_tol(latency.shares[lock].slow_ns, 5e6, 0.5);
	ck_assert_double_eq(latency.shares[lock].rest_ns, 0);
	ck_assert_double_eq_tol(latency.shares[nap].slow_ns, 1e6, 0.5);
	ck_assert_double_eq_tol(latency.shares[nap].rest_ns, 1e6, 0.5);
	ck_assert_double_lt(latency.shares[nap].error_ns, 0); /* of one */
	latency_free(&latency);
	slow_end(&slow);
}
END_TEST

/* Whatever the sorts of time: together they are what the request took. */
START_TEST(parts_of_a_request_are_all_of_it)
{
	struct slow slow;
	struct latency latency;
	slow_begin(&slow);
	latency_build(&latency, &slow.walk, &slow.judged);
	ck_assert_uint_eq(latency.pick_count, SLOW_COUNT);
	for (size_t i = 0; i < latency.pick_count; i++) {
		uint64_t sum_ns = 0;
		ck_assert_uint_eq(latency.picks[i].rank, i);
		for (size_t k = 0; k <= LATENCY_KEYS; k++)
			sum_ns += latency.picks[i].parts_ns[k];
		ck_assert_uint_eq(sum_ns, latency.requests[i].taken_ns);
	}
	latency_free(&latency);
	slow_end(&slow);
}
END_TEST

/* More slices than a mark is for, and more sorts than there are keys. */
START_TEST(many_slices_add_up)
{
	enum { CALLS = 60, ROUNDS = 20 };
	struct slow slow;
	struct latency latency;
	slow_begin(&slow);
	struct sketch *sketch = &slow.sketch;
	walk_end(&slow.walk);
	class_table_free(&sketch->classes);
	for (uint32_t i = 0; i < CALLS * ROUNDS; i++) {
		uint64_t at_ns = 81000000 + i * 2000;
		uint32_t op = sketch_bare_op(sketch, NO_INDEX, KIND_SLEEP, 1 + i % CALLS, at_ns,
					     at_ns + 1000 + i % CALLS);
		sketch->rec.ops[op].thread = 1;
	}
	uint32_t op = sketch_op(sketch, KIND_OP_USER, "work", 1, 81, 84);
	slow.requests[19].op = op;
	slow.requests[19].start_ns = 81 * SKETCH_MS;
	slow.requests[19].end_ns = 84 * SKETCH_MS;
	sketch_end(sketch);
	slow_walk(&slow);
	latency_build(&latency, &slow.walk, &slow.judged);
	const struct latency_pick *last = &latency.picks[latency.pick_count - 1];
	ck_assert_uint_eq(latency.key_count, LATENCY_KEYS);
	ck_assert_uint_gt(last->parts_ns[LATENCY_KEYS], 0);
	uint64_t sum_ns = 0;
	for (size_t k = 0; k <= LATENCY_KEYS; k++)
		sum_ns += last->parts_ns[k];
	ck_assert_uint_eq(sum_ns, 3 * SKETCH_MS);
	latency_free(&latency);
	slow_end(&slow);
}
END_TEST

START_TEST(no_requests_have_no_shares)
{
	struct slow slow;
	struct latency latency;
	slow_begin(&slow);
	slow.judged.judged_source = REQUEST_ASKED;
	latency_build(&latency, &slow.walk, &slow.judged);
	ck_assert_uint_eq(latency.count, 0);
	ck_assert_uint_eq(latency.pick_count, 0);
	latency_free(&latency);
	slow_end(&slow);
}
END_TEST

SUITE()
{
	TEST(the_slow_one_waited_for_the_lock);
	TEST(parts_of_a_request_are_all_of_it);
	TEST(many_slices_add_up);
	TEST(no_requests_have_no_shares);
}

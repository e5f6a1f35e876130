/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, a request would be said to be queued behind one that was long answered. */
#include "paths/owners.h"
#include "pathed.h"

/* " request from-to" of a thread, in milliseconds; "-" of none, "idle" in polls. */
static void expect(struct pathed *pathed, uint32_t thread, const char *expected)
{
	struct owners owners;
	char text[1024] = "", *to = text;
	owners_build(&owners, &pathed->of);
	for (size_t i = owners.lanes.lanes[thread].stretch;
	     i < owners.lanes.lanes[thread + 1].stretch; i++) {
		const struct lane_stretch *stretch = &owners.lanes.stretches[i];
		ck_assert_uint_eq(owners.thread[i], thread);
		ck_assert_uint_eq(owners_at(&owners, thread, stretch->start_ns), owners.request[i]);
		if (owners.request[i] == NO_INDEX || owners.request[i] == OWNER_IDLE)
			to += sprintf(to, owners.request[i] == NO_INDEX ? " -" : " idle");
		else
			to += sprintf(to, " %u", owners.request[i]);
		to += sprintf(to, " %g-%g", (double)stretch->start_ns / SKETCH_MS,
			      (double)stretch->end_ns / SKETCH_MS);
	}
	ck_assert_str_eq(text, expected);
	owners_free(&owners);
}

START_TEST(a_loop_turns_from_request_to_request)
{
	struct pathed pathed;
	pathed_begin(&pathed);
	pathed_end(&pathed);
	expect(&pathed, 1, " idle 0-10 0 10-15.5 1 15.5-24.5 - 24.5-25 idle 25-40");
	pathed_free(&pathed);
}
END_TEST

/* It reads on for the same request, after polls that nothing else came between. */
START_TEST(a_thread_stays_at_a_request_until_another_one_comes)
{
	struct pathed pathed;
	pathed_begin(&pathed);
	struct sketch *sketch = &pathed.sketch;
	sketch_thread(sketch, "upload", 0, 40);
	uint32_t read = sketch_io(sketch, 3, "read", "tcp l>f", 1, 2, 3);
	sketch_op(sketch, KIND_POLL, "poll", 3, 4, 6);
	sketch_io(sketch, 3, "read", "tcp l>f", 1, 7, 8);
	uint32_t write = sketch_io(sketch, 3, "write", "tcp l>f", 1, 9, 10);
	pathed_request(&pathed, REQUEST_SERVED, read, STAMP_BEGIN, write, 2);
	sketch_op(sketch, KIND_POLL, "poll", 3, 11, 12);
	read = sketch_io(sketch, 3, "read", "tcp l>f", 1, 13, 15); /* it comes at 14 */
	pathed_request(&pathed, REQUEST_SERVED, read, STAMP_BEGIN, NO_INDEX, 14);
	pathed_end(&pathed);
	expect(&pathed, 3, " - 0-2 3 2-10 - 10-11 idle 11-12 - 12-13 idle 13-14 4 14-40");
	pathed_free(&pathed);
}
END_TEST

/* Thread 4 answers what 3 has read: its work is that since its first wait after the request came.
 * For a request through a pipe likewise. */
START_TEST(work_without_a_sign_belongs_to_the_answer)
{
	struct pathed pathed;
	pathed_begin(&pathed);
	struct sketch *sketch = &pathed.sketch;
	sketch_thread(sketch, "reader", 0, 40);
	sketch_thread(sketch, "worker", 0, 40);
	uint32_t read = sketch_io(sketch, 3, "read", "tcp l>f", 1, 2, 3);
	sketch_wait(sketch, 4, REASON_COND, "c", 0, 1, NO_INDEX);
	sketch_wait(sketch, 4, REASON_COND, "c", 1.5, 4, NO_INDEX);
	sketch_wait(sketch, 4, REASON_COND, "d", 5, 6, NO_INDEX);
	uint32_t write = sketch_io(sketch, 4, "write", "tcp l>f", 1, 7, 8);
	pathed_request(&pathed, REQUEST_SERVED, read, STAMP_BEGIN, write, 2);
	read = sketch_io(sketch, 3, "read", "tcp l>g", 1, 3, 3.5);
	write = sketch_io(sketch, 4, "write", "tcp l>g", 1, 9, 10);
	pathed_request(&pathed, REQUEST_SERVED, read, STAMP_BEGIN, write, 3);
	pathed_end(&pathed);
	expect(&pathed, 4, " - 0-4 3 4-8 4 8-10 - 10-40");
	pathed_free(&pathed);
}
END_TEST

START_TEST(requests_that_it_asks_belong_to_the_one_it_works_for)
{
	struct pathed pathed;
	struct owners owners;
	pathed_begin(&pathed);
	pathed_end(&pathed);
	owners_build(&owners, &pathed.of);
	ck_assert_uint_eq(owners.owned[2].of, 1);
	ck_assert_uint_eq(owners.owned[1].of, NO_INDEX);
	ck_assert_uint_eq(owners.owned[2].end_thread, 1);
	size_t place = owners_before(&owners, owners.owned[1].chain, 16 * SKETCH_MS);
	ck_assert_uint_eq(owners.request[owners.chains.items[place]], 1);
	ck_assert(owners_before(&owners, owners.owned[1].chain, 10 * SKETCH_MS) == SIZE_MAX);
	ck_assert_uint_eq(owners_poll_between(&owners, 1, 9 * SKETCH_MS, 12 * SKETCH_MS),
			  10 * SKETCH_MS);
	ck_assert_uint_eq(owners_poll_between(&owners, 1, 11 * SKETCH_MS, 12 * SKETCH_MS),
			  12 * SKETCH_MS);
	owners_free(&owners);
	pathed_free(&pathed);
}
END_TEST

SUITE()
{
	TEST(a_loop_turns_from_request_to_request);
	TEST(a_thread_stays_at_a_request_until_another_one_comes);
	TEST(requests_that_it_asks_belong_to_the_one_it_works_for);
	TEST(work_without_a_sign_belongs_to_the_answer);
}

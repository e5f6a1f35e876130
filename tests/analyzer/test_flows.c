/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a read is tied to bytes that were not written to it, or a torn flow is taken for a
 * whole one. */
#include "flows.h"

#include "sketch.h"

#include <check.h>

START_TEST(ends_are_matched_and_offsets_count)
{
	struct sketch sketch;
	struct flows flows;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "a", 0, 100);
	sketch_thread(&sketch, "b", 0, 100);
	uint32_t first = sketch_io(&sketch, 0, "write", "tcp a>b", 10, 1, 2);
	uint32_t second = sketch_io(&sketch, 0, "writev", "tcp a>b", 30, 20, 21);
	uint32_t early = sketch_io(&sketch, 1, "recv", "tcp b>a", 4, 3, 4);
	uint32_t late = sketch_io(&sketch, 1, "read", "tcp b>a", 36, 5, 25);
	uint32_t other = sketch_io(&sketch, 1, "read", "tcp b>c", 36, 5, 25);
	uint32_t file = sketch_io(&sketch, 1, "read", "file /etc/passwd", 36, 5, 25);
	sketch_end(&sketch);
	flows_build(&flows, &sketch.rec);
	const struct transfer *transfers = flows.transfers;
	ck_assert_uint_eq(transfers[flows.transfer_of[first]].flow,
			  transfers[flows.transfer_of[late]].flow);
	ck_assert(transfers[flows.transfer_of[second]].is_write);
	ck_assert(!transfers[flows.transfer_of[early]].has_waited);
	ck_assert(transfers[flows.transfer_of[late]].has_waited);
	ck_assert_uint_eq(transfers[flows.transfer_of[late]].latency_ns, 5 * SKETCH_MS);
	ck_assert_uint_eq(transfers[flows.transfer_of[late]].first_ns, 1 * SKETCH_MS);
	ck_assert_uint_eq(flows.transfer_of[other], NO_INDEX);
	ck_assert_uint_eq(flows.transfer_of[file], NO_INDEX);
	flows_free(&flows);
	sketch_free(&sketch);
}
END_TEST

START_TEST(bytes_from_nowhere_make_a_flow_unusable)
{
	struct sketch sketch;
	struct flows flows;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "a", 0, 100);
	sketch_thread(&sketch, "b", 0, 100);
	uint32_t write = sketch_io(&sketch, 0, "write", "pipe:[7]", 10, 1, 2);
	uint32_t read = sketch_io(&sketch, 1, "read", "pipe:[7]", 11, 3, 4);
	sketch_end(&sketch);
	flows_build(&flows, &sketch.rec);
	ck_assert_uint_eq(flows.transfer_of[write], NO_INDEX);
	ck_assert_uint_eq(flows.transfer_of[read], NO_INDEX);
	flows_free(&flows);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_waiting_write_shows_the_capacity)
{
	struct sketch sketch;
	struct flows flows;

	/* 100 bytes each; the third is let in when the first has been read */
	sketch_begin(&sketch);
	sketch_thread(&sketch, "a", 0, 100);
	sketch_thread(&sketch, "b", 0, 100);
	sketch_io(&sketch, 0, "write", "pipe:[7]", 100, 1, 1.01);
	sketch_io(&sketch, 0, "write", "pipe:[7]", 100, 2, 2.01);
	uint32_t third = sketch_io(&sketch, 0, "write", "pipe:[7]", 100, 3, 10.01);
	sketch_io(&sketch, 1, "read", "pipe:[7]", 100, 9.9, 10);
	sketch_io(&sketch, 1, "read", "pipe:[7]", 100, 19.9, 20);
	sketch_io(&sketch, 1, "read", "pipe:[7]", 100, 29.9, 30);
	sketch_end(&sketch);
	flows_build(&flows, &sketch.rec);
	ck_assert(flows.transfers[flows.transfer_of[third]].has_waited);
	ck_assert_uint_eq(flows.flows[0].capacity, 200);
	flows_free(&flows);
	sketch_free(&sketch);
}
END_TEST

static Suite *suite(void)
{
	Suite *suite = suite_create("flows");
	TCase *tcase = tcase_create("flows");

	tcase_add_test(tcase, ends_are_matched_and_offsets_count);
	tcase_add_test(tcase, bytes_from_nowhere_make_a_flow_unusable);
	tcase_add_test(tcase, a_waiting_write_shows_the_capacity);
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

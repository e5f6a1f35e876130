/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, slow requests would be compared with the wrong ones. */
#include "report/followed.h"

#include <math.h>

#include "pathed.h"
#include "report/analysis.h"

enum { COUNT = 200 };

/* Requests of 1 to 200 ns: one part alone for the slowest two, another one for all before. */
START_TEST(means_are_of_their_cohorts)
{
	struct request requests[COUNT] = { 0 };
	struct requests all = { .requests = requests, .count = COUNT };
	struct request_paths paths = { .count = COUNT };
	struct followed_table table;
	size_t first[COUNT + 1];
	uint32_t part[COUNT];
	uint64_t ns[COUNT];
	path_parts_begin(&paths.parts);
	path_parts_add(&paths.parts, PATH_CPU, 1, 0);
	path_parts_add(&paths.parts, PATH_IO, 1, 0);
	path_parts_add(&paths.parts, PATH_WAKING, 0, 0); /* nobody has it */
	for (uint32_t i = 0; i < COUNT; i++) {
		requests[i].taken_ns = ns[i] = COUNT - i;
		part[i] = i < 2;
		first[i] = i;
	}
	first[COUNT] = COUNT;
	paths.first = first, paths.part = part, paths.ns = ns;
	followed_table_build(&table, &paths, &all);
	ck_assert_uint_eq(table.requests, COUNT);
	ck_assert_uint_eq(table.count, 2);
	ck_assert_uint_eq(table.rows[0].part, 1);
	ck_assert_double_eq(table.rows[0].p99_ns, 199.5);
	ck_assert_double_eq(table.rows[0].p50_ns, 0);
	ck_assert_double_eq_tol(table.rows[0].mean_ns, 399.0 / COUNT, 1e-9);
	ck_assert_double_eq_tol(table.rows[1].p50_ns, 101, 1e-9);
	ck_assert_double_eq(table.rows[1].p99_ns, 0);
	followed_table_free(&table);
	/* nobody knows how long those that were cut off take */
	for (uint32_t i = 0; i < COUNT; i++)
		requests[i].is_unfinished = i < 10;
	followed_table_build(&table, &paths, &all);
	ck_assert_double_eq_tol(table.rows[0].p50_ns, 101, 1e-9);
	ck_assert(isnan(table.rows[0].p99_ns));
	followed_table_free(&table);
	path_parts_free(&paths.parts);
}
END_TEST

START_TEST(paths_are_found_if_somebody_asks)
{
	struct options options = { 0 };
	struct analysis analysis = { .options = &options };
	struct requests *requests = &analysis.script.requests;
	requests->judged_class = NO_INDEX;
	ck_assert(!followed_is_wanted(&analysis));
	options.show = options.requests = "";
	ck_assert(!followed_is_wanted(&analysis));
	/* the first screen of a server */
	requests->judged_class = 1;
	ck_assert(followed_is_wanted(&analysis));
	requests->judged_source = REQUEST_LOCK;
	ck_assert(!followed_is_wanted(&analysis));
	requests->judged_source = REQUEST_SERVED;
	options.export = "folded";
	ck_assert(!followed_is_wanted(&analysis));
	options.requests = "-";
	ck_assert(followed_is_wanted(&analysis));
	options = (struct options){ .show = "locks,paths" };
	ck_assert(followed_is_wanted(&analysis));
	options = (struct options){ .json = true };
	ck_assert(followed_is_wanted(&analysis));
}
END_TEST

SUITE()
{
	TEST(means_are_of_their_cohorts);
	TEST(paths_are_found_if_somebody_asks);
}

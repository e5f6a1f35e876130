/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, threads that do the same would be far from each other, or others among them. */
#include "export/pools.h"
#include "sketch.h"
#include "suite.h"

START_TEST(threads_of_one_routine_and_name_but_for_numbers_are_a_pool)
{
	struct sketch sketch;
	struct thread_pools pools;
	sketch_begin(&sketch);
	sketch.process.exe = sketch_string(&sketch, "/bin/behind-a-link");
	sketch_thread(&sketch, "main", 0, 100);
	sketch.rec.ops[sketch.process.op].name = sketch_string(&sketch, "server");
	sketch_thread(&sketch, "routine", 2, 90);
	sketch_thread(&sketch, "routine", 3, 90);
	sketch_thread(&sketch, "routine", 1, 90);
	sketch.threads[0].name = sketch_string(&sketch, "server");
	sketch.threads[1].name = sketch_string(&sketch, "io-1");
	sketch.threads[2].name = sketch_string(&sketch, "log");
	sketch.threads[3].name = sketch_string(&sketch, "io-22");
	sketch_end(&sketch);
	const struct analysis analysis = { .recording = &sketch.rec, .classes = sketch.classes };
	pools_build(&pools, &analysis);
	ck_assert_uint_eq(pools.count, 3);
	ck_assert_str_eq(pools.pools[0].name, "main");
	ck_assert_str_eq(pools.pools[1].name, "routine (io)");
	ck_assert_str_eq(pools.pools[2].name, "routine (log)");
	const uint32_t order[] = { 0, 3, 1, 2 };
	for (uint32_t lane = 0; lane < 4; lane++) {
		ck_assert_uint_eq(pools.thread_of[lane], order[lane]);
		ck_assert_uint_eq(pools_lane(&pools, order[lane]), lane);
	}
	ck_assert_uint_eq(pools_lane(&pools, NO_INDEX), NO_INDEX);
	pools_free(&pools);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(threads_of_one_routine_and_name_but_for_numbers_are_a_pool);
}

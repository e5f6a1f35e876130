/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, two threads cannot be told apart in a viewer, or two hosts' processes are one. */
#include "export/lanenames.h"
#include "sketch.h"
#include "suite.h"

START_TEST(names_that_several_have_get_a_number)
{
	struct sketch sketch;
	struct walk walk;
	struct lane_names lanes;
	sketch_begin(&sketch);
	for (int i = 0; i < 3; i++)
		sketch_thread(&sketch, "thread", 0, 10);
	sketch.threads[0].name = sketch_string(&sketch, "worker");
	sketch.threads[1].name = sketch_string(&sketch, "main");
	sketch.threads[2].name = sketch_string(&sketch, "worker");
	walk_begin_plain(&walk, &sketch.rec, NULL);
	lane_names_build(&lanes, &walk);
	ck_assert_str_eq(lanes.threads[0], "worker 1");
	ck_assert_str_eq(lanes.threads[1], "main");
	ck_assert_str_eq(lanes.threads[2], "worker 3");
	lane_names_free(&lanes);
	walk_end(&walk);
	sketch_free(&sketch);
}
END_TEST

START_TEST(hosts_have_pids_of_their_own)
{
	struct sketch sketch;
	struct walk walk;
	struct lane_names lanes;
	sketch_begin(&sketch);
	struct rec_process processes[] = {
		{ .pid = 7, .host = 1, .exe = sketch_string(&sketch, "/bin/dash") },
		{ .pid = 7, .host = 2, .exe = sketch_string(&sketch, "relative") },
		{ .pid = 7, .host = 1, .exe = 0 },
	};
	sketch.rec.processes = processes;
	sketch.rec.process_count = 3;
	walk_begin_plain(&walk, &sketch.rec, NULL);
	lane_names_build(&lanes, &walk);
	ck_assert_uint_eq(lanes.pid_shifts[0], 0);
	ck_assert_uint_gt(lanes.pid_shifts[1], 1 << 21);
	ck_assert_uint_eq(lanes.pid_shifts[2], 0);
	ck_assert_str_eq(lanes.programs[0], "dash");
	ck_assert_str_eq(lanes.programs[1], "relative");
	ck_assert_str_eq(lanes.programs[2], "?");
	lane_names_free(&lanes);
	walk_end(&walk);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(names_that_several_have_get_a_number);
	TEST(hosts_have_pids_of_their_own);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, the path to the end would lead through threads that nothing waited for. */
#include "paths/runpath.h"
#include "section.h"

/* The path is this: "thread:from-to" in milliseconds, the last one first. */
static void expect_path(struct sketch *sketch, const char *expected)
{
	struct run_path path;
	struct walk walk;
	char text[256] = "";
	walk_begin_plain(&walk, &sketch->rec, NULL);
	section_wakers(&walk);
	run_path_build(&path, &sketch->rec, &walk.timeline, walk.wakers);
	for (size_t i = 0; i < path.count; i++)
		sprintf(text + strlen(text), " %u:%lu-%lu", path.pieces[i].thread,
			(unsigned long)(path.pieces[i].start_ns / SKETCH_MS),
			(unsigned long)(path.pieces[i].end_ns / SKETCH_MS));
	ck_assert_str_eq(text, expected);
	run_path_free(&path);
	walk_end(&walk);
}

START_TEST(the_way_back_is_from_the_last_runner_by_its_wakers)
{
	static const struct rec_sample samples[] = {
		{ .thread = 1, .at_ns = 0 },
		{ .thread = 1, .at_ns = 50000000, .cpu_ns = 50000000 },
		{ .thread = 2, .at_ns = 0 },
		{ .thread = 2, .at_ns = 60000000, .cpu_ns = 35000000 },
	};
	struct sketch sketch;
	section_sketch(&sketch);
	sketch.rec.samples = (struct rec_sample *)samples;
	sketch.rec.sample_count = 4;
	expect_path(&sketch, " 2:40-60 1:0-40");
	sketch.rec.waits[2].target = NO_INDEX;
	expect_path(&sketch, " 2:0-60");
	sketch_free(&sketch);
}
END_TEST

/* Main joins the second one, which waited for the first one's lock. */
START_TEST(without_samples_it_begins_with_the_thread_that_ended_last)
{
	struct sketch sketch;
	sketch_begin(&sketch);
	sketch_join_two(&sketch, "holder", "waiter", 12, 20);
	uint32_t hold = sketch_hold(&sketch, 1, "lock", 1, 1, 10);
	sketch_wait(&sketch, 2, REASON_MUTEX, "lock", 4, 11, hold);
	sketch_hold(&sketch, 2, "lock", 1, 11, 15);
	sketch_end(&sketch);
	expect_path(&sketch, " 2:10-20 1:0-10");
	sketch_free(&sketch);
}
END_TEST

/* A program that starts another one, which runs last: its start is told by its name. */
START_TEST(a_process_is_gone_back_from_to_who_started_it)
{
	static const struct rec_sample samples[] = {
		{ .thread = 1, .at_ns = 10000000 },
		{ .thread = 1, .at_ns = 60000000, .cpu_ns = 50000000 },
	};
	struct rec_process processes[2] = { { .pid = 1, .op = NO_INDEX }, { .pid = 2 } };
	struct sketch sketch;
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 70);
	sketch_thread(&sketch, "main", 10, 60);
	uint32_t exec = sketch_op(&sketch, KIND_EXEC, "exec", 0, 5, 65);
	processes[1].client = sketch.rec.ops[exec].ident = sketch_string(&sketch, "2:99");
	sketch.threads[1].process = 1;
	sketch.rec.processes = processes;
	sketch.rec.process_count = 2;
	sketch.rec.samples = (struct rec_sample *)samples;
	sketch.rec.sample_count = 2;
	expect_path(&sketch, " 1:10-60 0:0-10");
	sketch_free(&sketch);
}
END_TEST

/* Before a thread began, the one that started it was on the path. */
START_TEST(it_goes_to_who_started_a_thread)
{
	struct sketch sketch;
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 30);
	sketch_thread(&sketch, "late", 7, 30);
	sketch_link(&sketch, 0, LINK_SPAWN, "", 6, 0, sketch.rec.threads[1].op);
	sketch_wait(&sketch, 0, REASON_JOIN, "", 8, 30, sketch.rec.threads[1].op);
	sketch_end(&sketch);
	expect_path(&sketch, " 1:7-30 0:0-6");
	sketch_free(&sketch);
}
END_TEST

/* A hold that was over before somebody waited let nobody go. */
START_TEST(what_was_over_before_is_no_cause)
{
	struct sketch sketch;
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 10);
	sketch_thread(&sketch, "other", 0, 10);
	uint32_t hold = sketch_hold(&sketch, 1, "lock", 1, 1, 2);
	sketch_wait(&sketch, 0, REASON_MUTEX, "lock", 3, 6, hold);
	sketch_end(&sketch);
	expect_path(&sketch, " 0:0-10");
	sketch_free(&sketch);
}
END_TEST

/* Threads that started each other: a dump may say so. */
START_TEST(it_comes_to_an_end)
{
	struct sketch sketch;
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 10);
	sketch_thread(&sketch, "other", 0, 10);
	sketch_link(&sketch, 0, LINK_SPAWN, "", 0, 0, sketch.rec.threads[1].op);
	sketch_link(&sketch, 1, LINK_SPAWN, "", 0, 0, sketch.rec.threads[0].op);
	sketch_end(&sketch);
	expect_path(&sketch, " 0:0-10");
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(a_process_is_gone_back_from_to_who_started_it);
	TEST(it_comes_to_an_end);
	TEST(it_goes_to_who_started_a_thread);
	TEST(the_way_back_is_from_the_last_runner_by_its_wakers);
	TEST(what_was_over_before_is_no_cause);
	TEST(without_samples_it_begins_with_the_thread_that_ended_last);
}

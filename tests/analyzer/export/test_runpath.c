/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, the path to the end would lead through threads that nothing waited for. */
#include "export/runpath.h"
#include "section.h"

static void expect_path(struct sketch *sketch, const char *expected)
{
	struct run_path path;
	struct walk walk;
	char text[256] = "";
	walk_begin_plain(&walk, &sketch->rec, NULL);
	section_wakers(&walk);
	run_path_build(&path, &walk);
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
	expect_path(&sketch, "");
	sketch.rec.samples = (struct rec_sample *)samples;
	sketch.rec.sample_count = 4;
	expect_path(&sketch, " 2:40-60 1:0-40");
	sketch.rec.waits[2].target = NO_INDEX;
	expect_path(&sketch, " 2:0-60");
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

SUITE()
{
	TEST(a_process_is_gone_back_from_to_who_started_it);
	TEST(the_way_back_is_from_the_last_runner_by_its_wakers);
}

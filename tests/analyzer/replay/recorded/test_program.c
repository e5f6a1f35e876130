/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, compiled code would be larger than it needs to be, or not what it stands for.
 */
#include "sketch.h"

#include "replay/recorded/program.h"
#include "suite.h"

static void compile(struct program *program, const struct recording *recording)
{
	struct graph graph;
	struct class_table classes;
	graph_build(&graph, recording);
	class_table_build(&classes, recording, NULL);
	program_compile(program, &graph, &classes);
	class_table_free(&classes);
	graph_free(&graph);
}

static uint32_t count_of(const struct program *program, enum instr_what what)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < program->instr_count; i++)
		count += program->code[i].what == what;
	return count;
}

/* A child that its parent does nothing beside needs neither a clock of its own nor a join. */
START_TEST(children_in_sequence_run_on_their_parents_clock)
{
	struct sketch sketch;
	struct program program;
	sketch_begin(&sketch);
	uint32_t root = sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 0, 100);
	for (uint32_t i = 0; i < 9; i++)
		sketch_bare_op(&sketch, root, KIND_CALL, 2, 10 * i + 1, 10 * i + 9);
	compile(&program, &sketch.rec);
	ck_assert_double_eq(program.baseline_ns, 100);
	/* Of the root: its start, the chain's end; no copy for any child. */
	ck_assert_uint_eq(count_of(&program, INSTR_COPY), 2);
	ck_assert_uint_eq(count_of(&program, INSTR_RUN), 9 + 10);
	program_free(&program);
	/* Once somebody else waits for it, it has a clock. */
	uint32_t other = sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 3, 50, 60);
	sketch_bare_wait(&sketch, other, root + 1, REASON_LOCK, 50, 55);
	compile(&program, &sketch.rec);
	ck_assert_uint_eq(count_of(&program, INSTR_COPY), 2 + 1 + 1);
	program_free(&program);
	sketch_free(&sketch);
}
END_TEST

START_TEST(slots_are_used_again)
{
	struct sketch sketch;
	struct program program;
	sketch_begin(&sketch);
	for (uint32_t i = 0; i < 400; i++)
		sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1 + i % 5, 10 * i, 10 * i + 15);
	compile(&program, &sketch.rec);
	ck_assert_double_eq(program.baseline_ns, 10 * 399 + 15);
	ck_assert_uint_le(program.slot_count, 6);
	program_free(&program);
	sketch_free(&sketch);
}
END_TEST

/* A length of more than 32 bits, and a child that starts before its parent. */
START_TEST(long_and_negative_times_are_kept)
{
	struct sketch sketch;
	struct program program;
	sketch_begin(&sketch);
	sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 7000000000ull, 20000000000ull);
	sketch_bare_wait(&sketch, 0, NO_INDEX, REASON_LOCK, 8000000000ull, 14000000000ull);
	compile(&program, &sketch.rec);
	ck_assert_double_eq(program.baseline_ns, 13e9);
	ck_assert_uint_eq(count_of(&program, INSTR_WIDE), 2);
	program_free(&program);
	sketch_free(&sketch);
}
END_TEST

START_TEST(runs_are_listed_class_by_class)
{
	struct sketch sketch;
	struct program program;
	sketch_begin(&sketch);
	uint32_t root = sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 0, 100);
	sketch_bare_op(&sketch, root, KIND_CALL, 2, 10, 20);
	sketch_bare_op(&sketch, root, KIND_CALL, 2, 30, 40);
	compile(&program, &sketch.rec);
	ck_assert_uint_eq(program.class_count, 2);
	for (uint32_t class = 0; class < 2; class ++) {
		uint32_t at = program.first_run[class], end = program.first_run[class + 1] - 1;
		ck_assert_uint_eq(end - at, class == 0 ? 3 : 2);
		ck_assert_uint_eq(program.runs[end], RUNS_END);
		for (; at < end; at++)
			ck_assert_uint_eq(program.code[program.runs[at]].what, INSTR_RUN);
	}
	program_free(&program);
	sketch_free(&sketch);
}
END_TEST

START_TEST(circles_are_broken_and_counted)
{
	struct sketch sketch;
	struct program program;
	sketch_begin(&sketch);
	uint32_t root = sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 0, 100);
	uint32_t left = sketch_bare_op(&sketch, root, KIND_CALL, 2, 0, 50);
	uint32_t right = sketch_bare_op(&sketch, root, KIND_CALL, 3, 0, 50);
	sketch_bare_wait(&sketch, left, right, REASON_LOCK, 10, 50);
	sketch_bare_wait(&sketch, right, left, REASON_LOCK, 10, 50);
	compile(&program, &sketch.rec);
	ck_assert_uint_eq(program.broken_cycles, 1);
	ck_assert_uint_eq(program.fallback_anchors, 0);
	ck_assert_double_eq(program.baseline_ns, 100);
	program_free(&program);
	sketch_free(&sketch);
}
END_TEST

START_TEST(an_empty_recording_compiles)
{
	struct sketch sketch;
	struct program program;
	sketch_begin(&sketch);
	compile(&program, &sketch.rec);
	ck_assert_double_eq(program.baseline_ns, 0);
	program_free(&program);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(children_in_sequence_run_on_their_parents_clock);
	TEST(slots_are_used_again);
	TEST(long_and_negative_times_are_kept);
	TEST(runs_are_listed_class_by_class);
	TEST(circles_are_broken_and_counted);
	TEST(an_empty_recording_compiles);
}

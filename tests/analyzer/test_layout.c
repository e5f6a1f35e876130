/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, regions would be skipped that must not be, or with a wrong duration.
 */
#include "build.h"
#include <check.h>

#include "program.h"

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

/* An op with four children in sequence from start_ns on, 100 ns in all. */
static uint32_t build_family(struct recording *recording, uint64_t start_ns)
{
	uint32_t parent = build_op(recording, NO_INDEX, KIND_CALL, 1, start_ns, start_ns + 100);
	for (uint32_t i = 0; i < 4; i++)
		build_op(recording, parent, KIND_CALL, 2, start_ns + 20 * i + 5,
			 start_ns + 20 * i + 15);
	return parent;
}

static uint32_t skippable_count(const struct program *program)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < program->region_count; i++)
		count += program->regions[i].end != REGION_NEVER;
	return count;
}

START_TEST(a_family_of_its_own_may_be_skipped)
{
	struct recording recording = build_recording();
	struct program program;
	build_family(&recording, 0);
	compile(&program, &recording);
	ck_assert_uint_eq(program.region_count, 1);
	ck_assert_uint_eq(skippable_count(&program), 1);
	ck_assert_double_eq(program.regions[0].duration_ns, 100);
	ck_assert_uint_eq(program.exports[program.regions[0].first_export].slot, NO_INDEX);
	program_free(&program);
	build_free(&recording);
}
END_TEST

START_TEST(what_is_named_later_is_an_export)
{
	struct recording recording = build_recording();
	struct program program;
	build_family(&recording, 0);
	uint32_t other = build_family(&recording, 200);
	build_wait(&recording, other, 3, REASON_LOCK, 202, 204); /* ended at 55 */
	compile(&program, &recording);
	ck_assert_uint_eq(program.region_count, 2);
	const struct region_export *export = &program.exports[program.regions[0].first_export];
	ck_assert_uint_ne(export[0].slot, NO_INDEX);
	ck_assert_double_eq(export[0].offset_ns, 55);
	ck_assert_uint_eq(export[1].slot, NO_INDEX);
	/* The second asks for something from outside: how long it takes depends on when it starts. */
	ck_assert_uint_eq(skippable_count(&program), 1);
	ck_assert_uint_eq(program.regions[1].end, REGION_NEVER);
	program_free(&program);
	build_free(&recording);
}
END_TEST

/* A point in time taken from the recording does not move with the region that it is in. */
START_TEST(an_op_placed_by_recorded_time_cannot_be_skipped)
{
	struct recording recording = build_recording();
	struct program program;
	uint32_t first = build_family(&recording, 0);
	uint32_t later = build_family(&recording, 50);
	build_wait(&recording, first, later, REASON_LOCK, 90, 150);
	compile(&program, &recording);
	ck_assert_uint_eq(program.fallback_anchors, 1);
	/* Only the inner one, which is placed before it begins. */
	ck_assert_uint_eq(skippable_count(&program), 1);
	program_free(&program);
	build_free(&recording);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("layout");
	TCase *tests = tcase_create("layout");
	tcase_add_test(tests, a_family_of_its_own_may_be_skipped);
	tcase_add_test(tests, what_is_named_later_is_an_export);
	tcase_add_test(tests, an_op_placed_by_recorded_time_cannot_be_skipped);
	suite_add_tcase(suite, tests);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, regions would be skipped that must not be, or with a wrong duration.
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

/* An op with four children in sequence from start_ns on, 100 ns in all. */
static uint32_t sketch_family(struct sketch *sketch, uint64_t start_ns)
{
	uint32_t parent = sketch_bare_op(sketch, NO_INDEX, KIND_CALL, 1, start_ns, start_ns + 100);
	for (uint32_t i = 0; i < 4; i++)
		sketch_bare_op(sketch, parent, KIND_CALL, 2, start_ns + 20 * i + 5,
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

/* The region whose own slot advances by so much; there is just one. */
static const struct region *region_of(const struct program *program, double duration_ns)
{
	const struct region *found = NULL;
	for (uint32_t i = 0; i < program->region_count; i++)
		if (program->regions[i].end != REGION_NEVER &&
		    program->regions[i].duration_ns == duration_ns) {
			ck_assert_ptr_null(found);
			found = &program->regions[i];
		}
	ck_assert_ptr_nonnull(found);
	return found;
}

static uint32_t import_count(const struct region *region)
{
	return region->first_export - region->first_import;
}

static uint32_t export_count(const struct region *region)
{
	return region->end_export - region->first_export;
}

START_TEST(a_family_of_its_own_only_adds)
{
	struct sketch sketch;
	struct program program;
	sketch_begin(&sketch);
	sketch_family(&sketch, 0);
	compile(&program, &sketch.rec);
	const struct region *region = region_of(&program, 100);
	ck_assert(region->is_plain);
	ck_assert_uint_eq(import_count(region), 0);
	ck_assert_uint_eq(export_count(region), 0);
	program_free(&program);
	sketch_free(&sketch);
}
END_TEST

START_TEST(what_is_named_across_a_regions_edge_is_an_import_or_an_export)
{
	struct sketch sketch;
	struct program program;
	sketch_begin(&sketch);
	sketch_family(&sketch, 0);
	uint32_t other = sketch_family(&sketch, 200);
	sketch.rec.ops[other].end_ns = 310;
	sketch_bare_wait(&sketch, other, 3, REASON_LOCK, 202, 204); /* ended at 55: 2 ns less */
	compile(&program, &sketch.rec);
	const struct region *first = region_of(&program, 100), *second = region_of(&program, 108);
	ck_assert_uint_eq(import_count(first), 0);
	ck_assert_uint_eq(export_count(first), 1);
	ck_assert_double_eq(program.edges[first->first_export].offset_ns, 55);
	ck_assert_uint_eq(import_count(second), 1);
	ck_assert_uint_eq(export_count(second), 0);
	ck_assert_double_eq(program.edges[second->first_import].offset_ns, 55.0 - 200);
	ck_assert_uint_eq(program.edges[first->first_export].slot,
			  program.edges[second->first_import].slot);
	ck_assert(!second->is_plain);
	program_free(&program);
	sketch_free(&sketch);
}
END_TEST

/* A point in time taken from the recording does not move with the region that it is in. */
START_TEST(a_region_with_an_op_placed_by_recorded_time_is_never_skipped)
{
	struct sketch sketch;
	struct program program;
	sketch_begin(&sketch);
	uint32_t first = sketch_family(&sketch, 0);
	uint32_t later = sketch_family(&sketch, 50);
	sketch.rec.ops[first].end_ns = 200;
	sketch_bare_wait(&sketch, first, later, REASON_LOCK, 90, 150);
	compile(&program, &sketch.rec);
	ck_assert_uint_eq(program.fallback_anchors, 1);
	/* The inner one is placed before it begins: it may. */
	ck_assert_ptr_nonnull(region_of(&program, 100));
	ck_assert_uint_eq(program.region_count, 2);
	ck_assert_uint_eq(skippable_count(&program), 1);
	program_free(&program);
	sketch_free(&sketch);
}
END_TEST

/* Blocks of roots: how early one starts decides, too, whether they may be skipped. */
START_TEST(blocks_of_roots_know_their_earliest_start)
{
	struct sketch sketch;
	struct program program;
	uint32_t found = 0;
	sketch_begin(&sketch);
	for (uint32_t i = 0; i < 100; i++)
		sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 1000 + 10 * i, 1005 + 10 * i);
	compile(&program, &sketch.rec);
	for (uint32_t i = 0; i < program.region_count; i++)
		if (program.regions[i].end != REGION_NEVER && program.regions[i].first_ns == 5)
			found++;
	ck_assert_uint_ge(found, 3);
	program_free(&program);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(a_family_of_its_own_only_adds);
	TEST(what_is_named_across_a_regions_edge_is_an_import_or_an_export);
	TEST(a_region_with_an_op_placed_by_recorded_time_is_never_skipped);
	TEST(blocks_of_roots_know_their_earliest_start);
}

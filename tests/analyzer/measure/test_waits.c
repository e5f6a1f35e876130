/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, waits would be put under a wrong reason, resource or cause.
 */
#include "sketch.h"

#include "measure/waits.h"
#include "suite.h"

START_TEST(waits_are_grouped_by_reason_resource_and_target_class)
{
	struct sketch sketch;
	struct graph graph;
	struct class_table classes;
	struct wait_table table;
	sketch_begin(&sketch);
	uint32_t waiter = sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 0, 1000);
	uint32_t first = sketch_bare_op(&sketch, NO_INDEX, KIND_EXEC, 2, 0, 100);
	uint32_t second = sketch_bare_op(&sketch, NO_INDEX, KIND_EXEC, 2, 0, 100);
	sketch_bare_wait(&sketch, waiter, first, REASON_LOCK, 0, 10);
	sketch_bare_wait(&sketch, waiter, second, REASON_LOCK, 10, 40); /* the same class */
	sketch_bare_wait(&sketch, waiter, NO_INDEX, REASON_LOCK, 50, 55);
	sketch_bare_wait(&sketch, waiter, NO_INDEX, REASON_SEM, 60, 67);
	uint32_t named = sketch_bare_wait(&sketch, waiter, NO_INDEX, REASON_SEM, 70, 71);
	sketch.rec.waits[named].ident = 9;
	sketch.rec.waits[named].timed_out = sketch.rec.waits[named].open = true;
	graph_build(&graph, &sketch.rec);
	class_table_build(&classes, &sketch.rec, NULL);
	wait_table_build(&table, &graph, &classes, NULL);
	ck_assert_uint_eq(table.count, 4);
	ck_assert_uint_eq(table.rows[0].count, 2);
	ck_assert_uint_eq(table.rows[0].times.total_ns, 40);
	ck_assert_uint_eq(table.rows[0].times.max_ns, 30);
	ck_assert_uint_eq(table.rows[0].target_class, classes.of_op[first]);
	ck_assert_uint_eq(table.rows[1].reason, REASON_SEM);
	ck_assert_uint_eq(table.rows[1].target_class, NO_INDEX);
	ck_assert_uint_eq(table.rows[2].reason, REASON_LOCK);
	ck_assert_uint_eq(table.rows[3].name, 9);
	ck_assert_uint_eq(table.rows[3].timed_out_count, 1);
	ck_assert_uint_eq(table.rows[3].open_count, 1);
	ck_assert_uint_eq(table.total_ns, 53);
	ck_assert_uint_eq(table.untargeted_ns, 13);
	wait_table_free(&table);
	/* All under one given name: only reason and target tell them apart. */
	const uint32_t names[] = { 3, 3, 3, 3, 3 };
	wait_table_build(&table, &graph, &classes, names);
	ck_assert_uint_eq(table.count, 3);
	wait_table_free(&table);
	class_table_free(&classes);
	graph_free(&graph);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(waits_are_grouped_by_reason_resource_and_target_class);
}

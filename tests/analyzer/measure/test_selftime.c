/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, the table of classes would show wrong times, outcomes or duplicates.
 */
#include "sketch.h"

#include "measure/selftime.h"
#include "suite.h"

START_TEST(self_time_is_without_children_and_waits)
{
	struct sketch sketch;
	struct graph graph;
	struct class_table classes;
	struct selftime selftime;
	sketch_begin(&sketch);
	uint32_t root = sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 0, 100);
	sketch_bare_op(&sketch, root, KIND_CALL, 2, 10, 30);
	sketch_bare_op(&sketch, root, KIND_CALL, 2, 20, 40); /* overlaps: 30 covered in all */
	sketch_bare_wait(&sketch, root, NO_INDEX, REASON_LOCK, 50, 65);
	graph_build(&graph, &sketch.rec);
	class_table_build(&classes, &sketch.rec, NULL);
	selftime_build(&selftime, &graph, &classes);
	ck_assert_uint_eq(selftime.self_ns[0], 100 - 30 - 15);
	ck_assert_uint_eq(selftime.self_ns[1], 20);
	ck_assert_uint_eq(selftime.classes[1].self.total_ns, 40);
	ck_assert_uint_eq(selftime.classes[0].total_wall_ns, 100);
	ck_assert_uint_eq(selftime.classes[1].total_wall_ns, 40);
	ck_assert_uint_eq(selftime.by_total[0], 0);
	ck_assert_uint_eq(selftime.by_total[1], 1);
	selftime_free(&selftime);
	class_table_free(&classes);
	graph_free(&graph);
	sketch_free(&sketch);
}
END_TEST

START_TEST(outcomes_and_duplicates_are_counted_per_class)
{
	static const struct {
		enum kind kind;
		uint32_t ident;
		enum outcome outcome;
	} rows[] = {
		/* 0 */ { KIND_CALL, 5, OUTCOME_EXECUTED },
		/* 1: a duplicate */ { KIND_CALL, 5, OUTCOME_EXECUTED },
		/* 2: another ident */ { KIND_CALL, 6, OUTCOME_EXECUTED },
		/* 3: not executed */ { KIND_CALL, 5, OUTCOME_HIT },
		/* 4: of nothing said */ { KIND_CALL, 0, OUTCOME_EXECUTED },
		/* 5 */ { KIND_CALL, 0, OUTCOME_EXECUTED },
		/* 6: an execution by its kind, another class */ { KIND_CALL_EXEC, 5, OUTCOME_OK },
		/* 7: a duplicate */ { KIND_CALL_EXEC, 5, OUTCOME_ERROR },
	};
	struct sketch sketch;
	struct graph graph;
	struct class_table classes;
	struct selftime selftime;
	sketch_begin(&sketch);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t op = sketch_bare_op(&sketch, NO_INDEX, rows[i].kind, 1, 0, 1);
		sketch.rec.ops[op].ident = rows[i].ident;
		sketch.rec.ops[op].outcome = (uint8_t)rows[i].outcome;
	}
	graph_build(&graph, &sketch.rec);
	class_table_build(&classes, &sketch.rec, NULL);
	selftime_build(&selftime, &graph, &classes);
	ck_assert_uint_eq(selftime.classes[0].duplicate_executions, 1);
	ck_assert_uint_eq(selftime.classes[1].duplicate_executions, 1);
	ck_assert_uint_eq(selftime.classes[0].first_outcome, 0);
	ck_assert_uint_eq(selftime.classes[1].first_outcome, 2);
	ck_assert_uint_eq(selftime.classes[2].first_outcome, 4);
	ck_assert_uint_eq(selftime.outcomes[0].outcome, OUTCOME_HIT);
	ck_assert_uint_eq(selftime.outcomes[0].count, 1);
	ck_assert_uint_eq(selftime.outcomes[1].outcome, OUTCOME_EXECUTED);
	ck_assert_uint_eq(selftime.outcomes[1].count, 5);
	selftime_free(&selftime);
	class_table_free(&classes);
	graph_free(&graph);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(self_time_is_without_children_and_waits);
	TEST(outcomes_and_duplicates_are_counted_per_class);
}

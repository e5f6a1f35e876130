/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, ops would be under the wrong parents, and waits for the wrong targets.
 */
#include "random.h"

#include "recording/graph.h"
#include "suite.h"

/* Every rule that finds a parent; the row's number is the op's index. */
START_TEST(parents_come_from_ids_then_from_nested_client_links)
{
	struct sketch sketch;
	struct graph graph;
	sketch_begin(&sketch);
	/* 0 */ sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 0, 100);
	/* 1: by its id */ sketch_bare_op(&sketch, 0, KIND_CALL, 1, 10, 20);
	/* 2: by its client, the last link wins */ sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1,
								  5, 30);
	/* 3: its id goes before its client */ sketch_bare_op(&sketch, 2, KIND_CALL, 1, 6, 7);
	/* 4: a client of which no link speaks */ sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 3,
								 9);
	sketch.rec.ops[2].client = sketch.rec.ops[3].client = 7;
	sketch.rec.ops[4].client = 8;
	sketch_bare_link(&sketch, LINK_NESTED_CLIENT, 0, 7);
	sketch_bare_link(&sketch, LINK_NESTED_CLIENT, 1, 7);
	sketch_bare_link(&sketch, LINK_RESULT, 0, 7);
	sketch_bare_link(&sketch, LINK_NESTED_CLIENT, NO_INDEX, 7);
	graph_build(&graph, &sketch.rec);
	ck_assert(graph_is_valid(&graph));
	ck_assert_uint_eq(graph.parent[1], 0);
	ck_assert_uint_eq(graph.parent[2], 1);
	ck_assert_uint_eq(graph.parent[3], 2);
	ck_assert_uint_eq(graph.parent[4], NO_INDEX);
	ck_assert_uint_eq(graph.nested_parents, 1);
	ck_assert_uint_eq(graph.root_count, 2);
	graph_free(&graph);
	sketch_free(&sketch);
}
END_TEST

START_TEST(nested_clients_never_close_a_circle)
{
	struct sketch sketch;
	struct graph graph;
	sketch_begin(&sketch);
	sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 0, 100);
	sketch_bare_op(&sketch, 0, KIND_CALL, 1, 10, 20);
	sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 10, 20);
	sketch.rec.ops[0].client = 1; /* from its own child */
	sketch.rec.ops[2].client = 2; /* from itself */
	sketch_bare_link(&sketch, LINK_NESTED_CLIENT, 1, 1);
	sketch_bare_link(&sketch, LINK_NESTED_CLIENT, 2, 2);
	graph_build(&graph, &sketch.rec);
	ck_assert(graph_is_valid(&graph));
	ck_assert_uint_eq(graph.cut_parents, 2);
	ck_assert_uint_eq(graph.root_count, 2);
	graph_free(&graph);
	sketch_free(&sketch);
}
END_TEST

START_TEST(targets_come_from_ids_then_from_the_longest_exec_of_the_ident)
{
	static const struct {
		uint32_t target;
		enum reason reason;
		uint32_t ident;
		uint32_t expected;
	} rows[] = {
		/* 0 */ { 1, REASON_EXEC, 5, 1 },
		/* 1 */ { NO_INDEX, REASON_EXEC, 5, 2 },
		/* 2 */ { NO_INDEX, REASON_EXEC, 6, NO_INDEX },
		/* 3 */ { NO_INDEX, REASON_EXEC, 0, NO_INDEX },
		/* 4 */ { NO_INDEX, REASON_LOCK, 5, NO_INDEX },
	};
	struct sketch sketch;
	struct graph graph;
	sketch_begin(&sketch);
	/* 0 */ sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 0, 100);
	/* 1 */ sketch_bare_op(&sketch, 0, KIND_EXEC, 1, 0, 10);
	/* 2: longest, and first of two as long */ sketch_bare_op(&sketch, 0, KIND_EXEC, 1, 0, 20);
	/* 3 */ sketch_bare_op(&sketch, 0, KIND_EXEC, 1, 30, 50);
	/* 4: longer, but no exec */ sketch_bare_op(&sketch, 0, KIND_CALL, 1, 0, 90);
	for (uint32_t i = 1; i <= 4; i++)
		sketch.rec.ops[i].ident = 5;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		sketch_bare_wait(&sketch, 0, rows[i].target, rows[i].reason, 1, 2);
		sketch.rec.waits[i].ident = rows[i].ident;
	}
	sketch_bare_wait(&sketch, NO_INDEX, 0, REASON_LOCK, 1, 2);
	graph_build(&graph, &sketch.rec);
	ck_assert(graph_is_valid(&graph));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ck_assert_msg(graph.wait_target[i] == rows[i].expected, "row %zu", i);
	ck_assert_uint_eq(graph.orphan_waits, 1);
	ck_assert_uint_eq(graph.exec_targets, 1);
	graph_free(&graph);
	sketch_free(&sketch);
}
END_TEST

START_TEST(lists_are_ordered_whatever_the_order_of_the_dump)
{
	for (uint64_t seed = 0; seed < 300; seed++) {
		struct sketch sketch;
		struct graph graph;
		random_sketch(&sketch, seed, seed & 1);
		graph_build(&graph, &sketch.rec);
		if (!graph_is_valid(&graph))
			ck_abort_msg("seed %lu", (unsigned long)seed);
		graph_free(&graph);
		sketch_free(&sketch);
	}
}
END_TEST

/* More children than are sorted by insertion, in the worst order. */
START_TEST(long_lists_are_sorted_too)
{
	struct sketch sketch;
	struct graph graph;
	sketch_begin(&sketch);
	sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 0, 10000);
	for (uint32_t i = 0; i < 500; i++)
		sketch_bare_op(&sketch, 0, KIND_CALL, 1, (i * 7919) % 500,
			       1000 + (i * 104729) % 500);
	graph_build(&graph, &sketch.rec);
	ck_assert(graph_is_valid(&graph));
	for (uint32_t i = 0; i < 500; i++)
		ck_assert_uint_eq(sketch.rec.ops[graph.children[i]].start_ns, i);
	graph_free(&graph);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_broken_graph_is_not_valid)
{
	struct sketch sketch;
	struct graph graph;
	sketch_begin(&sketch);
	sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 0, 100);
	sketch_bare_op(&sketch, 0, KIND_CALL, 1, 10, 20);
	sketch_bare_op(&sketch, 0, KIND_CALL, 1, 30, 40);
	sketch_bare_wait(&sketch, 0, 1, REASON_LOCK, 1, 2);
	graph_build(&graph, &sketch.rec);
	ck_assert(graph_is_valid(&graph));
	graph.children[0] = 2;
	graph.children[1] = 1;
	ck_assert(!graph_is_valid(&graph));
	graph.children[0] = graph.children[1] = 1;
	ck_assert(!graph_is_valid(&graph));
	graph.children[1] = 2;
	ck_assert(graph_is_valid(&graph));
	graph.orphan_waits = 1;
	ck_assert(!graph_is_valid(&graph));
	graph_free(&graph);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(parents_come_from_ids_then_from_nested_client_links);
	TEST(nested_clients_never_close_a_circle);
	TEST(targets_come_from_ids_then_from_the_longest_exec_of_the_ident);
	TEST(lists_are_ordered_whatever_the_order_of_the_dump);
	TEST(long_lists_are_sorted_too);
	TEST(a_broken_graph_is_not_valid);
}

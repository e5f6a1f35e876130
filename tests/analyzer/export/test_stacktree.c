/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, a page would show callers that did not call. */
#include "export/stacktree.h"
#include "cpu_sample.h"
#include "suite.h"

START_TEST(a_node_is_a_function_and_its_caller)
{
	struct sketch sketch;
	struct stack_tree tree;
	cpu_sketch(&sketch);
	stack_tree_begin(&tree, &sketch.rec, &cpu_names);
	uint32_t node = stack_tree_node(&tree, 1), same = stack_tree_node(&tree, 2);
	const uint32_t *inner = tuples_at(&tree.nodes, node);
	ck_assert_uint_ne(node, NO_INDEX);
	ck_assert_uint_eq(inner[0], stack_tree_text(&tree, 11));
	ck_assert_uint_eq(tuples_at(&tree.nodes, inner[1])[0], stack_tree_text(&tree, 10));
	ck_assert_uint_eq(tuples_at(&tree.nodes, inner[1])[1], NO_INDEX);
	ck_assert_uint_eq(same, inner[1]);
	ck_assert_uint_eq(stack_tree_call(&tree, same, 11), node);
	ck_assert_uint_eq(stack_tree_node(&tree, 0), NO_INDEX);
	ck_assert_uint_eq(stack_tree_node(&tree, UINT32_MAX), NO_INDEX);
	stack_tree_free(&tree);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(a_node_is_a_function_and_its_caller);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, arrows of the wait graph would go back, or circles not be seen as such. */
#include "export/layers.h"
#include "suite.h"

enum { POOL, POOL_2, LOCK, LOCK_2, LAST, NODES };

START_TEST(edges_go_right_but_in_circles)
{
	struct layer_node nodes[NODES] = {
		[LOCK] = { .is_right = true }, [LOCK_2] = { .is_right = true }
	};
	static const struct layer_edge edges[] = {
		{ POOL, LOCK },   { LOCK, POOL },   { POOL_2, LOCK },
		{ POOL, LOCK_2 }, { LOCK_2, LAST },
	};
	layers_place(nodes, NODES, edges, sizeof(edges) / sizeof(edges[0]));
	ck_assert_uint_eq(nodes[POOL].component, nodes[LOCK].component);
	ck_assert_uint_ne(nodes[POOL].component, nodes[POOL_2].component);
	ck_assert(nodes[POOL].is_circle && nodes[LOCK].is_circle);
	ck_assert(!nodes[LAST].is_circle && !nodes[POOL_2].is_circle);
	const uint32_t columns[NODES] = {
		[POOL_2] = 0, [POOL] = 1, [LOCK] = 2, [LOCK_2] = 3, [LAST] = 4
	};
	for (size_t i = 0; i < NODES; i++)
		ck_assert_uint_eq(nodes[i].column, columns[i]);
}
END_TEST

START_TEST(no_two_nodes_have_one_place)
{
	enum { COUNT = 12, EDGES = 20 };
	struct layer_node nodes[COUNT] = { { 0 } };
	struct layer_edge edges[EDGES];
	uint32_t state = (uint32_t)_i + 1;
	for (size_t i = 0; i < COUNT; i++)
		nodes[i].is_right = i % 3 == 0;
	for (size_t i = 0; i < EDGES; i++) {
		state = state * 1103515245 + 12345;
		edges[i] = (struct layer_edge){ (state >> 8) % COUNT, (state >> 20) % COUNT };
	}
	layers_place(nodes, COUNT, edges, EDGES);
	for (size_t i = 0; i < COUNT; i++)
		for (size_t j = 0; j < i; j++)
			ck_assert(nodes[i].column != nodes[j].column ||
				  nodes[i].row != nodes[j].row);
	for (size_t i = 0; i < EDGES; i++) {
		const struct layer_node *from = &nodes[edges[i].from], *to = &nodes[edges[i].to];
		ck_assert(from->component == to->component || from->column < to->column);
	}
}
END_TEST

SUITE()
{
	TEST(edges_go_right_but_in_circles);
	LOOP(no_two_nodes_have_one_place, 0, 50);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Components by Tarjan's method, then the longest way between them; layers.h has the contract.
 *
 * The method numbers a component only after all that can be reached from it. So components with
 * falling numbers are in the order of their edges.
 */
#include "layers.h"

#include <stdlib.h>

#include "base/memory.h"

struct search {
	struct layer_node *nodes;
	const struct layer_edge *edges;
	size_t node_count, edge_count;
	uint32_t *seen; /* by node: when it was come by, from 1; 0 = not yet */
	uint32_t *low;  /* by node: the earliest that is reached from it */
	uint32_t *stack;
	bool *is_on_stack;
	size_t stack_count;
	uint32_t seen_count;
	uint32_t component_count;
};

struct component {
	uint32_t width; /* columns */
	uint32_t column;
	uint32_t left, right; /* nodes in each column */
	bool is_placed;
};

static void close_component(struct search *search, uint32_t node)
{
	uint32_t member;
	do {
		member = search->stack[--search->stack_count];
		search->is_on_stack[member] = false;
		search->nodes[member].component = search->component_count;
	} while (member != node);
	search->component_count++;
}

static void visit(struct search *search, uint32_t node)
{
	search->seen[node] = search->low[node] = ++search->seen_count;
	search->stack[search->stack_count++] = node;
	search->is_on_stack[node] = true;
	for (size_t i = 0; i < search->edge_count; i++) {
		uint32_t to = search->edges[i].to, earliest = 0;
		if (search->edges[i].from != node)
			continue;
		if (search->seen[to] == 0) {
			visit(search, to);
			earliest = search->low[to];
		} else if (search->is_on_stack[to]) {
			earliest = search->seen[to];
		}
		if (earliest > 0 && earliest < search->low[node])
			search->low[node] = earliest;
	}
	if (search->low[node] == search->seen[node])
		close_component(search, node);
}

static void find_components(struct search *search)
{
	search->seen = memory_new(search->node_count, sizeof(uint32_t));
	search->low = memory_new(search->node_count, sizeof(uint32_t));
	search->stack = memory_new(search->node_count, sizeof(uint32_t));
	search->is_on_stack = memory_new(search->node_count, sizeof(bool));
	for (uint32_t i = 0; i < search->node_count; i++)
		if (search->seen[i] == 0)
			visit(search, i);
	free(search->seen);
	free(search->low);
	free(search->stack);
	free(search->is_on_stack);
}

/* Widths first; then columns, each component behind all that lead to it. */
static void find_columns(struct search *search, struct component *components)
{
	struct layer_node *nodes = search->nodes;
	for (size_t i = 0; i < search->node_count; i++) {
		struct component *component = &components[nodes[i].component];
		if (nodes[i].is_right)
			component->right++;
		else
			component->left++;
	}
	for (uint32_t i = search->component_count; i-- > 0;) {
		components[i].width = components[i].left > 0 && components[i].right > 0 ? 2 : 1;
		for (size_t edge = 0; edge < search->edge_count; edge++) {
			uint32_t from = nodes[search->edges[edge].from].component,
				 to = nodes[search->edges[edge].to].component;
			uint32_t after = components[i].column + components[i].width;
			if (from == i && to != i && components[to].column < after)
				components[to].column = after;
		}
	}
}

static uint32_t larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* Rows: components in the order of their first nodes, below what is in their columns already. */
static void find_rows(struct search *search, struct component *components)
{
	struct layer_node *nodes = search->nodes;
	uint32_t *next_row = memory_new(2 * search->node_count + 2, sizeof(*next_row));
	for (size_t first = 0; first < search->node_count; first++) {
		struct component *component = &components[nodes[first].component];
		if (component->is_placed)
			continue;
		uint32_t *here = &next_row[component->column];
		uint32_t row = component->width == 2 ? larger(here[0], here[1]) : here[0];
		uint32_t left = row, right = row;
		for (size_t i = first; i < search->node_count; i++) {
			if (nodes[i].component != nodes[first].component)
				continue;
			bool is_second = component->width == 2 && nodes[i].is_right;
			nodes[i].column = component->column + is_second;
			nodes[i].row = is_second ? right++ : left++;
		}
		here[0] = larger(left, right);
		if (component->width == 2)
			here[1] = here[0];
		component->is_placed = true;
	}
	free(next_row);
}

void layers_place(struct layer_node *nodes, size_t node_count, const struct layer_edge *edges,
		  size_t edge_count)
{
	struct search search = {
		.nodes = nodes,
		.edges = edges,
		.node_count = node_count,
		.edge_count = edge_count,
	};
	find_components(&search);
	struct component *components = memory_new(search.component_count, sizeof(*components));
	find_columns(&search, components);
	find_rows(&search, components);
	for (size_t i = 0; i < edge_count; i++)
		if (nodes[edges[i].from].component == nodes[edges[i].to].component)
			for (size_t node = 0; node < node_count; node++)
				if (nodes[node].component == nodes[edges[i].from].component)
					nodes[node].is_circle = true;
	free(components);
}

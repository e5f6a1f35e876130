/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places the nodes of a graph in columns, so that edges go to the right but for circles.
 *
 * Nodes that can be reached from each other are one component. A component has one column, or two
 * where it has nodes of both sides, and shares its rows there with no other one. One thread.
 */
#ifndef WCPROF_LAYERS_H
#define WCPROF_LAYERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct layer_edge {
	uint32_t from;
	uint32_t to;
};

struct layer_node {
	bool is_right; /* given: of two columns of its component it is in the second */
	uint32_t component;
	uint32_t column;
	uint32_t row;
	bool is_circle; /* its component has an edge inside */
};

/* Of several components for one place, the one of the first node comes first. */
void layers_place(struct layer_node *nodes, size_t node_count, const struct layer_edge *edges,
		  size_t edge_count);

#endif

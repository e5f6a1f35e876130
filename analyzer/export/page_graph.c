/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data of the page's wait graph: who waited for what, and who kept it.
 *
 * Nodes are pools, those of one name as one, and locks. A wait for a lock is an edge to it, and one
 * from it to who had the lock. Any other wait is an edge to who put an end to it, if that is known.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/numbers.h"
#include "base/tuples.h"
#include "drawnstates.h"
#include "layers.h"
#include "page.h"
#include "pools.h"
#include "walk.h"

/* More edges, and thinner ones, cannot be read. */
enum { EDGES_MAX = 48, PART_LEAST = 1000 /* of the largest edge: one in so many */ };

struct wait_edge {
	uint32_t from; /* nodes */
	uint32_t to;
	uint64_t ns;
	uint32_t count;
};

struct wait_graph {
	const struct recording *recording;
	struct walk walk;
	struct thread_pools pools;
	uint32_t *node_of_pool; /* the first pool of that name */
	struct tuples nodes;    /* (is a lock, string id; or pool) */
	struct tuples pairs;    /* (from, to), by index in `edges` */
	struct wait_edge *edges;
	size_t edge_room;
	size_t edge_count; /* of those that are shown */
	uint64_t left_out_ns;
};

static void merge_pools(struct wait_graph *graph)
{
	const struct thread_pools *pools = &graph->pools;
	graph->node_of_pool = memory_new(pools->count, sizeof(*graph->node_of_pool));
	for (uint32_t i = 0; i < pools->count; i++) {
		uint32_t first = 0;
		while (strcmp(pools->pools[first].name, pools->pools[i].name) != 0)
			first++;
		graph->node_of_pool[i] = first;
	}
}

static uint32_t pool_node(struct wait_graph *graph, uint32_t thread)
{
	const uint32_t words[] = { false, graph->node_of_pool[graph->pools.pool_of[thread]] };
	return tuples_add(&graph->nodes, words);
}

static uint32_t lock_node(struct wait_graph *graph, uint32_t name)
{
	const uint32_t words[] = { true, name };
	return tuples_add(&graph->nodes, words);
}

static void add_edge(struct wait_graph *graph, uint32_t from, uint32_t to,
		     const struct walk_slice *slice)
{
	const uint32_t pair[] = { from, to };
	uint32_t known = graph->pairs.count, index = tuples_add(&graph->pairs, pair);
	graph->edges = memory_grow(graph->edges, &graph->edge_room, (size_t)index + 1,
				   sizeof(*graph->edges));
	if (index == known)
		graph->edges[index] = (struct wait_edge){ .from = from, .to = to };
	graph->edges[index].ns += slice->end_ns - slice->start_ns;
	graph->edges[index].count++;
}

static void add_slice(struct wait_graph *graph, const struct walk_slice *slice)
{
	struct walk_waker waker;
	if (slice->state != WALK_BLOCKED && slice->state != WALK_IDLE)
		return;
	bool has_waker = drawn_waker(&graph->walk, slice, &waker);
	uint32_t by = slice->holder != NO_INDEX ? slice->holder
		      : has_waker               ? waker.thread
						: NO_INDEX;
	uint32_t from = pool_node(graph, slice->thread);
	if (drawn_state_of(graph->recording, slice) == DRAWN_LOCK) {
		uint32_t lock = lock_node(graph, slice->name);
		add_edge(graph, from, lock, slice);
		if (by != NO_INDEX)
			add_edge(graph, lock, pool_node(graph, by), slice);
	} else if (has_waker) {
		add_edge(graph, from, pool_node(graph, waker.thread), slice);
	}
}

static int compare_edges(const void *a, const void *b)
{
	const struct wait_edge *left = a, *right = b;
	if (left->ns != right->ns)
		return left->ns > right->ns ? -1 : 1;
	if (left->from != right->from)
		return left->from < right->from ? -1 : 1;
	return (left->to > right->to) - (left->to < right->to);
}

static void cut_edges(struct wait_graph *graph)
{
	size_t count = graph->pairs.count;
	if (count > 0)
		qsort(graph->edges, count, sizeof(*graph->edges), compare_edges);
	while (graph->edge_count < count && graph->edge_count < EDGES_MAX &&
	       graph->edges[graph->edge_count].ns >= graph->edges[0].ns / PART_LEAST)
		graph->edge_count++;
	for (size_t i = graph->edge_count; i < count; i++)
		graph->left_out_ns += graph->edges[i].ns;
}

/* The nodes of the edges that are shown get new numbers, in the order of the edges. */
static size_t number_nodes(struct wait_graph *graph, uint32_t *old_of)
{
	size_t count = 0;
	uint32_t *new_of = memory_new(graph->nodes.count, sizeof(*new_of));
	for (size_t i = 0; i < graph->edge_count; i++) {
		uint32_t *ends[] = { &graph->edges[i].from, &graph->edges[i].to };
		for (size_t end = 0; end < 2; end++) {
			if (new_of[*ends[end]] == 0) {
				old_of[count] = *ends[end];
				new_of[*ends[end]] = (uint32_t)++count;
			}
			*ends[end] = new_of[*ends[end]] - 1;
		}
	}
	free(new_of);
	return count;
}

static void emit_nodes(const struct wait_graph *graph, struct emit *emit, const uint32_t *old_of,
		       const struct layer_node *places, size_t count)
{
	static const struct emit_column columns[] = {
		{ .key = "name" }, { .key = "is_lock" },   { .key = "column" },
		{ .key = "row" },  { .key = "component" }, { .key = "is_circle" }
	};
	emit_table_begin(emit, "nodes", EMIT_OBJECTS, columns, 6);
	for (size_t i = 0; i < count; i++) {
		const uint32_t *node = tuples_at(&graph->nodes, old_of[i]);
		emit_row_begin(emit);
		emit_cell_text(emit, node[0] ? graph->recording->strings[node[1]]
					     : graph->pools.pools[node[1]].name);
		emit_cell_flag(emit, node[0]);
		emit_cell_count(emit, places[i].column);
		emit_cell_count(emit, places[i].row);
		emit_cell_count(emit, places[i].component);
		emit_cell_flag(emit, places[i].is_circle);
		emit_row_end(emit);
	}
	emit_table_end(emit);
}

static void emit_edges(const struct wait_graph *graph, struct emit *emit)
{
	static const struct emit_column columns[] = {
		{ .key = "from" }, { .key = "to" }, { .key = "ns" }, { .key = "count" }
	};
	emit_table_begin(emit, "edges", EMIT_OBJECTS, columns, 4);
	for (size_t i = 0; i < graph->edge_count; i++) {
		emit_row_begin(emit);
		emit_cell_count(emit, graph->edges[i].from);
		emit_cell_count(emit, graph->edges[i].to);
		emit_cell_count(emit, graph->edges[i].ns);
		emit_cell_count(emit, graph->edges[i].count);
		emit_row_end(emit);
	}
	emit_table_end(emit);
}

static void place_and_emit(struct wait_graph *graph, struct emit *emit)
{
	uint32_t old_of[2 * EDGES_MAX];
	struct layer_node places[2 * EDGES_MAX] = { { 0 } };
	struct layer_edge edges[EDGES_MAX];
	size_t count = number_nodes(graph, old_of);
	for (size_t i = 0; i < count; i++)
		places[i].is_right = tuples_at(&graph->nodes, old_of[i])[0];
	for (size_t i = 0; i < graph->edge_count; i++)
		edges[i] = (struct layer_edge){ graph->edges[i].from, graph->edges[i].to };
	layers_place(places, count, edges, graph->edge_count);
	emit_nodes(graph, emit, old_of, places, count);
	emit_edges(graph, emit);
	emit_ns(emit, "left_out_ns", NULL, (double)graph->left_out_ns);
}

void page_graph(const struct analysis *analysis, struct emit *emit)
{
	struct wait_graph graph = { .recording = analysis->recording };
	struct walk_slice slice;
	walk_begin(&graph.walk, analysis);
	pools_build(&graph.pools, analysis);
	merge_pools(&graph);
	tuples_begin(&graph.nodes, 2);
	tuples_begin(&graph.pairs, 2);
	for (uint32_t thread = 0; thread < walk_thread_count(&graph.walk); thread++)
		for (walk_thread(&graph.walk, thread); walk_next(&graph.walk, &slice);)
			add_slice(&graph, &slice);
	cut_edges(&graph);
	place_and_emit(&graph, emit);
	free(graph.edges);
	free(graph.node_of_pool);
	tuples_free(&graph.pairs);
	tuples_free(&graph.nodes);
	pools_free(&graph.pools);
	walk_end(&graph.walk);
}

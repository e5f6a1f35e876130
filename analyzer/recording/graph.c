/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The graph of a recording: parents, children and waits as flat lists.
 *
 * Method: a counting sort into flat lists, then each list is sorted by itself. Lists come nearly
 * sorted from a recorder, so a list is looked at first and sorted only when it needs it. Parents
 * found through nested_client links could close a circle; a union-find over the trees keeps such a
 * link out. One thread builds; nothing changes afterwards.
 */
#include "graph.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "format.h"

enum { INSERTION_MAX = 24 }; /* lists up to here are sorted by insertion */

/* The order of a list: by a key first, then the dump's id, then the place in the recording. */
struct order {
	const struct recording *recording;
	uint64_t (*key)(const struct recording *, uint32_t index);
	bool is_op;
};

static uint64_t op_start(const struct recording *recording, uint32_t op)
{
	return recording->ops[op].start_ns;
}

static uint64_t op_end(const struct recording *recording, uint32_t op)
{
	return recording->ops[op].end_ns;
}

static uint64_t wait_start(const struct recording *recording, uint32_t wait)
{
	return recording->waits[wait].start_ns;
}

static bool order_is_before(const struct order *order, uint32_t a, uint32_t b)
{
	uint64_t key_a = order->key(order->recording, a), key_b = order->key(order->recording, b);
	if (key_a != key_b)
		return key_a < key_b;
	if (order->is_op && order->recording->ops[a].dump_id != order->recording->ops[b].dump_id)
		return order->recording->ops[a].dump_id < order->recording->ops[b].dump_id;
	return a < b;
}

static bool list_is_sorted(const struct order *order, const uint32_t *list, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (order_is_before(order, list[i], list[i - 1]))
			return false;
	return true;
}

static void list_insertion_sort(const struct order *order, uint32_t *list, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		uint32_t moved = list[i];
		size_t at = i;
		for (; at > 0 && order_is_before(order, moved, list[at - 1]); at--)
			list[at] = list[at - 1];
		list[at] = moved;
	}
}

/* An element of a long list, with what it is ordered by at hand. */
struct keyed {
	uint64_t key;
	uint32_t index;
};

static bool keyed_is_before(const struct order *order, const struct keyed *a, const struct keyed *b)
{
	return a->key != b->key ? a->key < b->key : order_is_before(order, a->index, b->index);
}

/* Merges the sorted runs [from, middle) and [middle, to) of `source` into `sink`. */
static void keyed_merge(const struct order *order, const struct keyed *source, struct keyed *sink,
			size_t from, size_t middle, size_t to)
{
	size_t a = from, b = middle;
	for (size_t at = from; at < to; at++) {
		bool takes_b =
			a == middle || (b < to && keyed_is_before(order, &source[b], &source[a]));
		sink[at] = takes_b ? source[b++] : source[a++];
	}
}

static void list_merge_sort(const struct order *order, uint32_t *list, size_t count)
{
	struct keyed *keyed = memory_new(2 * count, sizeof(*keyed));
	struct keyed *source = keyed, *sink = keyed + count;
	for (size_t from = 0; from < count; from += INSERTION_MAX) {
		size_t left = count - from;
		list_insertion_sort(order, list + from,
				    left < INSERTION_MAX ? left : INSERTION_MAX);
	}
	for (size_t i = 0; i < count; i++)
		keyed[i] = (struct keyed){ order->key(order->recording, list[i]), list[i] };
	for (size_t run = INSERTION_MAX; run < count; run *= 2) {
		for (size_t from = 0; from < count; from += 2 * run) {
			size_t middle = from + run < count ? from + run : count;
			size_t to = from + 2 * run < count ? from + 2 * run : count;
			keyed_merge(order, source, sink, from, middle, to);
		}
		struct keyed *swap = source;
		source = sink;
		sink = swap;
	}
	for (size_t i = 0; i < count; i++)
		list[i] = source[i].index;
	free(keyed);
}

static void list_sort(const struct order *order, uint32_t *list, size_t count)
{
	if (list_is_sorted(order, list, count))
		return;
	if (count <= INSERTION_MAX)
		list_insertion_sort(order, list, count);
	else
		list_merge_sort(order, list, count);
}

static void lists_sort(const struct order *order, const uint32_t *first, uint32_t *lists,
		       uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		list_sort(order, lists + first[i], first[i + 1] - first[i]);
}

/* The tree that an op is in, with every step on the way made shorter. */
static uint32_t tree_of(uint32_t *tree, uint32_t op)
{
	while (tree[op] != op) {
		tree[op] = tree[tree[op]];
		op = tree[op];
	}
	return op;
}

/* By client (a string id): the op that the last nested_client link to it starts from; NULL = no
 * link. */
static uint32_t *graph_nested_clients(const struct recording *recording)
{
	uint32_t *from = NULL;
	for (size_t i = 0; i < recording->link_count; i++) {
		const struct rec_link *link = &recording->links[i];
		if (link->kind != LINK_NESTED_CLIENT || link->ident == 0 || link->from == NO_INDEX)
			continue;
		if (!from) {
			from = memory_new(recording->string_count, sizeof(*from));
			memset(from, 0xff, recording->string_count * sizeof(*from));
		}
		from[link->ident] = link->from;
	}
	return from;
}

static void graph_follow_nested(struct graph *graph, const uint32_t *nested_from)
{
	const struct rec_op *ops = graph->recording->ops;
	uint32_t *tree = memory_new(graph->op_count, sizeof(*tree));
	for (uint32_t i = 0; i < graph->op_count; i++)
		tree[i] = graph->parent[i] == NO_INDEX ? i : graph->parent[i];
	for (uint32_t i = 0; i < graph->op_count; i++) {
		uint32_t from = ops[i].client ? nested_from[ops[i].client] : NO_INDEX;
		if (graph->parent[i] != NO_INDEX || from == NO_INDEX)
			continue;
		if (tree_of(tree, from) == i) {
			graph->cut_parents++;
			continue;
		}
		graph->parent[i] = from;
		graph->nested_parents++;
		tree[i] = from;
	}
	free(tree);
}

static void graph_find_parents(struct graph *graph)
{
	const struct recording *recording = graph->recording;
	graph->parent = memory_new(graph->op_count, sizeof(*graph->parent));
	for (uint32_t i = 0; i < graph->op_count; i++)
		graph->parent[i] = recording->ops[i].parent;
	uint32_t *nested_from = graph_nested_clients(recording);
	if (nested_from)
		graph_follow_nested(graph, nested_from);
	free(nested_from);
}

/* Turns counts at first[i + 1] into offsets, and a list of owners into flat lists. */
static void lists_fill(uint32_t *first, uint32_t *lists, uint32_t owner_count,
		       const uint32_t *owner, size_t owner_stride, uint32_t count)
{
	for (uint32_t i = 0; i < owner_count; i++)
		first[i + 1] += first[i];
	/* Backwards, so that first[i] comes down to its offset and each list keeps the recorded
	 * order. */
	for (uint32_t i = 0; i < owner_count; i++)
		first[i] = first[i + 1];
	for (uint32_t i = count; i-- > 0;) {
		uint32_t who = *(const uint32_t *)((const char *)owner + i * owner_stride);
		if (who != NO_INDEX)
			lists[--first[who]] = i;
	}
}

static void graph_list_children(struct graph *graph)
{
	uint32_t count = graph->op_count, child_count = 0;
	graph->first_child = memory_new((size_t)count + 1, sizeof(*graph->first_child));
	for (uint32_t i = 0; i < count; i++)
		if (graph->parent[i] != NO_INDEX) {
			graph->first_child[graph->parent[i] + 1]++;
			child_count++;
		}
	graph->children = memory_new(child_count, sizeof(*graph->children));
	graph->ended = memory_new(child_count, sizeof(*graph->ended));
	lists_fill(graph->first_child, graph->children, count, graph->parent,
		   sizeof(*graph->parent), count);
	memcpy(graph->ended, graph->children, child_count * sizeof(*graph->ended));
	const struct order by_start = { graph->recording, op_start, true };
	const struct order by_end = { graph->recording, op_end, true };
	lists_sort(&by_start, graph->first_child, graph->children, count);
	lists_sort(&by_end, graph->first_child, graph->ended, count);

	graph->roots = memory_new(count - child_count, sizeof(*graph->roots));
	for (uint32_t i = 0; i < count; i++)
		if (graph->parent[i] == NO_INDEX)
			graph->roots[graph->root_count++] = i;
	list_sort(&by_start, graph->roots, graph->root_count);
}

static bool wait_needs_exec(const struct rec_wait *wait)
{
	return wait->target == NO_INDEX && wait->reason == REASON_EXEC && wait->ident != 0;
}

/* By ident (a string id): the exec op that lasted longest. */
static uint32_t *graph_longest_execs(const struct recording *recording)
{
	uint32_t *longest = memory_new(recording->string_count, sizeof(*longest));
	memset(longest, 0xff, recording->string_count * sizeof(*longest));
	for (uint32_t i = 0; i < recording->op_count; i++) {
		const struct rec_op *op = &recording->ops[i];
		if (op->kind != KIND_EXEC || op->ident == 0)
			continue;
		const struct rec_op *best =
			longest[op->ident] == NO_INDEX ? NULL : &recording->ops[longest[op->ident]];
		if (!best || op->end_ns - op->start_ns > best->end_ns - best->start_ns)
			longest[op->ident] = i;
	}
	return longest;
}

static void graph_find_targets(struct graph *graph)
{
	const struct recording *recording = graph->recording;
	uint32_t *longest = NULL;
	graph->wait_target = memory_new(recording->wait_count, sizeof(*graph->wait_target));
	for (size_t i = 0; i < recording->wait_count; i++) {
		const struct rec_wait *wait = &recording->waits[i];
		graph->wait_target[i] = wait->target;
		if (!wait_needs_exec(wait))
			continue;
		if (!longest)
			longest = graph_longest_execs(recording);
		graph->wait_target[i] = longest[wait->ident];
		graph->exec_targets += longest[wait->ident] != NO_INDEX;
	}
	free(longest);
}

static void graph_list_waits(struct graph *graph)
{
	const struct recording *recording = graph->recording;
	uint32_t count = graph->op_count;
	graph->first_wait = memory_new((size_t)count + 1, sizeof(*graph->first_wait));
	graph->waits = memory_new(recording->wait_count, sizeof(*graph->waits));
	for (size_t i = 0; i < recording->wait_count; i++) {
		if (recording->waits[i].waiter == NO_INDEX)
			graph->orphan_waits++;
		else
			graph->first_wait[recording->waits[i].waiter + 1]++;
	}
	if (recording->wait_count > 0)
		lists_fill(graph->first_wait, graph->waits, count, &recording->waits[0].waiter,
			   sizeof(recording->waits[0]), (uint32_t)recording->wait_count);
	const struct order by_start = { recording, wait_start, false };
	lists_sort(&by_start, graph->first_wait, graph->waits, count);
}

static void graph_find_bounds(struct graph *graph)
{
	const struct recording *recording = graph->recording;
	if (graph->op_count == 0)
		return;
	graph->start_ns = UINT64_MAX;
	for (uint32_t i = 0; i < graph->op_count; i++) {
		const struct rec_op *op = &recording->ops[i];
		assert(op->start_ns <= op->end_ns);
		graph->start_ns = op->start_ns < graph->start_ns ? op->start_ns : graph->start_ns;
		graph->end_ns = op->end_ns > graph->end_ns ? op->end_ns : graph->end_ns;
	}
}

void graph_build(struct graph *graph, const struct recording *recording)
{
	assert(recording->op_count < NO_INDEX && recording->wait_count < NO_INDEX);
	*graph =
		(struct graph){ .recording = recording, .op_count = (uint32_t)recording->op_count };
	graph_find_parents(graph);
	graph_list_children(graph);
	graph_find_targets(graph);
	graph_list_waits(graph);
	graph_find_bounds(graph);
}

void graph_free(struct graph *graph)
{
	free(graph->parent);
	free(graph->first_child);
	free(graph->children);
	free(graph->ended);
	free(graph->first_wait);
	free(graph->waits);
	free(graph->wait_target);
	free(graph->roots);
	*graph = (struct graph){ 0 };
}

struct walk {
	const struct graph *graph;
	uint32_t *queue;
	uint32_t count;
	bool *is_queued;
};

static bool walk_add(struct walk *walk, uint32_t op)
{
	if (op >= walk->graph->op_count || walk->is_queued[op])
		return false;
	walk->is_queued[op] = true;
	walk->queue[walk->count++] = op;
	return true;
}

/* Every op is reached once from the roots: no op is lost, shared, or its own ancestor. */
static bool graph_is_forest(const struct graph *graph)
{
	struct walk walk = {
		.graph = graph,
		.queue = memory_new(graph->op_count, sizeof(*walk.queue)),
		.is_queued = memory_new(graph->op_count, sizeof(*walk.is_queued)),
	};
	bool valid = true;
	for (uint32_t i = 0; valid && i < graph->root_count; i++)
		valid = walk_add(&walk, graph->roots[i]);
	for (uint32_t head = 0; valid && head < walk.count; head++) {
		uint32_t op = walk.queue[head], to = graph->first_child[op + 1];
		for (uint32_t at = graph->first_child[op]; valid && at < to; at++)
			valid = walk_add(&walk, graph->children[at]) &&
				graph->parent[graph->children[at]] == op;
	}
	free(walk.queue);
	free(walk.is_queued);
	return valid && walk.count == graph->op_count;
}

static bool graph_waits_are_valid(const struct graph *graph)
{
	const struct recording *recording = graph->recording;
	const struct order by_start = { recording, wait_start, false };
	for (uint32_t i = 0; i < graph->op_count; i++) {
		uint32_t from = graph->first_wait[i], to = graph->first_wait[i + 1];
		if (!list_is_sorted(&by_start, graph->waits + from, to - from))
			return false;
		for (uint32_t at = from; at < to; at++)
			if (recording->waits[graph->waits[at]].waiter != i)
				return false;
	}
	return graph->first_wait[graph->op_count] + graph->orphan_waits == recording->wait_count;
}

bool graph_is_valid(const struct graph *graph)
{
	const struct order by_start = { graph->recording, op_start, true };
	const struct order by_end = { graph->recording, op_end, true };
	if (!graph_is_forest(graph) || !list_is_sorted(&by_start, graph->roots, graph->root_count))
		return false;
	for (uint32_t i = 0; i < graph->op_count; i++) {
		uint32_t from = graph->first_child[i], count = graph->first_child[i + 1] - from;
		if (!list_is_sorted(&by_start, graph->children + from, count) ||
		    !list_is_sorted(&by_end, graph->ended + from, count))
			return false;
	}
	return graph_waits_are_valid(graph);
}

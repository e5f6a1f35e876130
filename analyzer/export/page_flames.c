/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data of the page's flame graphs: how long threads were in which state at which stack.
 *
 * An item is a lane of the timeline, its state and its stack. That of a wait has also who put an
 * end to it, and from where. Each item has its time in all and by parts of the run. Where there are
 * requests, it has the time inside slow ones and inside the others; that on a CPU is shared out by
 * samples (sampledspans.h).
 */
#include <stdlib.h>

#include "base/memory.h"
#include "base/numbers.h"
#include "base/tuples.h"
#include "drawnstates.h"
#include "infer/requests.h"
#include "page.h"
#include "pools.h"
#include "sampledspans.h"
#include "slowspans.h"
#include "stacktree.h"
#include "walk.h"

enum {
	PARTS = 48,        /* of the run */
	SLOW_PERCENT = 95, /* requests at this percentile and above are slow */
	ITEMS_MAX = 20000, /* the longest; some 4 MB with their parts */
};

enum item_word {
	ITEM_LANE,
	ITEM_STATE,
	ITEM_NODE,
	ITEM_CAUSE,
	ITEM_NAME,
	ITEM_WAKER,
	ITEM_WAKER_NODE,
	ITEM_WORDS
};

/* Beside the tuple of an item. */
struct item_sums {
	uint64_t ns;
	struct slow_time inside;
	uint32_t slices;
};

struct flames {
	const struct analysis *analysis;
	struct walk walk;
	struct thread_pools pools;
	struct stack_tree tree;
	struct tuples items;
	struct item_sums *sums; /* by item */
	size_t sums_room;
	uint32_t
		*shown_of; /* by item: its number among those that are shown, NO_INDEX = left out */
	uint64_t left_out_ns;
	struct tuples parts; /* (item, part of the run) */
	uint64_t *part_ns;   /* by those */
	size_t parts_room;
	struct slow_spans requests; /* none, where there are no requests */
	struct slow_time *running;  /* by lane: its time on a CPU inside of them */
};

/* --- Items --- */

/* The stack of what put an end to a wait: where the lock was taken, or the signal sent. */
static uint32_t stack_of(const struct recording *recording, const struct walk_waker *waker)
{
	if (waker->link != NO_INDEX)
		return recording->links[waker->link].stack;
	return waker->op != NO_INDEX && recording->extras ? recording->extras[waker->op].stack : 0;
}

static uint32_t item_of(struct flames *flames, const struct walk_slice *slice)
{
	const struct recording *recording = flames->analysis->recording;
	enum drawn_state state = drawn_state_of(recording, slice);
	struct walk_waker waker;
	bool has_waker = drawn_waker(&flames->walk, slice, &waker);
	bool is_inside = state != DRAWN_RUNNING && state != DRAWN_QUEUED;
	const uint32_t words[ITEM_WORDS] = {
		[ITEM_LANE] = pools_lane(&flames->pools, slice->thread),
		[ITEM_STATE] = state,
		[ITEM_NODE] = stack_tree_node(&flames->tree, slice->stack),
		[ITEM_CAUSE] = is_inside ? slice->cause : NO_INDEX,
		[ITEM_NAME] = stack_tree_text(&flames->tree, is_inside ? slice->name : 0),
		[ITEM_WAKER] = has_waker ? flames->pools.pool_of[waker.thread] : NO_INDEX,
		[ITEM_WAKER_NODE] =
			has_waker ? stack_tree_node(&flames->tree, stack_of(recording, &waker))
				  : NO_INDEX,
	};
	return tuples_add(&flames->items, words);
}

static void add_to_parts(struct flames *flames, uint32_t item, const struct walk_slice *slice)
{
	uint64_t start_ns = flames->analysis->graph.start_ns,
		 part_ns = flames->analysis->span_ns / PARTS + 1, next_ns;
	for (uint64_t at_ns = slice->start_ns; at_ns < slice->end_ns; at_ns = next_ns) {
		uint32_t part = at_ns < start_ns ? 0 : (uint32_t)((at_ns - start_ns) / part_ns);
		next_ns = start_ns + (part + 1) * part_ns;
		if (next_ns > slice->end_ns)
			next_ns = slice->end_ns;
		const uint32_t words[] = { item, part };
		uint32_t known = flames->parts.count, index = tuples_add(&flames->parts, words);
		flames->part_ns = memory_grow(flames->part_ns, &flames->parts_room,
					      (size_t)index + 1, sizeof(*flames->part_ns));
		if (index == known)
			flames->part_ns[index] = 0;
		flames->part_ns[index] += next_ns - at_ns;
	}
}

static struct item_sums *sums_of(struct flames *flames, uint32_t item, uint32_t known)
{
	flames->sums = memory_grow(flames->sums, &flames->sums_room, (size_t)item + 1,
				   sizeof(*flames->sums));
	if (item == known)
		flames->sums[item] = (struct item_sums){ 0 };
	return &flames->sums[item];
}

static void add_slice(struct flames *flames, const struct walk_slice *slice)
{
	uint32_t known = flames->items.count, item = item_of(flames, slice);
	struct item_sums *sums = sums_of(flames, item, known);
	const uint32_t *words = tuples_at(&flames->items, item);
	sums->ns += slice->end_ns - slice->start_ns;
	sums->slices++;
	slow_spans_add(&flames->requests, slice,
		       words[ITEM_STATE] == DRAWN_RUNNING ? &flames->running[words[ITEM_LANE]]
							  : &sums->inside);
	add_to_parts(flames, item, slice);
}

/* --- Time on a CPU inside of requests --- */

static void add_running(struct flames *flames, uint32_t lane, uint32_t node,
			const struct slow_time *inside)
{
	const uint32_t words[ITEM_WORDS] = {
		[ITEM_LANE] = lane,
		[ITEM_STATE] = DRAWN_RUNNING,
		[ITEM_NODE] = node,
		[ITEM_CAUSE] = NO_INDEX,
		[ITEM_NAME] = stack_tree_text(&flames->tree, 0),
		[ITEM_WAKER] = NO_INDEX,
		[ITEM_WAKER_NODE] = NO_INDEX,
	};
	uint32_t known = flames->items.count, item = tuples_add(&flames->items, words);
	struct item_sums *sums = sums_of(flames, item, known);
	sums->inside.slow_ns += inside->slow_ns;
	sums->inside.other_ns += inside->other_ns;
}

static void share_lane(struct flames *flames, const struct sampled_spans *sampled, uint32_t lane)
{
	struct slow_time left = flames->running[lane];
	size_t count;
	struct sampled_share *shares = sampled_spans_share(sampled, lane, &left, &count);
	for (size_t i = 0; i < count; i++)
		add_running(flames, lane, shares[i].stack, &shares[i].inside);
	if (left.slow_ns || left.other_ns)
		add_running(flames, lane, stack_tree_node(&flames->tree, 0), &left);
	free(shares);
}

static void share_running(struct flames *flames)
{
	const struct recording *recording = flames->analysis->recording;
	uint32_t *node_of = memory_new(recording->stack_count, sizeof(*node_of));
	struct sampled_spans sampled;
	for (size_t i = 0; i < recording->sample_count; i++) {
		uint32_t stack = recording->samples[i].stack;
		node_of[stack] = stack_tree_node(&flames->tree, stack);
	}
	sampled_spans_build(&sampled, recording, &flames->requests, flames->pools.lane_of, node_of);
	for (uint32_t lane = 0; lane < flames->pools.lane_count; lane++)
		share_lane(flames, &sampled, lane);
	sampled_spans_free(&sampled);
	free(node_of);
}

/* --- Output --- */

static int compare_ns(const void *a, const void *b, void *context)
{
	const struct item_sums *sums = context;
	uint64_t left = sums[*(const uint32_t *)a].ns, right = sums[*(const uint32_t *)b].ns;
	return (left < right) - (left > right);
}

static void choose_items(struct flames *flames)
{
	const uint32_t count = flames->items.count;
	uint32_t *order = memory_new(count, sizeof(*order)), shown = 0;
	flames->shown_of = memory_new(count, sizeof(*flames->shown_of));
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	if (count > ITEMS_MAX)
		qsort_r(order, count, sizeof(*order), compare_ns, flames->sums);
	for (uint32_t i = ITEMS_MAX; i < count; i++) {
		flames->left_out_ns += flames->sums[order[i]].ns;
		flames->shown_of[order[i]] = NO_INDEX;
	}
	for (uint32_t i = 0; i < count; i++)
		if (flames->shown_of[i] != NO_INDEX)
			flames->shown_of[i] = shown++;
	free(order);
}

/* Of several numbers per item, the one in this column. */
static uint64_t sum_of(const struct item_sums *sums, size_t column)
{
	const uint64_t all[] = { sums->ns, sums->slices, sums->inside.slow_ns,
				 sums->inside.other_ns };
	return all[column];
}

static void emit_items(const struct flames *flames, struct emit *emit)
{
	static const char *const words[ITEM_WORDS] = {
		[ITEM_LANE] = "lane",
		[ITEM_STATE] = "state",
		[ITEM_NODE] = "node",
		[ITEM_CAUSE] = "cause",
		[ITEM_NAME] = "name",
		[ITEM_WAKER] = "waker",
		[ITEM_WAKER_NODE] = "waker_node",
	};
	static const char *const sums[] = { "ns", "slices", "slow_ns", "other_ns" };
	for (size_t word = 0; word < ITEM_WORDS; word++) {
		numbers_begin(emit, words[word]);
		for (uint32_t i = 0; i < flames->items.count; i++)
			if (flames->shown_of[i] != NO_INDEX)
				numbers_put_index(emit, tuples_at(&flames->items, i)[word]);
		numbers_end(emit);
	}
	for (size_t column = 0; column < sizeof(sums) / sizeof(sums[0]); column++) {
		numbers_begin(emit, sums[column]);
		for (uint32_t i = 0; i < flames->items.count; i++)
			if (flames->shown_of[i] != NO_INDEX)
				numbers_put(emit, sum_of(&flames->sums[i], column));
		numbers_end(emit);
	}
}

static uint32_t shown_part(const struct flames *flames, uint32_t part)
{
	return flames->shown_of[tuples_at(&flames->parts, part)[0]];
}

static void emit_parts(const struct flames *flames, struct emit *emit)
{
	emit_count(emit, "parts", NULL, PARTS);
	numbers_begin(emit, "part_item");
	for (uint32_t i = 0; i < flames->parts.count; i++)
		if (shown_part(flames, i) != NO_INDEX)
			numbers_put(emit, shown_part(flames, i));
	numbers_end(emit);
	numbers_begin(emit, "part");
	for (uint32_t i = 0; i < flames->parts.count; i++)
		if (shown_part(flames, i) != NO_INDEX)
			numbers_put(emit, tuples_at(&flames->parts, i)[1]);
	numbers_end(emit);
	numbers_begin(emit, "part_ns");
	for (uint32_t i = 0; i < flames->parts.count; i++)
		if (shown_part(flames, i) != NO_INDEX)
			numbers_put(emit, (int64_t)flames->part_ns[i]);
	numbers_end(emit);
}

static void build(struct flames *flames, const struct analysis *analysis)
{
	struct walk_slice slice;
	flames->analysis = analysis;
	walk_begin(&flames->walk, analysis);
	pools_build(&flames->pools, analysis);
	flames->running = memory_new(flames->pools.lane_count, sizeof(*flames->running));
	stack_tree_begin(&flames->tree, analysis->recording,
			 analysis->labels ? &analysis->labels->frames : NULL);
	tuples_begin(&flames->items, ITEM_WORDS);
	tuples_begin(&flames->parts, 2);
	if (flames->walk.requests)
		slow_spans_of_requests(&flames->requests, flames->walk.requests, SLOW_PERCENT);
	for (uint32_t thread = 0; thread < walk_thread_count(&flames->walk); thread++)
		for (walk_thread(&flames->walk, thread); walk_next(&flames->walk, &slice);)
			add_slice(flames, &slice);
	if (flames->requests.count)
		share_running(flames);
	choose_items(flames);
}

static void tear_down(struct flames *flames)
{
	free(flames->sums);
	free(flames->running);
	free(flames->part_ns);
	slow_spans_free(&flames->requests);
	free(flames->shown_of);
	tuples_free(&flames->parts);
	tuples_free(&flames->items);
	stack_tree_free(&flames->tree);
	pools_free(&flames->pools);
	walk_end(&flames->walk);
}

void page_flames(const struct analysis *analysis, struct emit *emit)
{
	struct flames flames = { 0 };
	build(&flames, analysis);
	stack_tree_emit(&flames.tree, emit);
	emit_items(&flames, emit);
	emit_parts(&flames, emit);
	emit_count(emit, "slow_requests", NULL, flames.requests.slow_count);
	emit_count(emit, "other_requests", NULL,
		   flames.requests.count - flames.requests.slow_count);
	emit_count(emit, "left_out_ns", NULL, flames.left_out_ns);
	emit_count(emit, "slow_from_ns", NULL, flames.requests.slow_from_ns);
	tear_down(&flames);
}

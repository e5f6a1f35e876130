/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data of the page's timeline: rows of slices, at up to four levels of detail.
 *
 * Rows are each thread's states, then each thread's holds, then the locks most waited for. The
 * columns of a level are those of cells.h. A detail of states is an index into the columns
 * "detail_...". A detail of holds is a lock, that of a lock its holder and its waiters. The page
 * picks the coarsest level that has all that can be seen.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/numbers.h"
#include "base/tuples.h"
#include "format.h"
#include "page.h"
#include "cells.h"
#include "drawnstates.h"
#include "locklanes.h"
#include "paths/runpath.h"
#include "pools.h"
#include "stacktree.h"
#include "walk.h"

enum {
	CELLS_MAX = 350000, /* some 5 MB */
	PIECES_MAX = 20000, /* of the path, the last ones */
	MAP_CELLS = 1200
};

/* The parts of a detail of a thread's slice. */
enum detail {
	DETAIL_STATE,
	DETAIL_CAUSE,
	DETAIL_NAME,
	DETAIL_CLASS,
	DETAIL_STACK,
	DETAIL_HOLDER,
	DETAIL_WAKER,
	DETAIL_WORDS
};

/* Sums of a lane, for its row of the table. */
struct lane_sums {
	uint64_t state_ns[DRAWN_STATES];
	uint64_t longest_ns; /* of its waits */
	uint32_t longest;    /* its detail */
};

struct drawing {
	const struct analysis *analysis;
	uint64_t start_ns;
	uint64_t span_ns;
	struct walk walk;
	struct thread_pools pools;
	struct lock_lanes locks;
	struct stack_tree stacks;
	struct run_path path;
	struct tuples details;
	struct cells cells;
	struct lane_sums *sums; /* by lane */
	double map_running_ns[MAP_CELLS];
	double map_waiting_ns[MAP_CELLS];
	uint32_t map_requests[MAP_CELLS];
};

static uint32_t detail_of(struct drawing *drawing, const struct walk_slice *slice,
			  enum drawn_state state)
{
	const struct class_table *classes = &drawing->analysis->classes;
	struct walk_waker waker;
	const uint32_t words[DETAIL_WORDS] = {
		[DETAIL_STATE] = state,
		[DETAIL_CAUSE] = slice->cause,
		[DETAIL_NAME] = stack_tree_text(&drawing->stacks, slice->name),
		[DETAIL_CLASS] = stack_tree_text(
			&drawing->stacks,
			slice->class == NO_INDEX ? 0 : classes->classes[slice->class].name),
		[DETAIL_STACK] = stack_tree_node(&drawing->stacks, slice->stack),
		[DETAIL_HOLDER] = pools_lane(&drawing->pools, slice->holder),
		[DETAIL_WAKER] = drawn_waker(&drawing->walk, slice, &waker)
					 ? pools_lane(&drawing->pools, waker.thread)
					 : NO_INDEX,
	};
	return tuples_add(&drawing->details, words);
}

/* --- Rows --- */

static void map_add(struct drawing *drawing, double *map, const struct walk_slice *slice)
{
	double cell_ns = (double)drawing->span_ns / MAP_CELLS;
	double from = (double)(slice->start_ns - drawing->start_ns) / cell_ns,
	       to = (double)(slice->end_ns - drawing->start_ns) / cell_ns;
	for (size_t i = (size_t)from; i < MAP_CELLS && (double)i < to; i++) {
		double begin = from > (double)i ? from : (double)i,
		       end = to < (double)(i + 1) ? to : (double)(i + 1);
		map[i] += (end - begin) * cell_ns;
	}
}

/* The slice as far as it is in the run, which begins with the first op. */
static bool clip(const struct drawing *drawing, struct walk_slice *slice)
{
	if (slice->start_ns < drawing->start_ns)
		slice->start_ns = drawing->start_ns;
	if (slice->end_ns > drawing->start_ns + drawing->span_ns)
		slice->end_ns = drawing->start_ns + drawing->span_ns;
	return slice->start_ns < slice->end_ns;
}

static void add_states(struct drawing *drawing, uint32_t lane)
{
	struct lane_sums *sums = &drawing->sums[lane];
	struct walk_slice slice;
	cells_row(&drawing->cells);
	walk_thread(&drawing->walk, drawing->pools.thread_of[lane]);
	while (walk_next(&drawing->walk, &slice)) {
		if (!clip(drawing, &slice))
			continue;
		enum drawn_state state = drawn_state_of(drawing->analysis->recording, &slice);
		uint32_t detail = detail_of(drawing, &slice, state);
		uint64_t length_ns = slice.end_ns - slice.start_ns;
		sums->state_ns[state] += length_ns;
		if ((state == DRAWN_LOCK || state == DRAWN_OTHER) && length_ns > sums->longest_ns) {
			sums->longest_ns = length_ns;
			sums->longest = detail;
		}
		if (state == DRAWN_RUNNING)
			map_add(drawing, drawing->map_running_ns, &slice);
		else if (state == DRAWN_LOCK || state == DRAWN_OTHER)
			map_add(drawing, drawing->map_waiting_ns, &slice);
		cells_add(&drawing->cells, &(struct slice){ .start_ns = slice.start_ns,
							    .end_ns = slice.end_ns,
							    .sort = state,
							    .detail = detail });
	}
}

/* The holds that a thread is in, of which the latest one is shown. */
struct held {
	uint32_t ops[64];
	size_t count;
	uint64_t at_ns;
};

static void put_hold(struct drawing *drawing, const struct held *held, uint64_t end_ns)
{
	if (held->count == 0 || end_ns <= held->at_ns)
		return;
	uint32_t lock = contended_of_op(&drawing->locks.contended, drawing->analysis->recording,
					held->ops[held->count - 1]);
	cells_add(&drawing->cells,
		  &(struct slice){ held->at_ns, end_ns, .sort = 1,
				   .detail = lock == NO_INDEX ? LOCK_LANES_MAX : lock });
}

/* Lets go of what ends by then. */
static void end_holds(struct drawing *drawing, struct held *held, uint64_t until_ns)
{
	const struct rec_op *ops = drawing->analysis->recording->ops;
	for (;;) {
		size_t first = held->count;
		for (size_t i = 0; i < held->count; i++)
			if (ops[held->ops[i]].end_ns <= until_ns &&
			    (first == held->count ||
			     ops[held->ops[i]].end_ns < ops[held->ops[first]].end_ns))
				first = i;
		if (first == held->count)
			return;
		put_hold(drawing, held, ops[held->ops[first]].end_ns);
		held->at_ns = ops[held->ops[first]].end_ns;
		memmove(&held->ops[first], &held->ops[first + 1],
			(--held->count - first) * sizeof(held->ops[0]));
	}
}

static void add_holds(struct drawing *drawing, uint32_t lane)
{
	const struct rec_op *ops = drawing->analysis->recording->ops;
	struct held held = { .count = 0 };
	uint32_t op;
	cells_row(&drawing->cells);
	walk_thread(&drawing->walk, drawing->pools.thread_of[lane]);
	while (walk_next_op(&drawing->walk, &op)) {
		if (ops[op].kind != KIND_HOLD || ops[op].end_ns == ops[op].start_ns)
			continue;
		end_holds(drawing, &held, ops[op].start_ns);
		put_hold(drawing, &held, ops[op].start_ns);
		held.at_ns = ops[op].start_ns;
		if (held.count < sizeof(held.ops) / sizeof(held.ops[0]))
			held.ops[held.count++] = op;
	}
	end_holds(drawing, &held, UINT64_MAX);
}

static void add_requests(struct drawing *drawing)
{
	size_t count;
	struct walk_request *requests = walk_requests(&drawing->walk, &count);
	for (size_t i = 0; i < count; i++) {
		double at =
			(double)(requests[i].end_ns - drawing->start_ns) / (double)drawing->span_ns;
		if (requests[i].end_ns >= drawing->start_ns && at < 1)
			drawing->map_requests[(size_t)(at * MAP_CELLS)]++;
	}
	free(requests);
}

/* --- Output --- */

static void emit_lanes(const struct drawing *drawing, struct emit *emit)
{
	static const struct emit_column columns[] = {
		{ .key = "name" },    { .key = "tid" },     { .key = "pool" },
		{ .key = "running" }, { .key = "queued" },  { .key = "lock" },
		{ .key = "io" },      { .key = "poll" },    { .key = "sleep" },
		{ .key = "other" },   { .key = "unknown" }, { .key = "longest_ns" },
		{ .key = "longest" },
	};
	emit_table_begin(emit, "lanes", EMIT_OBJECTS, columns,
			 sizeof(columns) / sizeof(columns[0]));
	for (uint32_t lane = 0; lane < drawing->pools.lane_count; lane++) {
		uint32_t thread = drawing->pools.thread_of[lane];
		emit_row_begin(emit);
		emit_cell_text(emit, walk_thread_name(&drawing->walk, thread));
		emit_cell_count(emit, drawing->analysis->recording->threads[thread].tid);
		emit_cell_count(emit, drawing->pools.pool_of[thread]);
		for (size_t state = 0; state < DRAWN_STATES; state++)
			emit_cell_count(emit, drawing->sums[lane].state_ns[state]);
		emit_cell_count(emit, drawing->sums[lane].longest_ns);
		emit_cell_count(emit, drawing->sums[lane].longest);
		emit_row_end(emit);
	}
	emit_table_end(emit);
}

static void emit_words(struct emit *emit, const char *key, const char *const *words, size_t count)
{
	static const struct emit_column columns[] = { { .key = "word" } };
	emit_table_begin(emit, key, EMIT_VALUES, columns, 1);
	for (size_t i = 0; i < count; i++) {
		emit_row_begin(emit);
		emit_cell_text(emit, words[i]);
		emit_row_end(emit);
	}
	emit_table_end(emit);
}

/* Details of slices that all levels have merged with others are not needed. Cells and sums get new
 * numbers, in place; the tuples do, too. */
static void drop_details(struct drawing *drawing)
{
	const uint32_t lanes = drawing->pools.lane_count;
	struct tuples used;
	tuples_begin(&used, DETAIL_WORDS);
	for (uint32_t lane = 0; lane < lanes; lane++)
		if (drawing->sums[lane].longest_ns > 0)
			drawing->sums[lane].longest = tuples_add(
				&used, tuples_at(&drawing->details, drawing->sums[lane].longest));
	for (size_t i = 0; i < drawing->cells.level_count; i++) {
		struct cell_level *level = &drawing->cells.levels[i];
		for (size_t at = 0; at < level->first[lanes]; at++) {
			uint32_t *detail = &level->cells[at].slice.detail;
			*detail = tuples_add(&used, tuples_at(&drawing->details, *detail));
		}
	}
	tuples_free(&drawing->details);
	drawing->details = used;
}

static void emit_details(const struct drawing *drawing, struct emit *emit)
{
	static const char *const keys[DETAIL_WORDS] = {
		[DETAIL_STATE] = "detail_state", [DETAIL_CAUSE] = "detail_cause",
		[DETAIL_NAME] = "detail_name",   [DETAIL_CLASS] = "detail_class",
		[DETAIL_STACK] = "detail_stack", [DETAIL_HOLDER] = "detail_holder",
		[DETAIL_WAKER] = "detail_waker",
	};
	const struct recording *recording = drawing->analysis->recording;
	emit_words(emit, "states", drawn_state_words, DRAWN_STATES);
	emit_words(emit, "reasons", recording->reasons.words, recording->reasons.count);
	emit_words(emit, "kinds", recording->kinds.words, recording->kinds.count);
	for (size_t key = 0; key < DETAIL_WORDS; key++) {
		numbers_begin(emit, keys[key]);
		for (uint32_t i = 0; i < drawing->details.count; i++)
			numbers_put_index(emit, tuples_at(&drawing->details, i)[key]);
		numbers_end(emit);
	}
}

static void emit_locks(const struct drawing *drawing, struct emit *emit)
{
	static const struct emit_column columns[] = { { .key = "name" },
						      { .key = "wait_ns" },
						      { .key = "waiters" } };
	emit_table_begin(emit, "locks", EMIT_OBJECTS, columns, 3);
	for (size_t i = 0; i < drawing->locks.contended.count; i++) {
		const struct contended_lock *lock = &drawing->locks.contended.locks[i];
		emit_row_begin(emit);
		emit_cell_text(emit, drawing->analysis->recording->strings[lock->name]);
		emit_cell_count(emit, lock->waited_ns);
		emit_cell_count(emit, drawing->locks.waiters[i]);
		emit_row_end(emit);
	}
	emit_table_end(emit);
}

/* Averages of threads, in hundredths; and requests that ended. */
static void emit_map(const struct drawing *drawing, struct emit *emit)
{
	double cell_ns = (double)drawing->span_ns / MAP_CELLS;
	numbers_begin(emit, "map_running");
	for (size_t i = 0; i < MAP_CELLS; i++)
		numbers_put(emit, (uint64_t)(100 * drawing->map_running_ns[i] / cell_ns + 0.5));
	numbers_end(emit);
	numbers_begin(emit, "map_waiting");
	for (size_t i = 0; i < MAP_CELLS; i++)
		numbers_put(emit, (uint64_t)(100 * drawing->map_waiting_ns[i] / cell_ns + 0.5));
	numbers_end(emit);
	numbers_begin(emit, "map_requests");
	for (size_t i = 0; i < MAP_CELLS; i++)
		numbers_put(emit, drawing->map_requests[i]);
	numbers_end(emit);
}

static void emit_path(const struct drawing *drawing, struct emit *emit)
{
	const struct run_path *path = &drawing->path;
	size_t count = path->count < PIECES_MAX ? path->count : PIECES_MAX;
	numbers_begin(emit, "path_lane");
	for (size_t i = count; i-- > 0;)
		numbers_put(emit, pools_lane(&drawing->pools, path->pieces[i].thread));
	numbers_end(emit);
	numbers_begin(emit, "path_start");
	for (size_t i = count; i-- > 0;)
		numbers_put(emit, path->pieces[i].start_ns < drawing->start_ns
					  ? 0
					  : path->pieces[i].start_ns - drawing->start_ns);
	numbers_end(emit);
	numbers_begin(emit, "path_end");
	for (size_t i = count; i-- > 0;)
		numbers_put(emit, path->pieces[i].end_ns - drawing->start_ns);
	numbers_end(emit);
}

static void find_rows(struct drawing *drawing)
{
	const struct recording *recording = drawing->analysis->recording;
	const uint32_t lanes = drawing->pools.lane_count;
	cells_begin(&drawing->cells, drawing->span_ns,
		    2 * (size_t)lanes + drawing->locks.contended.count, CELLS_MAX);
	for (uint32_t lane = 0; lane < lanes; lane++)
		add_states(drawing, lane);
	for (uint32_t lane = 0; lane < lanes; lane++)
		add_holds(drawing, lane);
	lock_lanes_add(&drawing->locks, recording, &drawing->pools, &drawing->cells);
	cells_end(&drawing->cells);
	drop_details(drawing);
}

static void emit_all(const struct drawing *drawing, struct emit *emit)
{
	pools_emit(&drawing->pools, drawing->analysis->recording, emit);
	emit_lanes(drawing, emit);
	emit_locks(drawing, emit);
	emit_details(drawing, emit);
	stack_tree_emit(&drawing->stacks, emit);
	cells_emit(&drawing->cells, drawing->start_ns, drawing->pools.lane_count + 1, emit);
	emit_map(drawing, emit);
	emit_path(drawing, emit);
}

void page_timeline(const struct analysis *analysis, struct emit *emit)
{
	struct drawing *drawing = memory_new(1, sizeof(*drawing));
	drawing->analysis = analysis;
	drawing->start_ns = analysis->graph.start_ns;
	drawing->span_ns = analysis->span_ns ? analysis->span_ns : 1;
	walk_begin(&drawing->walk, analysis);
	pools_build(&drawing->pools, analysis);
	lock_lanes_build(&drawing->locks, analysis->recording, analysis->labels);
	stack_tree_begin(&drawing->stacks, analysis->recording,
			 analysis->labels ? &analysis->labels->frames : NULL);
	tuples_begin(&drawing->details, DETAIL_WORDS);
	drawing->sums = memory_new(drawing->pools.lane_count, sizeof(*drawing->sums));
	find_rows(drawing);
	add_requests(drawing);
	run_path_build(&drawing->path, analysis->recording, &drawing->walk.timeline,
		       walk_wakers(&drawing->walk));
	emit_all(drawing, emit);
	free(drawing->sums);
	run_path_free(&drawing->path);
	cells_free(&drawing->cells);
	tuples_free(&drawing->details);
	stack_tree_free(&drawing->stacks);
	lock_lanes_free(&drawing->locks);
	pools_free(&drawing->pools);
	walk_end(&drawing->walk);
	free(drawing);
}

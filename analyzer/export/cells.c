/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges slices into cells; cells.h has the contract.
 *
 * Each level has one cell in the making. A slice is merged into it while both are shorter than the
 * level's cells, and no gap as long as that is between them. So of two neighbours in a row, or the
 * gap between them, one is as long as a cell. At most twice as many as fit are there.
 */
#include "cells.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/numbers.h"

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void cells_begin(struct cells *cells, uint64_t span_ns, size_t row_room, size_t cells_max)
{
	*cells = (struct cells){
		.level_count = CELL_LEVELS,
		.row_room = row_room,
		.cells_max = cells_max,
	};
	uint64_t cell_ns =
		larger(span_ns / CELL_PIXELS,
		       (uint64_t)((double)span_ns * 4.0 * (double)row_room / (double)cells_max));
	for (size_t i = 0; i < CELL_LEVELS; i++) {
		cells->levels[i].cell_ns = larger(cell_ns, 1);
		cells->levels[i].first = memory_new(row_room + 1, sizeof(size_t));
		cell_ns /= CELL_ZOOM;
	}
}

static uint64_t length_of(const struct slice *slice)
{
	return slice->end_ns - slice->start_ns;
}

static void level_put(struct cell_level *level, const struct cell *cell)
{
	level->cells =
		memory_grow(level->cells, &level->room, level->count + 1, sizeof(*level->cells));
	level->cells[level->count++] = *cell;
}

static uint32_t main_sort(const struct cell_level *level)
{
	uint32_t main = 0;
	for (uint32_t sort = 1; sort < CELL_SORTS_MAX; sort++)
		if (level->sort_ns[sort] > 0 &&
		    (main == 0 || level->sort_ns[sort] > level->sort_ns[main]))
			main = sort;
	return main;
}

/* Puts the cell that is in the making, if there is one. */
static void level_flush(struct cell_level *level)
{
	struct cell *pending = &level->pending;
	if (pending->merged == 0)
		return;
	uint32_t sort = main_sort(level);
	pending->slice.sort = sort;
	pending->slice.detail = level->longest[sort].detail;
	pending->running_ns = level->sort_ns[0];
	level->is_merged = level->is_merged || pending->merged > 1;
	level_put(level, pending);
	*pending = (struct cell){ 0 };
	memset(level->sort_ns, 0, sizeof(level->sort_ns));
	memset(level->longest, 0, sizeof(level->longest));
}

static void level_merge(struct cell_level *level, const struct slice *slice)
{
	struct cell *pending = &level->pending;
	struct slice *longest = &level->longest[slice->sort];
	if (pending->merged == 0)
		pending->slice = *slice;
	pending->slice.end_ns = slice->end_ns;
	if (slice->peak > pending->slice.peak)
		pending->slice.peak = slice->peak;
	pending->merged++;
	if (level->sort_ns[slice->sort] == 0 || length_of(slice) > length_of(longest))
		*longest = *slice;
	level->sort_ns[slice->sort] += length_of(slice);
}

static void level_add(struct cell_level *level, const struct slice *slice)
{
	const struct cell *pending = &level->pending;
	if (pending->merged > 0 &&
	    (length_of(&pending->slice) >= level->cell_ns || length_of(slice) >= level->cell_ns ||
	     slice->start_ns - pending->slice.end_ns >= level->cell_ns))
		level_flush(level);
	level_merge(level, slice);
}

/* Lets go of this level and all finer ones. */
static void cut_off(struct cells *cells, size_t from)
{
	for (size_t i = from; i < cells->level_count; i++) {
		free(cells->levels[i].cells);
		free(cells->levels[i].first);
	}
	cells->level_count = from;
}

static void flush(struct cells *cells)
{
	for (size_t i = 0; i < cells->level_count; i++)
		level_flush(&cells->levels[i]);
	for (size_t i = 1; i < cells->level_count; i++)
		if (cells->levels[i].count > cells->cells_max)
			cut_off(cells, i);
}

void cells_row(struct cells *cells)
{
	flush(cells);
	for (size_t i = 0; i < cells->level_count; i++)
		cells->levels[i].first[cells->row_count] = cells->levels[i].count;
	cells->row_count++;
}

void cells_add(struct cells *cells, const struct slice *slice)
{
	for (size_t i = 0; i < cells->level_count; i++)
		level_add(&cells->levels[i], slice);
}

void cells_end(struct cells *cells)
{
	size_t count = 0, kept = 0;
	flush(cells);
	for (size_t i = 0; i < cells->level_count; i++)
		for (size_t row = cells->row_count; row <= cells->row_room; row++)
			cells->levels[i].first[row] = cells->levels[i].count;
	while (kept < cells->level_count) {
		count += cells->levels[kept].count;
		if (kept > 0 && (count > cells->cells_max || !cells->levels[kept - 1].is_merged))
			break;
		kept++;
	}
	cut_off(cells, kept);
}

void cells_free(struct cells *cells)
{
	cut_off(cells, 0);
}

/* --- Columns --- */

struct columns {
	const struct cell_level *level;
	size_t index;
	struct emit *emit;
};

static void begin_column(const struct columns *columns, const char *name)
{
	char key[32];
	snprintf(key, sizeof(key), "%s%zu", name, columns->index);
	numbers_begin(columns->emit, key);
}

static void emit_rows(const struct cells *cells, const struct columns *columns)
{
	begin_column(columns, "first");
	for (size_t row = 0; row <= cells->row_room; row++)
		numbers_put(columns->emit, columns->level->first[row]);
	numbers_end(columns->emit);
}

static void emit_times(const struct cells *cells, const struct columns *columns, uint64_t start_ns)
{
	const struct cell_level *level = columns->level;
	begin_column(columns, "gap");
	for (size_t row = 0; row < cells->row_room; row++) {
		uint64_t at_ns = start_ns;
		for (size_t i = level->first[row]; i < level->first[row + 1]; i++) {
			numbers_put(columns->emit, level->cells[i].slice.start_ns - at_ns);
			at_ns = level->cells[i].slice.end_ns;
		}
	}
	numbers_end(columns->emit);
	begin_column(columns, "length");
	for (size_t i = 0; i < level->count; i++)
		numbers_put(columns->emit, length_of(&level->cells[i].slice));
	numbers_end(columns->emit);
}

static void emit_merged(const struct columns *columns)
{
	const struct cell_level *level = columns->level;
	begin_column(columns, "merged");
	for (size_t i = 0; i < level->count; i++)
		if (level->cells[i].merged > 1)
			numbers_put(columns->emit, i);
	numbers_end(columns->emit);
	begin_column(columns, "merged_count");
	for (size_t i = 0; i < level->count; i++)
		if (level->cells[i].merged > 1)
			numbers_put(columns->emit, level->cells[i].merged);
	numbers_end(columns->emit);
	begin_column(columns, "merged_running");
	for (size_t i = 0; i < level->count; i++) {
		const struct cell *cell = &level->cells[i];
		if (cell->merged > 1)
			numbers_put(columns->emit,
				    100 * cell->running_ns / length_of(&cell->slice));
	}
	numbers_end(columns->emit);
}

void cells_emit(const struct cells *cells, uint64_t start_ns, uint32_t stride, struct emit *emit)
{
	numbers_begin(emit, "cell_ns");
	for (size_t i = 0; i < cells->level_count; i++)
		numbers_put(emit, cells->levels[i].cell_ns);
	numbers_end(emit);
	for (size_t i = 0; i < cells->level_count; i++) {
		const struct columns columns = { &cells->levels[i], i, emit };
		emit_rows(cells, &columns);
		emit_times(cells, &columns, start_ns);
		begin_column(&columns, "detail");
		for (size_t at = 0; at < columns.level->count; at++) {
			const struct slice *slice = &columns.level->cells[at].slice;
			numbers_put(emit, (uint64_t)slice->peak * stride + slice->detail);
		}
		numbers_end(emit);
		emit_merged(&columns);
	}
}

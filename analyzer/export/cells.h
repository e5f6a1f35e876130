/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slices of time, row by row, at four levels of detail: what a timeline draws at four zooms.
 *
 * The coarsest level has cells of one pixel's time at the least, each finer one of an eighth. A
 * slice that is longer than that is a cell of its own; shorter ones next to each other are merged
 * to one. So the coarsest level is small however long the run was, and finer ones are left out
 * where they would be too large. One thread.
 */
#ifndef WCPROF_CELLS_H
#define WCPROF_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/emit.h"

enum {
	CELL_LEVELS = 4,
	CELL_ZOOM = 8,       /* from a level to the next */
	CELL_PIXELS = 1200,  /* of the whole run, at the coarsest level */
	CELL_SORTS_MAX = 12, /* sort 0 is running */
};

struct slice {
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t sort;   /* below CELL_SORTS_MAX */
	uint32_t detail; /* any number */
	uint32_t peak;   /* of merged slices the highest one counts */
};

/* Of merged slices the sort is that of most of the time, but running. The detail is that of the
 * longest slice of this sort. */
struct cell {
	struct slice slice;
	uint32_t merged;     /* number of slices in it */
	uint64_t running_ns; /* of those */
};

struct cell_level {
	uint64_t cell_ns;
	struct cell *cells; /* row by row, each in order of time */
	size_t count, room;
	size_t *first;  /* row r has cells [first[r], first[r + 1]) */
	bool is_merged; /* some slices are not there on their own */
	struct cell pending;
	uint64_t sort_ns[CELL_SORTS_MAX]; /* of the pending cell */
	struct slice longest[CELL_SORTS_MAX];
};

struct cells {
	struct cell_level levels[CELL_LEVELS];
	size_t level_count; /* coarsest first; at least one */
	size_t row_count;   /* begun so far */
	size_t row_room;
	size_t cells_max; /* of all levels */
};

/* For `row_room` rows of a run of span_ns. */
void cells_begin(struct cells *cells, uint64_t span_ns, size_t row_room, size_t cells_max);

/* Slices from here on are of the next row; in order of time, and none in another. */
void cells_row(struct cells *cells);
void cells_add(struct cells *cells, const struct slice *slice);

/* After the last slice. Levels that are too large, or no finer than the one before, go. */
void cells_end(struct cells *cells);
void cells_free(struct cells *cells);

/*
 * Puts "cell_ns", a number for each level, and the columns of each level N.
 *
 *     firstN           cell that a row begins with; one more than there are rows
 *     gapN             ns from the cell before it in its row, or from start_ns
 *     lengthN          ns
 *     detailN          plus `stride` times the peak
 *     mergedN          cells in which several slices are merged
 *     merged_countN    of these: how many slices
 *     merged_runningN  of these: how much of the length is running, per cent
 */
void cells_emit(const struct cells *cells, uint64_t start_ns, uint32_t stride, struct emit *emit);

#endif

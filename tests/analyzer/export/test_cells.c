/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a timeline would show states that threads were not in, or be as large as the run.
 */
#include "export/cells.h"

#include "base/memory.h"
#include "random.h"
#include "suite.h"

enum { SPAN_NS = 1200 * 512, SHORT_SPAN_NS = 1200 * 64 };

static void add(struct cells *cells, uint64_t start, uint64_t end, uint32_t sort, uint32_t detail)
{
	cells_add(cells, &(struct slice){ start, end, sort, detail, detail });
}

START_TEST(slices_longer_than_a_pixel_stay_and_shorter_ones_are_merged)
{
	struct cells cells;
	cells_begin(&cells, SPAN_NS, 1, 1000000);
	cells_row(&cells);
	add(&cells, 0, 600, 1, 7);   /* longer than a pixel, which is 512 */
	add(&cells, 600, 700, 0, 8); /* these three are one cell */
	add(&cells, 700, 800, 2, 9);
	add(&cells, 800, 850, 3, 10);
	add(&cells, 5000, 5001, 2, 11); /* behind a gap */
	cells_end(&cells);
	const struct cell_level *coarse = &cells.levels[0];
	ck_assert_uint_eq(coarse->cell_ns, 512);
	ck_assert_uint_eq(coarse->count, 3);
	ck_assert_uint_eq(coarse->cells[0].merged, 1);
	ck_assert_uint_eq(coarse->cells[0].slice.detail, 7);
	ck_assert_uint_eq(coarse->cells[1].merged, 3);
	ck_assert_uint_eq(coarse->cells[1].slice.start_ns, 600);
	ck_assert_uint_eq(coarse->cells[1].slice.end_ns, 850);
	ck_assert_uint_eq(coarse->cells[1].slice.sort, 2);
	ck_assert_uint_eq(coarse->cells[1].slice.detail, 9);
	ck_assert_uint_eq(coarse->cells[1].slice.peak, 10);
	ck_assert_uint_eq(coarse->cells[1].running_ns, 100);
	ck_assert_uint_eq(coarse->cells[2].slice.detail, 11);
	cells_free(&cells);
}
END_TEST

START_TEST(levels_end_with_the_first_that_has_all_slices)
{
	struct cells cells;
	cells_begin(&cells, SPAN_NS, 2, 1000000);
	cells_row(&cells);
	add(&cells, 0, 100, 1, 1);
	add(&cells, 100, 200, 2, 2);
	cells_row(&cells);
	add(&cells, 100, 200, 1, 3);
	cells_end(&cells);
	ck_assert_uint_eq(cells.level_count, 2);
	ck_assert_uint_eq(cells.levels[0].count, 2);
	ck_assert_uint_eq(cells.levels[1].count, 3);
	ck_assert_uint_eq(cells.levels[1].first[1], 2);
	ck_assert_uint_eq(cells.levels[1].first[2], 3);
	cells_free(&cells);
}
END_TEST

/* Slices of random lengths, some behind gaps; returns how many. */
static size_t add_random(struct cells *cells, uint64_t *state)
{
	size_t count = 0;
	uint64_t at = 0, most = random_number(state, 2) ? 4 : 2000;
	while (at + 2 * most < SHORT_SPAN_NS) {
		uint64_t start = at + (random_number(state, 4) ? 0 : random_number(state, most));
		at = start + 1 + random_number(state, most);
		add(cells, start, at, (uint32_t)random_number(state, CELL_SORTS_MAX), 1);
		count++;
	}
	return count;
}

static void expect_whole(const struct cells *cells, const struct cell_level *level, size_t slices)
{
	size_t merged = 0;
	for (size_t row = 0; row < cells->row_room; row++)
		for (size_t i = level->first[row]; i < level->first[row + 1]; i++) {
			const struct slice *slice = &level->cells[i].slice;
			merged += level->cells[i].merged;
			ck_assert_uint_lt(slice->start_ns, slice->end_ns);
			if (i > level->first[row])
				ck_assert_uint_ge(slice->start_ns,
						  level->cells[i - 1].slice.end_ns);
		}
	ck_assert_uint_eq(merged, slices);
}

START_TEST(each_level_has_all_time_in_order_and_the_bound_holds)
{
	enum { ROWS = 5, CELLS = 20000 };
	uint64_t state = (uint64_t)_i * 7919 + 1;
	struct cells cells;
	size_t slices = 0, count = 0;
	cells_begin(&cells, SHORT_SPAN_NS, ROWS, CELLS);
	for (size_t row = 0; row < ROWS; row++) {
		cells_row(&cells);
		slices += add_random(&cells, &state);
	}
	cells_end(&cells);
	ck_assert_uint_ge(cells.level_count, 1);
	for (size_t i = 0; i < cells.level_count; i++) {
		expect_whole(&cells, &cells.levels[i], slices);
		count += cells.levels[i].count;
	}
	ck_assert_uint_le(count, CELLS);
	cells_free(&cells);
}
END_TEST

SUITE()
{
	TEST(slices_longer_than_a_pixel_stay_and_shorter_ones_are_merged);
	TEST(levels_end_with_the_first_that_has_all_slices);
	LOOP(each_level_has_all_time_in_order_and_the_bound_holds, 0, 20);
}

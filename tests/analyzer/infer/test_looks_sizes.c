/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a program that backs off would look as often as if it did not.
 */
#include "infer/looks.h"

#include "sketch.h"
#include "suite.h"

enum { TIMES = 12, NAPS_MAX = 4 };

/* Naps of 1, 2, 4 and 8 ms: of the first TIMES rows each fourth one has all of them. */
static void sketch_naps(struct sketch *sketch)
{
	double at_ms = 0;

	sketch_begin(sketch);
	sketch_thread(sketch, "main", 0, 500);
	for (int time = 0; time < TIMES; time++) {
		double ms = 1;

		for (int i = 0; i <= time % NAPS_MAX; i++, ms *= 2) {
			sketch_sleep(sketch, 0, "nap", at_ms, at_ms + ms);
			sketch->rec.extras[sketch->rec.op_count - 1].amount = (uint64_t)(ms * 1e6);
			at_ms += ms + 0.01;
		}
		sketch_io(sketch, 0, "write", "file out", 9, at_ms, at_ms + 3);
		at_ms += 3;
	}
	sketch_end(sketch);
}

/* A row of so many naps has some more. */
static const struct {
	uint32_t count;
	uint32_t more;
	double growth;
} rows[] = {
	{ 1, 1, 2 }, { 1, 3, 8 }, { 1, 9, 8 }, { 2, 1, 2 }, { 3, 5, 2 }, { 4, 1, 1 }, { 4, 7, 1 },
};

START_TEST(the_next_nap_is_as_long_as_in_other_rows)
{
	struct sketch sketch;
	struct looks looks;
	struct flows flows;
	struct timeline timeline;

	sketch_naps(&sketch);
	timeline_build(&timeline, &sketch.rec);
	flows_build(&flows, &sketch.rec);
	looks_build(&looks, &sketch.rec, &sketch.classes, &timeline, &flows);
	flows_free(&flows);
	ck_assert_uint_eq(looks.count, TIMES);
	const struct look_row *row = &looks.rows[rows[_i].count - 1];

	ck_assert_uint_eq(row->count, rows[_i].count);
	ck_assert_double_eq_tol(looks_growth(&looks, row, rows[_i].more), rows[_i].growth, 1e-9);
	looks_free(&looks);
	timeline_free(&timeline);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(the_next_nap_is_as_long_as_in_other_rows, rows);
}

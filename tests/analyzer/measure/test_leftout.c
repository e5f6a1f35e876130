/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if chosen calls of a function are taken for all of them. */
#include "measure/leftout.h"

#include "sketch.h"
#include "suite.h"

enum { PROBES = 2 };

static const struct {
	size_t recorded;
	bool are_chosen;
	struct {
		uint64_t calls, brief, unmet;
		const char *when;
	} probes[PROBES];
	const char *text; /* NULL: nothing was left out */
} rows[] = {
	/* 0 */ { 5, false, { { 0 } }, NULL },
	/* 1 */ { 5, false, { { 5, 0, 0, "" } }, NULL },
	/* 2: two processes */
	{ 5,
	  true,
	  { { 90, 10, 77, "request>p95" }, { 10, 0, 8, "request>p95" } },
	  "`parse`: 95 of 100 calls were left out (85 by request>p95, 10 too short)" },
	/* 3 */
	{ 5,
	  true,
	  { { 9, 0, 4, "" } },
	  "`parse`: 4 of 9 calls were left out (4 by its condition)" },
	/* 4 */
	{ 5, true, { { 9, 4, 0, "" } }, "`parse`: 4 of 9 calls were left out (4 too short)" },
	/* 5: none of them was long, as yet */
	{ 5, true, { { 5, 0, 0, "" } }, "`parse`: 0 of 5 calls were left out" },
	/* 6: recovered after it had died */
	{ 5, true, { { 0 } }, "`parse`: calls were left out, and no dump says how many" },
	/* 7: so was one of two processes */
	{ 5, true, { { 4, 2, 0, "" } }, "`parse`: calls were left out, and no dump says how many" },
	/* 8 */
	{ 0, true, { { 7, 0, 7, "lock:a" } }, "`parse`: 7 of 7 calls were left out (7 by lock:a)" },
};

static void fill(struct sketch *sketch, struct rec_probe probes[PROBES], int row)
{
	size_t count = 0;

	sketch_begin(sketch);
	sketch_thread(sketch, "t", 0, 1000);
	for (size_t i = 0; i < rows[row].recorded; i++) {
		uint32_t op = sketch_op(sketch, KIND_OP_USER, "parse", 0, 10.0 * (double)i,
					10.0 * (double)i + 5);

		sketch->rec.extras[op].probed = true;
		sketch->rec.extras[op].chosen = rows[row].are_chosen;
	}
	for (; count < PROBES && rows[row].probes[count].calls; count++)
		probes[count] = (struct rec_probe){
			.name = sketch_string(sketch, "parse"),
			.when = sketch_string(sketch, rows[row].probes[count].when),
			.calls = rows[row].probes[count].calls,
			.brief = rows[row].probes[count].brief,
			.unmet = rows[row].probes[count].unmet,
		};
	sketch_end(sketch);
	sketch->rec.probes = probes;
	sketch->rec.probe_count = count;
}

START_TEST(calls_that_were_left_out_are_told)
{
	struct rec_probe probes[PROBES];
	struct leftout_table table;
	struct sketch sketch;
	char text[LEFTOUT_TEXT_BYTES];

	fill(&sketch, probes, _i);
	leftout_table_build(&table, &sketch.rec, &sketch.classes);
	ck_assert_uint_eq(table.count, rows[_i].text != NULL);
	if (rows[_i].text) {
		leftout_text(&table.rows[0], &sketch.rec, text);
		ck_assert_str_eq(text, rows[_i].text);
		ck_assert_uint_eq(table.rows[0].recorded, rows[_i].recorded);
		ck_assert_uint_eq(table.rows[0].class,
				  rows[_i].recorded ? sketch_class(&sketch, "parse") : NO_INDEX);
	}
	leftout_table_free(&table);
	sketch.rec.probes = NULL;
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	LOOP(calls_that_were_left_out_are_told, 0, sizeof(rows) / sizeof(rows[0]));
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a thread that a flag stops would seem to be work, or one that ends by itself
 * would be doubted.
 */
#include "report/checks_parts.h"

#include "report/analysis.h"
#include "sketch.h"
#include "suite.h"

#include <string.h>

struct row {
	double main_ms;  /* until it waits for the worker's end */
	double end_ms;   /* of the worker */
	double piece_ms; /* of its work */
	bool is_told;    /* by a signal, before its last piece */
	bool is_found;
	bool by_permit; /* not a signal */
};

static const struct row rows[] = {
	{ 100, 103, 5, false, true, false },
	{ 100, 104, 5, false, true, false },
	{ 100, 99, 5, false, false, false },  /* it had ended before */
	{ 100, 150, 5, false, false, false }, /* it had more to do */
	{ 10, 150, 5, false, false, false },
	{ 100, 103, 50, false, false, false }, /* it cannot have looked */
	{ 100, 103, 5, true, false, false },
	{ 100, 103, 5, true, false, true },
};

static void sketch_fill(struct sketch *sketch, const struct row *row)
{
	sketch_begin(sketch);
	sketch_thread(sketch, "main", 0, row->main_ms > row->end_ms ? row->main_ms : row->end_ms);
	sketch_thread(sketch, "worker", 0, row->end_ms);
	uint32_t worker = sketch->rec.threads[1].op;
	sketch_link(sketch, 0, LINK_SPAWN, "", 0, 0, worker);
	sketch_sleep(sketch, 0, "nap", 0, row->main_ms);
	double at_ms = 0;
	while (at_ms + row->piece_ms < row->main_ms && at_ms + row->piece_ms < row->end_ms) {
		sketch_io(sketch, 1, "work", "", 1, at_ms, at_ms + row->piece_ms);
		at_ms += row->piece_ms;
	}
	if (row->is_told) {
		enum reason reason = row->by_permit ? REASON_SEM : REASON_COND;
		sketch_link(sketch, 0, row->by_permit ? LINK_POST : LINK_WAKE, "C", row->main_ms, 1,
			    NO_INDEX);
		sketch_wait(sketch, 1, reason, "C", at_ms, row->main_ms + 0.01,
			    row->by_permit ? sketch->rec.threads[0].op : NO_INDEX);
	} else {
		sketch_io(sketch, 1, "work", "", 1, at_ms, row->end_ms);
	}
	if (row->end_ms > row->main_ms)
		sketch_wait(sketch, 0, REASON_JOIN, "", row->main_ms, row->end_ms, worker);
	sketch_end(sketch);
}

START_TEST(who_stops_when_asked_is_said)
{
	struct options options = {
		.top = 10, .factors = { { 0, 0.5 }, 2 }, .class_regex = "", .model = "threads"
	};
	struct sketch sketch;
	struct analysis analysis;
	char error[OPTIONS_ERROR_BYTES];
	sketch_fill(&sketch, &rows[_i]);
	ck_assert_int_eq(analysis_build(&analysis, &sketch.rec, &options, NULL, error), 0);
	const struct check *check = &analysis.checks.rows[CHECK_STOPS];
	ck_assert_int_eq(check->state, rows[_i].is_found ? CHECK_FAILED : CHECK_PASSED);
	ck_assert(rows[_i].is_found == (check->value > 90));
	ck_assert(rows[_i].is_found == (strstr(check->line, "`worker`") != NULL));
	analysis_free(&analysis);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(who_stops_when_asked_is_said, rows);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, sleeps until another thread has answered would pass for work, or work in pieces
 * for such sleeps.
 */
#include "infer/looks.h"

#include "sketch.h"
#include "suite.h"

enum { TIMES = 9, NAP_MS = 2 };

static const struct {
	int step;           /* naps of a row: one, and so many more in each third one */
	double late_ms;     /* the other thread answers so long before the row ends */
	double often_ms;    /* it does so all the time, at this distance; 0 = only then */
	double bytes;       /* that it reads before each nap */
	const char *answer; /* its name */
	double answer_ms;
	bool is_found;
} rows[] = {
	{ 2, 1, 0, 0, "answer", 0.5, true },
	/* the number of naps is fixed */
	{ 0, 1, 0, 0, "answer", 0.5, false },
	/* naps go on after that */
	{ 2, 3, 0, 0, "answer", 0.5, false },
	/* by chance */
	{ 2, 1, 1.5, 0, "answer", 0.5, false },
	/* a nap is what it does with a message: nobody looks for anything */
	{ 2, 1, 0, 7, "answer", 0.5, false },
	/* a nap is a piece of work, of which the other thread has some at the same time */
	{ 2, 1, 0, 0, "nap", 1.5, false },
};

/* Main naps until the other thread's work ends, and then does what takes time. */
START_TEST(rows_that_end_with_another_thread_are_no_work)
{
	struct sketch sketch;
	struct looks looks;
	struct flows flows;
	struct timeline timeline;
	double at_ms = 0, answers_ms = 0;
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 200);
	sketch_thread(&sketch, "other", 0, 200);
	for (int time = 0; time < TIMES; time++) {
		int naps = 2 + time % 3 * rows[_i].step;
		for (int i = 0; i < naps; i++, at_ms += NAP_MS) {
			if (rows[_i].bytes > 0) {
				sketch_io(&sketch, 1, "write", "tcp a>b", rows[_i].bytes, at_ms,
					  at_ms);
				sketch_io(&sketch, 0, "read", "tcp b>a", rows[_i].bytes, at_ms,
					  at_ms);
			}
			sketch_sleep(&sketch, 0, "nap", at_ms, at_ms + NAP_MS);
		}
		if (rows[_i].often_ms > 0)
			for (; answers_ms + rows[_i].often_ms < at_ms;
			     answers_ms += rows[_i].often_ms)
				sketch_sleep(&sketch, 1, rows[_i].answer, answers_ms,
					     answers_ms + rows[_i].often_ms);
		else
			sketch_sleep(&sketch, 1, rows[_i].answer,
				     at_ms - rows[_i].late_ms - rows[_i].answer_ms,
				     at_ms - rows[_i].late_ms);
		sketch_io(&sketch, 0, "write", "file out", 9, at_ms, at_ms + 1);
		at_ms += 1;
	}
	sketch_end(&sketch);
	timeline_build(&timeline, &sketch.rec);
	flows_build(&flows, &sketch.rec);
	looks_build(&looks, &sketch.rec, &sketch.classes, &timeline, &flows);
	flows_free(&flows);
	uint32_t kept = 0;
	for (size_t i = 0; i < looks.count; i++)
		kept += looks.rows[i].thread == 0 && looks.rows[i].sort == LOOK_KEPT;
	ck_assert_uint_eq(kept, rows[_i].is_found ? TIMES : 0);
	looks_free(&looks);
	timeline_free(&timeline);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(rows_that_end_with_another_thread_are_no_work, rows);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a thread that goes round until it is told to end is taken to go round so many times. */
#include "infer/stopped.h"

#include "sketch.h"
#include "suite.h"

static const struct {
	uint32_t joiner; /* of thread 1, whose wait thread 0 ends */
	double joins_ms; /* until when; the wait ends at 20 */
	bool times_out;
	bool is_stopped;
} rows[] = {
	/* 0 */ { 0, 30, false, true },
	/* 1: another one joins it */ { 2, 30, false, false },
	/* 2: the clock ends the wait */ { 0, 30, true, false },
	/* 3: the join is of an earlier thread of that number */ { 0, 10, false, false },
};

START_TEST(whoever_ends_the_wait_joins_its_thread)
{
	struct sketch sketch;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 40);
	sketch_thread(&sketch, "keeper", 0, 30);
	sketch_thread(&sketch, "other", 0, 40);
	uint32_t wait = sketch_wait(&sketch, 1, REASON_COND, "C", 5, 20, sketch.rec.threads[0].op);
	sketch.rec.waits[wait].timed_out = rows[_i].times_out;
	sketch_wait(&sketch, rows[_i].joiner, REASON_JOIN, "", rows[_i].joins_ms - 1,
		    rows[_i].joins_ms, sketch.rec.threads[1].op);
	bool *is_stopped = stopped_find(&sketch.rec);
	ck_assert(is_stopped[wait] == rows[_i].is_stopped);
	ck_assert(!is_stopped[wait + 1]);
	free(is_stopped);
	sketch_end(&sketch);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(whoever_ends_the_wait_joins_its_thread, rows);
}

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
	uint16_t reason; /* of the wait for thread 1 */
} rows[] = {
	/* 0 */ { 0, 30, false, true, REASON_JOIN },
	/* 1: another one joins it */ { 2, 30, false, false, REASON_JOIN },
	/* 2: the clock ends the wait */ { 0, 30, true, false, REASON_JOIN },
	/* 3: the join is of an earlier thread of that number */
	{ 0, 10, false, false, REASON_JOIN },
	/* 4: it says by a condition that it has ended */ { 0, 30, false, true, REASON_COND },
	/* 5: it said something before */ { 0, 10, false, false, REASON_COND },
	/* 6: it says so to another one */ { 2, 30, false, false, REASON_COND },
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
	sketch_wait(&sketch, rows[_i].joiner, rows[_i].reason, "", rows[_i].joins_ms - 1,
		    rows[_i].joins_ms, sketch.rec.threads[1].op);
	bool *is_stopped = stopped_find(&sketch.rec);
	ck_assert(is_stopped[wait] == rows[_i].is_stopped);
	ck_assert(rows[_i].joins_ms < 20 || !is_stopped[wait + 1]);
	free(is_stopped);
	sketch_end(&sketch);
	sketch_free(&sketch);
}
END_TEST

static const struct {
	uint32_t teller; /* of thread 1, which thread 0 joins until 30 */
	double tells_ms; /* its last wait ends at 20 */
	bool times_out;
	const char *condition;
	bool is_told;
} told_rows[] = {
	/* 0 */ { 0, 25, true, "C", true },
	/* 1: another thread */ { 2, 25, true, "C", false },
	/* 2: it waits yet */ { 0, 15, true, "C", false },
	/* 3: it is joined already */ { 0, 35, true, "C", false },
	/* 4: the wait did not time out */ { 0, 25, false, "C", false },
	/* 5: it did not wait for that */ { 0, 25, true, "D", false },
};

START_TEST(whoever_joins_a_thread_tells_it_while_it_does_not_wait)
{
	struct sketch sketch;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 40);
	sketch_thread(&sketch, "keeper", 0, 30);
	sketch_thread(&sketch, "other", 0, 40);
	sketch_wait(&sketch, 1, REASON_COND, told_rows[_i].condition, 1, 4, NO_INDEX);
	uint32_t last = sketch_wait(&sketch, 1, REASON_COND, "C", 5, 20, NO_INDEX);
	sketch.rec.waits[last].timed_out = told_rows[_i].times_out;
	if (told_rows[_i].condition[0] == 'D')
		sketch.rec.waits[last].address++;
	sketch_link(&sketch, 0, LINK_WAKE, "C", 4.5, 0, NO_INDEX);
	uint32_t link = sketch_link(&sketch, told_rows[_i].teller, LINK_WAKE, "C",
				    told_rows[_i].tells_ms, 0, NO_INDEX);
	sketch_wait(&sketch, 0, REASON_JOIN, "", 26, 30, sketch.rec.threads[1].op);
	uint32_t *told = stopped_told(&sketch.rec);
	bool *is_stopped = stopped_find(&sketch.rec);
	ck_assert_uint_eq(told[1], told_rows[_i].is_told ? link : NO_INDEX);
	ck_assert_uint_eq(told[0], NO_INDEX);
	ck_assert(is_stopped[last] == told_rows[_i].is_told);
	free(told);
	free(is_stopped);
	sketch_end(&sketch);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(whoever_joins_a_thread_tells_it_while_it_does_not_wait, told_rows);
	EACH(whoever_ends_the_wait_joins_its_thread, rows);
}

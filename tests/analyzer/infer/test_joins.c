/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a thread that another one waits for is not known, or a permit is taken for its end. */
#include "infer/joins.h"

#include "sketch.h"
#include "suite.h"

static const struct {
	enum reason reason;
	double posts_ms; /* the worker, which ends at 100; the wait begins at 40 */
	bool posts_before;
	bool times_out;
	bool is_join;
	bool says_so;
	double takes_ms; /* 0 = it does not */
	bool is_told;
} rows[] = {
	/* 0 */ { REASON_JOIN, 20, false, false, true, false, 1, false },
	/* 1 */ { REASON_SEM, 95, false, false, true, true, 1, false },
	/* 2: it goes on for long */ { REASON_SEM, 80, false, false, false, false, 1, false },
	/* 3: it gave one before */ { REASON_SEM, 95, true, false, false, false, 1, true },
	/* 4 */ { REASON_SEM, 95, false, true, false, false, 1, false },
	/* 5: there was one already */ { REASON_SEM, 30, false, false, false, false, 1, false },
	/* 6: no such permit */ { REASON_COND, 95, false, false, false, false, 1, false },
	/* 7: it tells that one to end */
	{ REASON_SEM, 95, false, false, false, false, 0, true },
	/* 8: it had that for a while */ { REASON_SEM, 95, false, false, false, false, 30, false },
};

START_TEST(a_thread_may_say_by_a_permit_that_it_ends)
{
	struct sketch sketch;
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 100);
	sketch_thread(&sketch, "worker", 0, 100);
	uint32_t wait =
		sketch_wait(&sketch, 0, rows[_i].reason, "S", 40, 97, sketch.rec.threads[1].op);
	sketch.rec.waits[wait].timed_out = rows[_i].times_out;
	uint32_t post = sketch_link(&sketch, 1, LINK_POST, "S", rows[_i].posts_ms, 0, NO_INDEX);
	sketch_link(&sketch, 1, LINK_POST, "other", 10, 0, NO_INDEX);
	if (rows[_i].takes_ms)
		sketch_wait(&sketch, 1, REASON_SEM, "S", rows[_i].takes_ms, rows[_i].takes_ms,
			    NO_INDEX);
	if (rows[_i].posts_before)
		sketch_link(&sketch, 1, LINK_POST, "S", 5, 0, NO_INDEX);
	struct join *joins = joins_find(&sketch.rec);
	ck_assert_uint_eq(joins[wait].thread, rows[_i].is_join ? 1 : NO_INDEX);
	ck_assert(joins[wait].is_told == rows[_i].is_told);
	ck_assert_uint_eq(joins[wait].post, rows[_i].says_so ? post : NO_INDEX);
	free(joins);
	sketch_end(&sketch);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(a_thread_may_say_by_a_permit_that_it_ends, rows);
}

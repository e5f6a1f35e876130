/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a thread that a flag stops has as many rounds whatever happens. Or if one that does a
 * fixed number of them has any other one. */
#include "infer/looks.h"

#include "sketch.h"
#include "suite.h"

/* Another thread works until then. */
enum { TOLD_MS = 199 };

static const struct {
	double round_ms; /* of the keeper */
	double end_ms;
	bool has_other; /* else main sleeps */
	bool sets_flag; /* main takes a lock before it waits for the keeper */
	bool is_told;
	bool is_guess;
	uint32_t other_rounds;
	bool is_posted; /* both say by a permit that they end */
} rows[] = {
	/* 0 */ { 10, 205, true, true, true, false, 0, false },
	/* 1: or both were done at the same time */ { 10, 205, true, false, true, true, 0, false },
	/* 2: it has more than one other round */ { 10, 219.5, true, true, false, false, 0, false },
	/* 3: some round ends by then */ { 40, 205, true, true, false, false, 0, false },
	/* 4 */ { 10, 205, false, false, true, false, 0, false },
	/* 5: the other thread does as many rounds */
	{ 10, 205, true, false, false, false, 19, false },
	/* 6: it does half as many */ { 10, 205, true, false, true, true, 10, false },
	/* 7: a runtime takes locks in between, too */
	{ 10, 205, true, true, true, true, 0, true },
	/* 8 */ { 10, 205, true, true, false, false, 19, true },
	/* 9 */ { 10, 205, false, true, true, false, 0, true },
};

START_TEST(rounds_go_on_until_another_thread_says_stop)
{
	struct sketch sketch;
	struct looks looks;
	struct flows flows;
	struct timeline timeline;
	uint32_t rounds = 0;
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 220);
	sketch_thread(&sketch, "keeper", 0, rows[_i].end_ms);
	sketch_thread(&sketch, "other", 0, TOLD_MS);
	if (rows[_i].has_other)
		sketch_wait(&sketch, 0, REASON_JOIN, "", 0, TOLD_MS, sketch.rec.threads[2].op);
	else
		sketch_sleep(&sketch, 0, "wait", 0, TOLD_MS);
	if (rows[_i].sets_flag)
		sketch_hold(&sketch, 0, "m", 1, TOLD_MS + 0.1, TOLD_MS + 0.2);
	sketch_wait(&sketch, 0, REASON_JOIN, "", TOLD_MS + 0.3, rows[_i].end_ms,
		    sketch.rec.threads[1].op);
	for (size_t i = sketch.rec.wait_count; rows[_i].is_posted && i-- > 0;) {
		bool is_other = sketch.rec.waits[i].end_ns == TOLD_MS * 1000000;
		sketch.rec.waits[i].reason = REASON_SEM;
		sketch.rec.waits[i].address = 0x1000 + sketch_string(&sketch, "end");
		sketch_wait(&sketch, is_other ? 2 : 1, REASON_SEM, "end", 0, 0, NO_INDEX);
		sketch_link(&sketch, is_other ? 2 : 1, LINK_POST, "end",
			    is_other ? TOLD_MS - 0.1 : rows[_i].end_ms - 0.1, 0, NO_INDEX);
	}
	for (double at_ms = 0; at_ms + rows[_i].round_ms < TOLD_MS + 1;
	     at_ms += rows[_i].round_ms) {
		sketch_sleep(&sketch, 1, "nap", at_ms, at_ms + 4);
		sketch_sleep(&sketch, 1, "device", at_ms + 5, at_ms + 6);
		rounds++;
	}
	for (uint32_t i = 0; i < rows[_i].other_rounds; i++)
		sketch_sleep(&sketch, 2, "device", 9 * i + 2, 9 * i + 8);
	sketch_end(&sketch);
	timeline_build(&timeline, &sketch.rec);
	flows_build(&flows, &sketch.rec);
	looks_build(&looks, &sketch.rec, &sketch.classes, &timeline, &flows);
	ck_assert_uint_eq(looks.count, rows[_i].is_told);
	if (looks.count) {
		const struct look_row *row = &looks.rows[0];
		ck_assert_int_eq(row->sort, LOOK_TOLD);
		ck_assert(row->is_guess == rows[_i].is_guess);
		ck_assert((row->post != NO_INDEX) == rows[_i].is_posted);
		ck_assert_uint_eq(row->thread, 1);
		ck_assert_uint_eq(row->ender, 0);
		ck_assert_uint_eq(row->count, rounds);
		ck_assert_uint_eq(row->first_ns, 0);
		ck_assert_uint_eq(row->mark_ns, (uint64_t)((TOLD_MS + 0.3) * 1e6) - 1);
	}
	looks_free(&looks);
	flows_free(&flows);
	timeline_free(&timeline);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(rounds_go_on_until_another_thread_says_stop, rows);
}

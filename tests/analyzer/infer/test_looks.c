/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, sleeps of a thread that looks for another one would pass for work, or work for
 * looking.
 */
#include "infer/looks.h"

#include "sketch.h"
#include "suite.h"

enum { NAPS = 16 };

/* Between two naps of main. */
enum between { NOTHING, A_LOOK, A_WRITE, A_LOCK, A_WAIT, A_MESSAGE };

/* The lengths that main asks for; all naps take as long. */
enum lengths { THE_SAME, LONGER_ONES, ALL_SORTS };

static double asked_ms(enum lengths lengths, int nap)
{
	if (lengths == LONGER_ONES)
		return 1 + 0.2 * nap;
	return lengths == ALL_SORTS ? 1 + 3 * (nap % 2) + 0.01 * nap : 5;
}

/* Main does this after the last one. */
enum after { ENDS_LATER, WRITES, JOINS, IS_JOINED };

static void add_between(struct sketch *sketch, enum between between, double at_ms)
{
	if (between == A_LOOK)
		sketch_io(sketch, 0, "flock", "file l", 0, at_ms, at_ms + 0.01);
	else if (between == A_WRITE)
		sketch_io(sketch, 0, "write", "file l", 9, at_ms, at_ms + 0.01);
	else if (between == A_LOCK)
		sketch_hold(sketch, 0, "m", 1, at_ms, at_ms + 0.01);
	else if (between == A_WAIT)
		sketch_wait(sketch, 0, REASON_COND, "c", at_ms, at_ms + 0.01, NO_INDEX);
	if (between != A_MESSAGE)
		return;
	sketch_io(sketch, 1, "write", "tcp a>b", 9, at_ms, at_ms);
	sketch_io(sketch, 0, "read", "tcp b>a", 9, at_ms, at_ms + 0.01);
}

static const struct {
	int naps;
	double gap_ms; /* a nap takes 5 */
	enum between between;
	double other_end_ms; /* of the other thread; the last of 16 naps is from 75.3 to 80.3 */
	enum after after;
	enum look_sort sort;
} rows[] = {
	/* 0: the other thread's end may be by chance */ { NAPS, 0.02, NOTHING, 78, WRITES,
							   LOOK_GUESS },
	/* 1 */ { NAPS, 0.02, A_LOOK, 78, WRITES, LOOK_GUESS },
	/* 2: it is no chance if main waits for it */ { NAPS, 0.02, NOTHING, 78, JOINS, LOOK_SURE },
	/* 3: nor if the other one waits for main */
	{ NAPS, 0.02, NOTHING, 90, IS_JOINED, LOOK_SURE },
	/* 4: it has work to do */ { NAPS, 0.02, A_WRITE, 78, WRITES, LOOK_WORK },
	/* 5 */ { NAPS, 0.02, A_LOCK, 78, WRITES, LOOK_WORK },
	/* 6 */ { NAPS, 0.02, A_WAIT, 78, WRITES, LOOK_WORK },
	/* 7: but works only until then */ { NAPS, 0.02, A_WRITE, 78, JOINS, LOOK_SURE },
	/* 8 */ { NAPS, 0.02, A_LOCK, 90, IS_JOINED, LOOK_SURE },
	/* 9 */ { NAPS, 3, NOTHING, 141, WRITES, LOOK_WORK },
	/* 10 */ { NAPS, 3, NOTHING, 141, IS_JOINED, LOOK_WORK },
	/* 11: nobody did anything */ { NAPS, 0.02, NOTHING, 60, WRITES, LOOK_WORK },
	/* 12: it was still there when the recording ended */
	{ NAPS, 0.02, NOTHING, 78, ENDS_LATER, LOOK_WORK },
	/* 13: too few */ { 2, 0.02, NOTHING, 7, WRITES, LOOK_WORK },
	/* 14: it looks, and then naps once more */ { NAPS, 0.02, NOTHING, 73, JOINS, LOOK_SURE },
	/* 15: naps are how it serves the other thread */
	{ NAPS, 0.02, A_MESSAGE, 78, JOINS, LOOK_WORK },
	/* 16: it backs off */ { NAPS, 0.02, NOTHING, 78, JOINS, LOOK_SURE },
	/* 17: each nap is another piece of work */
	{ NAPS, 0.02, NOTHING, 78, JOINS, LOOK_WORK },
	/* 18 */ { NAPS, 0.02, A_LOOK, 78, WRITES, LOOK_WORK },
	/* 19: but until the other one is done */
	{ NAPS, 0.02, A_WRITE, 78, JOINS, LOOK_SURE },
};

static void add_after(struct sketch *sketch, enum after after, double at_ms, double other_end_ms)
{
	const struct rec_thread *threads = sketch->rec.threads;
	if (after == WRITES)
		sketch_io(sketch, 0, "write", "file out", 9, at_ms, at_ms + 1);
	else if (after == JOINS)
		sketch_wait(sketch, 0, REASON_JOIN, "", at_ms, at_ms, threads[1].op);
	else if (after == IS_JOINED)
		sketch_wait(sketch, 1, REASON_JOIN, "", 77, other_end_ms, threads[0].op);
	else
		sketch->rec.extras[threads[0].op].open = true;
}

static enum lengths lengths_of(int row)
{
	if (row < 16)
		return THE_SAME;
	return row == 16 ? LONGER_ONES : ALL_SORTS;
}

START_TEST(sleeps_that_wait_for_another_thread_are_found)
{
	struct sketch sketch;
	struct looks looks;
	struct flows flows;
	struct timeline timeline;
	double at_ms = 0;
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 200);
	sketch_thread(&sketch, "other", 0, rows[_i].other_end_ms);
	for (int i = 0; i < rows[_i].naps; i++) {
		uint32_t nap = sketch_op(&sketch, KIND_SLEEP, "nap", 0, at_ms, at_ms + 5);

		sketch.rec.extras[nap].amount = (uint64_t)(1e6 * asked_ms(lengths_of(_i), i));
		if (i + 1 < rows[_i].naps)
			add_between(&sketch, rows[_i].between, at_ms + 5.005);
		at_ms += 5 + rows[_i].gap_ms;
	}
	add_after(&sketch, rows[_i].after, at_ms, rows[_i].other_end_ms);
	sketch_end(&sketch);
	timeline_build(&timeline, &sketch.rec);
	flows_build(&flows, &sketch.rec);
	looks_build(&looks, &sketch.rec, &sketch.classes, &timeline, &flows);
	flows_free(&flows);
	ck_assert_uint_eq(looks.count, rows[_i].sort != LOOK_WORK);
	if (looks.count) {
		const struct look_row *row = &looks.rows[0];
		ck_assert_int_eq(row->sort, rows[_i].sort);
		ck_assert_uint_eq(row->count, _i == 14 ? NAPS - 1 : NAPS);
		ck_assert_uint_eq(row->ender, 1);
		ck_assert_ptr_eq(looks_of(&looks, &sketch.rec, row->first), row);
		ck_assert_ptr_eq(looks_of(&looks, &sketch.rec, row->last), row);
	}
	looks_free(&looks);
	timeline_free(&timeline);
	sketch_free(&sketch);
}
END_TEST

/* Main naps until a job is done, for each of several jobs: the other thread then syncs. */
static const struct {
	int naps[4]; /* for each job */
	enum look_sort sort;
} job_rows[] = {
	/* 0 */ { { 4, 7, 5, 9 }, LOOK_SURE },
	/* 1: so many naps could be what main wants */ { { 5, 5, 5, 5 }, LOOK_GUESS },
};

START_TEST(rows_of_different_lengths_are_no_chance)
{
	struct sketch sketch;
	struct looks looks;
	struct flows flows;
	struct timeline timeline;
	double at_ms = 0;
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 200);
	sketch_thread(&sketch, "other", 0, 200);
	for (int job = 0; job < 4; job++) {
		for (int i = 0; i < job_rows[_i].naps[job]; i++, at_ms += 5)
			sketch_sleep(&sketch, 0, "nap", at_ms, at_ms + 5);
		sketch_io(&sketch, 1, "fsync", "file db", 0, at_ms - 3, at_ms - 2);
		sketch_io(&sketch, 0, "write", "file out", 9, at_ms, at_ms + 1);
		at_ms++;
	}
	sketch_end(&sketch);
	timeline_build(&timeline, &sketch.rec);
	flows_build(&flows, &sketch.rec);
	looks_build(&looks, &sketch.rec, &sketch.classes, &timeline, &flows);
	flows_free(&flows);
	ck_assert_uint_eq(looks.count, 4);
	for (int job = 0; job < 4; job++) {
		ck_assert_uint_eq(looks.rows[job].count, (uint32_t)job_rows[_i].naps[job]);
		ck_assert_int_eq(looks.rows[job].sort, job_rows[_i].sort);
	}
	looks_free(&looks);
	timeline_free(&timeline);
	sketch_free(&sketch);
}
END_TEST

/* Main has a lock in some of its naps. */
static const struct {
	bool has_always; /* else in each other one */
	size_t count;
} lock_rows[] = { { true, 1 }, { false, 0 } };

START_TEST(naps_with_a_lock_and_without_are_work)
{
	struct sketch sketch;
	struct looks looks;
	struct flows flows;
	struct timeline timeline;
	double at_ms = 1;
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 200);
	sketch_thread(&sketch, "other", 0, 79);
	if (lock_rows[_i].has_always)
		sketch_hold(&sketch, 0, "m", 1, 0.5, 100);
	for (int i = 0; i < NAPS; i++, at_ms += 5.02) {
		if (!lock_rows[_i].has_always && i % 2)
			sketch_hold(&sketch, 0, "m", 1, at_ms - 0.005, at_ms + 5.005);
		sketch_sleep(&sketch, 0, "nap", at_ms, at_ms + 5);
	}
	sketch_wait(&sketch, 0, REASON_JOIN, "", 101, 101, sketch.rec.threads[1].op);
	sketch_end(&sketch);
	timeline_build(&timeline, &sketch.rec);
	flows_build(&flows, &sketch.rec);
	looks_build(&looks, &sketch.rec, &sketch.classes, &timeline, &flows);
	flows_free(&flows);
	ck_assert_uint_eq(looks.count, lock_rows[_i].count);
	looks_free(&looks);
	timeline_free(&timeline);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(naps_with_a_lock_and_without_are_work, lock_rows);
	EACH(sleeps_that_wait_for_another_thread_are_found, rows);
	EACH(rows_of_different_lengths_are_no_chance, job_rows);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, sleeps between tries that fail would pass for work, or work for such sleeps.
 */
#include "infer/looks.h"

#include "sketch.h"
#include "suite.h"

enum { TIMES = 8, NAPS_MAX = 4 };

static const struct {
	double first_ms;
	double factor;   /* from one nap to the next */
	double gap_ms;   /* between them */
	bool has_places; /* one place sleeps shortly, another one for longer */
	bool has_locks;  /* each other nap is with a lock */
	bool is_found;
	int naps;    /* each time; 0 = from one to the most */
	int pausing; /* so often something else is between the naps */
} rows[] = {
	{ 1, 2, 0.01, false, false, true, 0, 0 },    { 1, 1.3, 0.01, false, false, true, 0, 0 },
	{ 1, 1, 0.01, false, false, false, 0, 0 },   /* as work of equal pieces */
	{ 8, 0.5, 0.01, false, false, false, 0, 0 }, /* as work that gets less */
	{ 1, 2, 5, false, false, false, 0, 0 },      /* something else is between them */
	{ 1, 2, 0.01, true, false, false, 0, 0 },    /* as pieces of work of several kinds */
	{ 1, 2, 0.01, false, true, false, 0, 0 },    /* the same */
	{ 2, 3, 0.01, false, false, false, 2, 0 },   /* it has two, whatever comes */
	{ 2, 3, 0.01, false, false, false, 2, 3 },   /* and may wait between */
};

/* It tries for a lock's good, naps, tries again, and works with it at last. */
START_TEST(naps_that_grow_are_no_work)
{
	struct sketch sketch;
	struct looks looks;
	struct flows flows;
	struct timeline timeline;
	double at_ms = 0;
	uint32_t naps = 0;
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 500);
	for (int time = 0; time < TIMES; time++) {
		double ms = rows[_i].first_ms;
		int count = rows[_i].naps ? rows[_i].naps : time % NAPS_MAX + 1;
		for (int i = 0; i < count; i++, ms *= rows[_i].factor, naps++) {
			sketch_hold(&sketch, 0, "m", 1, at_ms, at_ms + 0.001);
			if (rows[_i].has_locks && i % 2)
				sketch_hold(&sketch, 0, "n", 2, at_ms + 0.0005, at_ms + 0.005 + ms);
			sketch_sleep(&sketch, 0, "nap", at_ms + 0.001, at_ms + 0.001 + ms);
			if (rows[_i].has_places)
				sketch.rec.extras[sketch.rec.op_count - 1].stack = (uint32_t)i;
			at_ms += 0.001 + ms + (time < rows[_i].pausing ? 5 : rows[_i].gap_ms);
		}
		sketch_io(&sketch, 0, "write", "file out", 9, at_ms, at_ms + 3);
		at_ms += 3;
	}
	sketch_end(&sketch);
	timeline_build(&timeline, &sketch.rec);
	flows_build(&flows, &sketch.rec);
	looks_build(&looks, &sketch.rec, &sketch.classes, &timeline, &flows);
	flows_free(&flows);
	ck_assert_uint_eq(looks.count, rows[_i].is_found ? TIMES : 0);
	for (size_t i = 0; i < looks.count; i++) {
		ck_assert_int_eq(looks.rows[i].sort, LOOK_KEPT);
		ck_assert_uint_eq(looks.rows[i].count, i % NAPS_MAX + 1);
		naps -= looks.rows[i].count;
	}
	ck_assert_uint_eq(naps == 0, rows[_i].is_found);
	looks_free(&looks);
	timeline_free(&timeline);
	sketch_free(&sketch);
}
END_TEST

static void try_in_vain(struct sketch *sketch, const char *lock, double at_ms)
{
	uint32_t wait = sketch_wait(sketch, 0, REASON_MUTEX, lock, at_ms, at_ms, NO_INDEX);
	sketch->rec.waits[wait].timed_out = true;
	sketch->rec.waits[wait].name = sketch_string(sketch, "pthread_mutex_trylock");
}

/* The locks that it tries, and of how many naps the row is. The replay knows tries of one lock. */
static const struct {
	const char *locks[4];
	uint32_t count;
} tried[] = {
	/* 0 */ { { "A", "B", "A" }, 3 },
	/* 1 */ { { "A", "B" }, 2 },
	/* 2 */ { { "A", "A", "A" }, 0 },
	/* 3 */ { { "A" }, 0 },
};

START_TEST(tries_of_several_locks_are_for_whichever_is_free)
{
	struct sketch sketch;
	struct looks looks;
	struct flows flows;
	struct timeline timeline;
	double at_ms = 1;
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 50);
	sketch_sleep(&sketch, 0, "work", 0, 1);
	for (int i = 0; tried[_i].locks[i]; i++, at_ms += 2) {
		try_in_vain(&sketch, tried[_i].locks[i], at_ms);
		sketch_sleep(&sketch, 0, "nap", at_ms, at_ms + 2);
	}
	sketch_hold(&sketch, 0, "B", NO_INDEX, at_ms, at_ms + 5);
	sketch_sleep(&sketch, 0, "nap", at_ms + 5, at_ms + 7);
	sketch_end(&sketch);
	timeline_build(&timeline, &sketch.rec);
	flows_build(&flows, &sketch.rec);
	looks_build(&looks, &sketch.rec, &sketch.classes, &timeline, &flows);
	flows_free(&flows);
	ck_assert_uint_eq(looks.count, tried[_i].count > 0);
	for (size_t i = 0; i < looks.count; i++) {
		ck_assert_int_eq(looks.rows[i].sort, LOOK_KEPT);
		ck_assert_uint_eq(looks.rows[i].count, tried[_i].count);
	}
	looks_free(&looks);
	timeline_free(&timeline);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(tries_of_several_locks_are_for_whichever_is_free, tried);
	EACH(naps_that_grow_are_no_work, rows);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if sleeps for a limit of a rate pass for work that may be less, or work for such sleeps.
 */
#include "infer/rates.h"

#include "sketch.h"
#include "suite.h"

enum { THREADS = 3, CALLS = 40, DISTANCE_MS = 5 };

enum sort {
	HAS_LIMIT,
	HAS_GAPS,    /* in half of the time nobody waits for the limit */
	HAS_NONE,    /* each sleeps as long as its work takes */
	IS_CONSTANT, /* threads sleep side by side, for the same */
	IS_FROM_NOW, /* so do they until so long from now, which is never quite the same */
	IS_SCHEDULE, /* a thread has a beat of its own */
	IS_SELDOM,   /* too few sleeps to tell */
};

static const struct {
	enum sort sort;
	double span_ms; /* 0 = none is found */
} rows[] = {
	/* 0 */ { HAS_LIMIT, DISTANCE_MS *(CALLS - 1) },
	/* 1 */ { HAS_GAPS, DISTANCE_MS *(CALLS / 2) },
	/* 2 */ { HAS_NONE, 0 },
	/* 3 */ { IS_CONSTANT, 0 },
	/* 4 */ { IS_FROM_NOW, 0 },
	/* 5 */ { IS_SCHEDULE, 0 },
	/* 6 */ { IS_SELDOM, 0 },
};

/* When the thread comes for a call: before that is due, by a time that is never the same. */
static double early_ms(int call)
{
	return 0.3 + 0.7 * (call * 7 % 11) + 0.0013 * call;
}

static void sleeps(struct sketch *sketch, uint32_t thread, double from_ms, double until_ms)
{
	uint32_t op = sketch_op(sketch, KIND_SLEEP, "limit", thread, from_ms, until_ms + 0.06);

	sketch->rec.extras[op].amount = (uint64_t)((until_ms - from_ms) * 1e6);
}

static void call(struct sketch *sketch, enum sort sort, int number)
{
	double due_ms = 20 + DISTANCE_MS * number;
	uint32_t thread = (uint32_t)(number * number / 3 % 7 % THREADS); /* in no order */

	if (sort == HAS_GAPS && number >= CALLS / 2)
		due_ms += 3 * DISTANCE_MS * (number - CALLS / 2);
	if (sort == HAS_NONE)
		due_ms += 0.37 * (number * 5 % 13);
	if (sort == IS_FROM_NOW)
		due_ms += 0.01 * (number * 5 % 13);
	bool is_together = sort == IS_CONSTANT || sort == IS_FROM_NOW;
	double late_ms = sort == IS_FROM_NOW ? 0.0001 * early_ms(number) : 0;

	for (uint32_t i = 0; is_together && i < THREADS; i++)
		sleeps(sketch, i, due_ms - DISTANCE_MS + 0.1 + late_ms * (i + 1), due_ms);
	if (!is_together)
		sleeps(sketch, sort == IS_SCHEDULE ? 0 : thread, due_ms - early_ms(number) / 2,
		       due_ms);
}

START_TEST(a_limit_lets_go_on_at_even_distances)
{
	struct sketch sketch;
	struct rate rate;
	int calls = rows[_i].sort == IS_SELDOM ? CALLS / 4 : CALLS;

	sketch_begin(&sketch);
	for (int i = 0; i < THREADS; i++)
		sketch_thread(&sketch, "worker", 0, 1000);
	for (int i = 0; i < calls; i++)
		call(&sketch, rows[_i].sort, i);
	sketch_end(&sketch);
	ck_assert(rates_find(&rate, &sketch.rec, &sketch.classes) == (rows[_i].span_ms > 0));
	ck_assert_double_eq_tol((double)rate.span_ns / 1e6, rows[_i].span_ms, 1);
	if (rows[_i].span_ms > 0)
		ck_assert_double_eq_tol((double)rate.distance_ns / 1e6, DISTANCE_MS, 0.1);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(a_limit_lets_go_on_at_even_distances, rows);
}

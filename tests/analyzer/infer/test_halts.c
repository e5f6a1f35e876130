/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a thread that stops others is not found, or one that others need is taken for one. */
#include "infer/halts.h"

#include "halting.h"
#include "monitored.h"
#include "suite.h"

/* The difference from a thread that halts two others twice. */
enum difference {
	IS_PLAIN,
	WAITS_EARLIER,  /* while the thread sleeps */
	HAS_ASKED,      /* a thread that waits has woken it */
	WAITS_ITSELF,   /* the thread, for the others */
	IS_ALONE,       /* only one signal ends a wait */
	IS_LIKELY,      /* the thread works for most of the time */
	IS_TOLD_BY_ONE, /* each signal lets one go on */
	OPENS_FOR_ONE,  /* another thread opens it, too, for what one waits for */
	IS_ONCE,        /* only one signal ends a wait, and the run is long */
	STARTS_ONCE,    /* the same, and the threads that wait had just begun */
	WAKES_ONCE,     /* the same, and the thread had just woken them */
};

static const struct {
	enum difference difference;
	size_t count;
} rows[] = {
	/* 0 */ { IS_PLAIN, 2 },
	/* 1 */ { WAITS_EARLIER, 0 },
	/* 2 */ { HAS_ASKED, 0 },
	/* 3 */ { WAITS_ITSELF, 0 },
	/* 4 */ { IS_ALONE, 0 },
	/* 5 */ { IS_LIKELY, 0 },
	/* 6 */ { IS_TOLD_BY_ONE, 0 },
	/* 7 */ { OPENS_FOR_ONE, 0 },
	/* 8 */ { IS_ONCE, 1 },
	/* 9 */ { STARTS_ONCE, 0 },
	/* 10 */ { WAKES_ONCE, 0 },
};

static bool is_once(enum difference difference)
{
	return difference == IS_ALONE || difference >= IS_ONCE;
}

static void waits_twice(struct sketch *sketch, uint32_t thread, enum difference difference)
{
	if (difference == WAKES_ONCE)
		sketch_wait(sketch, thread, REASON_FUTEX, "work", 1, 20.08, NO_INDEX);
	halting_wait(sketch, thread, difference == WAITS_EARLIER ? 19.9 : 20.1, 20.45);
	if (!is_once(difference))
		halting_wait(sketch, thread, 45.1, 45.45);
}

static void differ(struct sketch *sketch, enum difference difference)
{
	struct recording *rec = &sketch->rec;

	if (difference == OPENS_FOR_ONE) {
		halting_wait(sketch, 2, 50, 50.45);
		sketch_link(sketch, 0, LINK_WAKE, "gate", 50.4, 1, NO_INDEX);
	}
	for (size_t i = 0; i < rec->link_count; i++)
		rec->links[i].all = difference != IS_TOLD_BY_ONE;
	if (difference == HAS_ASKED) {
		rec->waits[0].timed_out = false;
		sketch_link(sketch, 2, LINK_WAKE, "timer", 19.99, 1, NO_INDEX);
	}
	if (difference == WAKES_ONCE)
		sketch_link(sketch, 1, LINK_WAKE, "work", 20.05, 2, NO_INDEX);
	if (difference == WAITS_ITSELF)
		halting_wait(sketch, 1, 50, 51);
	if (difference == IS_LIKELY)
		for (size_t i = 0; i < 2; i++)
			rec->waits[i].end_ns = rec->waits[i].start_ns + SKETCH_MS;
}

START_TEST(a_halt_is_found)
{
	struct monitored monitored;
	struct meetings meetings;
	struct halts halts;
	struct sketch *sketch = &monitored.sketch;
	double end_ms = rows[_i].difference >= IS_ONCE ? 620 : 62;

	sketch_begin(sketch);
	sketch_thread(sketch, "main", 0, end_ms);
	halting_thread(sketch, end_ms);
	for (uint32_t i = 2; i <= 3; i++) {
		sketch_thread(sketch, "halted", rows[_i].difference == STARTS_ONCE ? 20.05 : 0,
			      end_ms);
		waits_twice(sketch, i, rows[_i].difference);
	}
	differ(sketch, rows[_i].difference);
	monitored_build(&monitored);
	meetings_build(&meetings, &sketch->rec, &monitored.timeline, &monitored.monitors);
	halts_build(&halts, &sketch->rec, &monitored.timeline, &monitored.monitors, &meetings);
	ck_assert_uint_eq(halts.count, rows[_i].count);
	for (size_t i = 0; i < halts.count; i++) {
		const struct halt *halt = &halts.halts[i];

		ck_assert_uint_eq(halt->thread, 1);
		ck_assert_uint_eq(halt->begin_ns,
				  (i ? HALTING_SECOND_MS : HALTING_FIRST_MS) * SKETCH_MS);
		ck_assert_uint_eq(halts.of_link[halt->link], i);
		ck_assert_uint_eq(halt->count, 2);
		ck_assert_uint_eq(halts.halted[halt->first].latency_ns, SKETCH_MS / 20);
	}
	for (size_t i = 0; i < sketch->rec.wait_count; i++)
		ck_assert(halts.is_halted[i] == (halts.count && sketch->rec.waits[i].thread > 1));
	halts_free(&halts);
	meetings_free(&meetings);
	monitored_free(&monitored);
}
END_TEST

SUITE()
{
	LOOP(a_halt_is_found, 0, sizeof(rows) / sizeof(rows[0]));
}

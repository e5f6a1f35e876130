/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread makes items, another takes what is there when that is a lot, or after a time.
 *
 * Items of the second half are put every `make_ms`, those of the first half four times as often.
 * There is a signal if a lot is there then. After a take of any the taker needs 4 ms
 * ("fixed"), and 0.2 ms for each ("item"). Or it needs 1 ms after the first takes, and 25 later,
 * however many it got. In the end it is told so, and its end is waited for.
 */
#ifndef WCPROF_TESTS_LOTS_H
#define WCPROF_TESTS_LOTS_H

#include "sketch.h"

enum { LOTS_TAKER, LOTS_PUTTER, LOTS_ITEMS = 60 };

struct lots {
	double make_ms;
	double timeout_ms;
	int least;        /* a lot */
	bool is_uneven;   /* later ones take longer */
	bool *is_awaited; /* by item, the last one is the end: the taker waits then */
	int *left;        /* by item: which is the first that is there with it */
};

/* How long an item is made. */
static inline double lots_make_ms(const struct lots *lots, int item)
{
	return item < LOTS_ITEMS / 2 ? lots->make_ms / 4 : lots->make_ms;
}

/* When it is put, or the end is told. */
static inline double lots_put_ms(const struct lots *lots, int item)
{
	double ms = item == LOTS_ITEMS ? 0.1 : 0;

	for (int i = 0; i <= item && i < LOTS_ITEMS; i++)
		ms += lots_make_ms(lots, i);
	return ms;
}

/* From when the taker comes until it has what it waits for. */
static inline double lots_wait(struct sketch *sketch, const struct lots *lots, double at_ms,
			       int taken)
{
	int last = taken + lots->least - 1;
	double enough_ms = lots_put_ms(lots, last < LOTS_ITEMS ? last : LOTS_ITEMS);
	bool is_late = enough_ms > at_ms + lots->timeout_ms;
	double until_ms = is_late ? at_ms + lots->timeout_ms : enough_ms;

	sketch_hold(sketch, LOTS_TAKER, "M", 2, at_ms, at_ms + 0.01);
	if (enough_ms <= at_ms)
		return at_ms + 0.01;
	uint32_t wait = sketch_wait(sketch, LOTS_TAKER, REASON_COND, "C", at_ms + 0.01,
				    until_ms + 0.02, NO_INDEX);
	sketch->rec.waits[wait].timed_out = is_late;
	sketch->rec.waits[wait].asked_ns =
		is_late ? (uint64_t)((lots->timeout_ms - 0.01) * 1e6) : 0;
	sketch->rec.waits[wait].stack = 2;
	if (!is_late)
		lots->is_awaited[last < LOTS_ITEMS ? last : LOTS_ITEMS] = true;
	sketch_hold(sketch, LOTS_TAKER, "M", 3, until_ms + 0.02, until_ms + 0.03);
	return until_ms + 0.03;
}

static inline void lots_put(struct sketch *sketch, const struct lots *lots)
{
	for (int i = 0; i <= LOTS_ITEMS; i++) {
		bool closes = i == LOTS_ITEMS;
		double at_ms = lots_put_ms(lots, i);

		if (!closes)
			sketch_sleep(sketch, LOTS_PUTTER, "make",
				     at_ms - lots_make_ms(lots, i) + (i ? 0.01 : 0), at_ms);
		sketch_hold(sketch, LOTS_PUTTER, "M", closes ? 4 : 1, at_ms, at_ms + 0.01);
		if (closes || i - lots->left[i] + 1 >= lots->least)
			sketch_link(sketch, LOTS_PUTTER, LINK_WAKE, "C", at_ms + 0.005,
				    lots->is_awaited[i], NO_INDEX);
	}
}

/* Begins and ends the sketch; returns how long all takes. */
static inline double lots_sketch(struct sketch *sketch, double make_ms, int least,
				 double timeout_ms, bool is_uneven)
{
	bool is_awaited[LOTS_ITEMS + 1] = { false };
	int left[LOTS_ITEMS + 1] = { 0 }, taken = 0, takes = 0;
	struct lots lots = { make_ms, timeout_ms, least, is_uneven, is_awaited, left };
	double end_ms = lots_put_ms(&lots, LOTS_ITEMS), at_ms = 0, came_ms = 0;

	sketch_begin(sketch);
	sketch_thread(sketch, "taker", 0, 1000);
	sketch_thread(sketch, "putter", 0, end_ms + 0.01);
	sketch_link(sketch, LOTS_TAKER, LINK_SPAWN, "", 0, 0, sketch->rec.threads[LOTS_PUTTER].op);
	while (taken < LOTS_ITEMS || came_ms < end_ms) {
		int there = taken;

		came_ms = at_ms = lots_wait(sketch, &lots, at_ms, taken);
		while (there < LOTS_ITEMS && lots_put_ms(&lots, there) + 0.01 <= at_ms)
			there++;
		for (int i = there; i <= LOTS_ITEMS; i++)
			left[i] = there;
		if (there > taken) {
			double fixed_ms = !is_uneven ? 4 : takes++ < 4 ? 1 : 25;
			double item_ms = is_uneven ? 0 : 0.2 * (there - taken);

			sketch_sleep(sketch, LOTS_TAKER, "fixed", at_ms, at_ms + fixed_ms);
			at_ms += fixed_ms;
			sketch_sleep(sketch, LOTS_TAKER, "item", at_ms, at_ms + item_ms);
			at_ms += item_ms;
		}
		taken = there;
	}
	lots_put(sketch, &lots);
	sketch_wait(sketch, LOTS_PUTTER, REASON_JOIN, "", end_ms + 0.02, at_ms,
		    sketch->rec.threads[LOTS_TAKER].op);
	sketch->rec.ops[sketch->rec.threads[LOTS_PUTTER].op].end_ns = (uint64_t)(at_ms * 1e6);
	sketch->rec.ops[sketch->rec.threads[LOTS_TAKER].op].end_ns = (uint64_t)(at_ms * 1e6);
	sketch->rec.ops[sketch->rec.processes[0].op].end_ns = (uint64_t)(at_ms * 1e6);
	sketch_end(sketch);
	return at_ms;
}

#endif

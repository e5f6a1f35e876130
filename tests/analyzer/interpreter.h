/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sketch of an interpreter with one lock for all that its threads run. It is handed over on
 * request.
 *
 * Rounds of 13 ms: the main thread sleeps for 7 ms without the lock, and wants it. The other thread
 * runs, and gives it up after 5 ms. Main runs for 1 ms, and gives it back.
 */
#ifndef WCPROF_TESTS_INTERPRETER_H
#define WCPROF_TESTS_INTERPRETER_H

#include "sketch.h"

enum { INTERPRETER_ROUNDS = 10, SITE_TAKE = 1, SITE_DROP, SITE_SWITCH };

struct interpreter {
	bool has_switch; /* a thread that was asked waits until the other one has the lock */
	bool is_patient; /* a wait for the lock has no timeout */
	bool works;      /* it does something without the lock when it was asked */
	bool is_late;    /* it hands over what it is done with, whenever that is */
	bool is_flag;    /* the other thread lets main go, and never takes the lock */
};

static inline uint32_t interpreter_waits(struct sketch *sketch, uint32_t thread, double from_ms,
					 double to_ms)
{
	return sketch_wait(sketch, thread, REASON_COND, "free", from_ms, to_ms, NO_INDEX);
}

static inline void interpreter_drops(struct sketch *sketch, uint32_t thread, double at_ms)
{
	sketch_hold(sketch, thread, "mutex", SITE_DROP, at_ms, at_ms + 0.01);
	sketch_link(sketch, thread, LINK_WAKE, "free", at_ms + 0.005, 1, NO_INDEX);
}

/* Main, from when it wants the lock until it has it. */
static inline void interpreter_asks(struct sketch *sketch, const struct interpreter *of, double t)
{
	double asks_ms = t + (of->is_late ? 9.01 : 12.01);

	sketch_hold(sketch, 0, "mutex", SITE_TAKE, t + 7, t + 7.01);
	if (!of->is_patient) {
		uint32_t wait = interpreter_waits(sketch, 0, t + 7.01, asks_ms);

		sketch->rec.waits[wait].timed_out = true;
		sketch_hold(sketch, 0, "mutex", SITE_TAKE, asks_ms, asks_ms + 0.01);
	}
	interpreter_waits(sketch, 0, of->is_patient ? t + 7.01 : asks_ms + 0.01, t + 12.05);
	sketch_hold(sketch, 0, "mutex", SITE_TAKE, t + 12.05, t + 12.06);
	if (of->has_switch)
		sketch_link(sketch, 0, LINK_WAKE, "taken", t + 12.055, 1, NO_INDEX);
}

/* The other thread, from when it was asked until it has the lock again. */
static inline void interpreter_yields(struct sketch *sketch, const struct interpreter *of, double t)
{
	interpreter_drops(sketch, 1, t + 12.03);
	if (of->has_switch) {
		sketch_hold(sketch, 1, "switch", SITE_SWITCH, t + 12.041, t + 12.042);
		sketch_wait(sketch, 1, REASON_COND, "taken", t + 12.042, t + 12.057, NO_INDEX);
		sketch_hold(sketch, 1, "switch", SITE_SWITCH, t + 12.057, t + 12.058);
	}
	if (of->works)
		sketch_sleep(sketch, 1, "work", t + 12.06, t + 12.065);
	if (of->is_flag)
		return;
	sketch_hold(sketch, 1, "mutex", SITE_TAKE, t + 12.07, t + 12.08);
	interpreter_waits(sketch, 1, t + 12.08, t + 13.03);
	sketch_hold(sketch, 1, "mutex", SITE_TAKE, t + 13.03, t + 13.04);
}

static inline void interpreter_sketch(struct sketch *sketch, const struct interpreter *of)
{
	double end_ms = 13 * INTERPRETER_ROUNDS + 0.04;

	sketch_begin(sketch);
	sketch_thread(sketch, "main", 0, end_ms);
	sketch_thread(sketch, "other", 0.01, end_ms);
	sketch_link(sketch, 0, LINK_SPAWN, "", 0.01, 0, sketch->rec.threads[1].op);
	sketch->rec.extras[sketch->rec.threads[1].op].open = true;
	if (!of->is_flag)
		sketch_hold(sketch, 1, "mutex", SITE_TAKE, 0.02, 0.03);
	for (int i = 0; i < INTERPRETER_ROUNDS; i++) {
		double t = 13 * i;

		sketch_sleep(sketch, 0, "nap", t + 0.05, t + 7);
		interpreter_asks(sketch, of, t);
		interpreter_yields(sketch, of, t);
		if (!of->is_flag)
			interpreter_drops(sketch, 0, t + 13.01);
	}
}

#endif

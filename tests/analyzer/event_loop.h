/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that polls two connections and answers at once, and two that ask it after some work.
 *
 * In the program the two askers have nothing to do with each other. One does something else at its
 * end. So main, which waits for all, ends with the slower one.
 */
#ifndef WCPROF_TESTS_EVENT_LOOP_H
#define WCPROF_TESTS_EVENT_LOOP_H

#include "sketch.h"

struct event_loop {
	int rounds;  /* of each */
	double a_ms; /* work before each question */
	double b_ms;
	double end_ms; /* of the first one, at its end */
	/* after each answer the loop polls once more, for so long, and reads from outside */
	double stranger_ms;
	bool ticks; /* a poll finds nothing before the one that does, if there is time */
};

enum { EVENT_LOOP_THREAD = 1 };

/* The next poll begins at the returned time. */
static inline double event_loop_tick(struct sketch *sketch, double from_ms, double at_ms)
{
	double to_ms = at_ms - 0.5;

	if (to_ms - from_ms < 1)
		return from_ms;
	uint32_t poll =
		sketch_op(sketch, KIND_POLL, "epoll_wait", EVENT_LOOP_THREAD, from_ms, to_ms);
	sketch->rec.extras[poll].fd = -1;
	return to_ms;
}

static inline void event_loop_answer(struct sketch *sketch, double from_ms, double at_ms, bool is_a)
{
	uint32_t thread = is_a ? 2 : 3;
	uint32_t poll =
		sketch_op(sketch, KIND_POLL, "epoll_wait", EVENT_LOOP_THREAD, from_ms, at_ms);

	sketch->rec.extras[poll].amount = 1;
	sketch->rec.extras[poll].fd = -1;
	sketch_io(sketch, EVENT_LOOP_THREAD, "read", is_a ? "tcp l>a" : "tcp l>b", 1, at_ms, at_ms);
	sketch_io(sketch, EVENT_LOOP_THREAD, "write", is_a ? "tcp l>a" : "tcp l>b", 1, at_ms,
		  at_ms);
	sketch_io(sketch, thread, "write", is_a ? "tcp a>l" : "tcp b>l", 1, at_ms, at_ms);
	sketch_io(sketch, thread, "recv", is_a ? "tcp a>l" : "tcp b>l", 1, at_ms, at_ms);
}

/* The loop goes on at the returned time. */
static inline double event_loop_meets_stranger(struct sketch *sketch, const struct event_loop *of,
					       double at_ms)
{
	if (!(of->stranger_ms > 0))
		return at_ms;
	double to_ms = at_ms + of->stranger_ms;
	uint32_t poll = sketch_op(sketch, KIND_POLL, "epoll_wait", EVENT_LOOP_THREAD, at_ms, to_ms);

	sketch->rec.extras[poll].amount = 1;
	sketch->rec.extras[poll].fd = -1;
	sketch_io(sketch, EVENT_LOOP_THREAD, "read", "tcp l>x", 1, to_ms, to_ms);
	return to_ms;
}

/* Lengths must be such that the two never ask at the same time. */
static inline void event_loop_sketch(struct sketch *sketch, const struct event_loop *of)
{
	double a_end_ms = of->rounds * of->a_ms, b_end_ms = of->rounds * of->b_ms;
	double loop_end_ms = (a_end_ms > b_end_ms ? a_end_ms : b_end_ms) + of->stranger_ms;
	double ends_ms[] = { loop_end_ms, a_end_ms + of->end_ms, b_end_ms };
	double end_ms = loop_end_ms > ends_ms[1] ? loop_end_ms : ends_ms[1], joined_ms = 0;

	sketch_begin(sketch);
	sketch_thread(sketch, "main", 0, end_ms);
	for (uint32_t i = 0; i < 3; i++) {
		static const char *const names[] = { "loop", "ask_a", "ask_b" };

		sketch_thread(sketch, names[i], 0, ends_ms[i]);
		sketch_link(sketch, 0, LINK_SPAWN, "", 0, 0, sketch->rec.threads[i + 1].op);
	}
	for (uint32_t i = 0; i < 3; i++) {
		double to_ms = ends_ms[i] > joined_ms ? ends_ms[i] : joined_ms;

		sketch_wait(sketch, 0, REASON_JOIN, "", joined_ms, to_ms,
			    sketch->rec.threads[i + 1].op);
		joined_ms = to_ms;
	}
	double last_ms = 0;
	for (int a = 0, b = 0; a < of->rounds || b < of->rounds;) {
		bool is_a = b == of->rounds ||
			    (a < of->rounds && (a + 1) * of->a_ms < (b + 1) * of->b_ms);
		double at_ms = is_a ? ++a * of->a_ms : ++b * of->b_ms;

		sketch_sleep(sketch, is_a ? 2 : 3, is_a ? "work_a" : "work_b",
			     at_ms - (is_a ? of->a_ms : of->b_ms), at_ms);
		if (of->ticks)
			last_ms = event_loop_tick(sketch, last_ms, at_ms);
		event_loop_answer(sketch, last_ms, at_ms, is_a);
		last_ms = event_loop_meets_stranger(sketch, of, at_ms);
	}
	if (of->end_ms > 0)
		sketch_sleep(sketch, 2, "work_t", a_end_ms, a_end_ms + of->end_ms);
	sketch_end(sketch);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loop that hands what two clients ask for to two workers, and answers when they call it.
 *
 * In each round a asks, then b. The one worker has done a's job before the other one has done b's.
 * Apart from that the two clients have nothing to do with each other, and b does something else at
 * its end.
 */
#ifndef WCPROF_TESTS_BELL_H
#define WCPROF_TESTS_BELL_H

#include "sketch.h"

enum { BELL_LOOP = 1, BELL_WORKER, BELL_CLIENT = BELL_WORKER + 2, BELL_THREADS = BELL_CLIENT + 2 };
enum { BELL_ROUNDS = 10, BELL_ROUND_MS = 20, BELL_LAST_MS = 80 };

struct bell {
	bool by_pipe;   /* jobs are messages; else a semaphore counts them */
	bool is_shared; /* both are done at the same time, and one rings for both, but at the end */
	bool is_swapped; /* a gets its answer when b's job is done, and b when a's is */
};

static inline void bell_poll(struct sketch *sketch, double from_ms, double at_ms)
{
	uint32_t poll = sketch_op(sketch, KIND_POLL, "epoll_wait", BELL_LOOP, from_ms, at_ms);

	sketch->rec.extras[poll].amount = 1;
	sketch->rec.extras[poll].fd = -1;
}

/* The client has asked, and its worker waited for that from then on. */
static inline void bell_asks(struct sketch *sketch, const struct bell *of, bool is_a,
			     double from_ms, double at_ms)
{
	uint32_t worker = is_a ? BELL_WORKER : BELL_WORKER + 1;

	sketch_io(sketch, is_a ? BELL_CLIENT : BELL_CLIENT + 1, "write",
		  is_a ? "tcp a>l" : "tcp b>l", 1, at_ms, at_ms);
	sketch_io(sketch, BELL_LOOP, "read", is_a ? "tcp l>a" : "tcp l>b", 1, at_ms, at_ms);
	if (of->by_pipe) {
		sketch_io(sketch, BELL_LOOP, "write", "pipe:[9]", 8, at_ms, at_ms);
		sketch_io(sketch, worker, "read", "pipe:[9]", 8, from_ms, at_ms);
	} else {
		sketch_link(sketch, BELL_LOOP, LINK_POST, "S", at_ms, 0, NO_INDEX);
		sketch_wait(sketch, worker, REASON_SEM, "S", from_ms, at_ms, NO_INDEX);
	}
}

static inline void bell_rings(struct sketch *sketch, bool by_a, bool by_b, double at_ms)
{
	if (by_a)
		sketch_io(sketch, BELL_WORKER, "write", "eventfd:[7]", 1, at_ms, at_ms);
	if (by_b)
		sketch_io(sketch, BELL_WORKER + 1, "write", "eventfd:[7]", 1, at_ms, at_ms);
	sketch_io(sketch, BELL_LOOP, "read", "eventfd:[7]", (uint64_t)by_a + by_b, at_ms, at_ms);
}

/* The client has waited since it asked. */
static inline void bell_answers(struct sketch *sketch, bool is_a, double asked_ms, double at_ms)
{
	sketch_io(sketch, BELL_LOOP, "write", is_a ? "tcp l>a" : "tcp l>b", 1, at_ms, at_ms);
	sketch_io(sketch, is_a ? BELL_CLIENT : BELL_CLIENT + 1, "recv",
		  is_a ? "tcp a>l" : "tcp b>l", 1, asked_ms, at_ms);
}

/* When b has its answer, in each round. */
static inline double bell_answered_ms(const struct bell *of)
{
	return of->is_shared ? 8.05 : 11;
}

static inline void bell_round(struct sketch *sketch, const struct bell *of, int round)
{
	double ms = BELL_ROUND_MS * round, before_ms = ms - BELL_ROUND_MS;
	double b_done_ms = of->is_shared ? 8 : 11;
	double b_answered_ms = bell_answered_ms(of);
	double a_from_ms = round ? before_ms + 8 : 0;
	double b_from_ms = round ? before_ms + b_answered_ms : 0;

	sketch_sleep(sketch, BELL_CLIENT, "think", a_from_ms, ms + 2);
	sketch_sleep(sketch, BELL_CLIENT + 1, "think", b_from_ms, ms + 3);
	bell_poll(sketch, b_from_ms + 0.01, ms + 2);
	bell_asks(sketch, of, true, a_from_ms, ms + 2);
	bell_poll(sketch, ms + 2, ms + 3);
	bell_asks(sketch, of, false, round ? before_ms + b_done_ms : 0, ms + 3);
	sketch_sleep(sketch, BELL_WORKER, "work_a", ms + 2, ms + 8);
	sketch_sleep(sketch, BELL_WORKER + 1, "work_b", ms + 3, ms + b_done_ms);
	bell_poll(sketch, ms + 3, ms + 8);
	bool by_both = of->is_shared && round + 1 == BELL_ROUNDS;
	bell_rings(sketch, by_both || !of->is_shared || round % 2 == 0,
		   by_both || (of->is_shared && round % 2), ms + 8);
	bell_answers(sketch, !of->is_swapped, of->is_swapped ? ms + 3 : ms + 2, ms + 8);
	if (!of->is_shared) {
		bell_poll(sketch, ms + 8, ms + 11);
		bell_rings(sketch, false, true, ms + 11);
	}
	bell_answers(sketch, of->is_swapped, of->is_swapped ? ms + 2 : ms + 3, ms + b_answered_ms);
}

/* The threads, which end at these times. Main joins those from `joined` on, one after the other. */
static inline void bell_threads(struct sketch *sketch, const double ends_ms[BELL_THREADS],
				uint32_t joined)
{
	static const char *const names[] = { "main", "loop", "worker", "worker", "a", "b" };

	for (uint32_t i = 0; i < BELL_THREADS; i++)
		sketch_thread(sketch, names[i], 0, ends_ms[i]);
	for (uint32_t i = 1; i < BELL_THREADS; i++)
		sketch_link(sketch, 0, LINK_SPAWN, "", 0, 0, sketch->rec.threads[i].op);
	for (uint32_t i = joined; i < BELL_THREADS; i++)
		sketch_wait(sketch, 0, REASON_JOIN, "", i == joined ? 0 : ends_ms[i - 1],
			    ends_ms[i], sketch->rec.threads[i].op);
}

static inline void bell_sketch(struct sketch *sketch, const struct bell *of)
{
	double end_ms = BELL_ROUND_MS * BELL_ROUNDS, last_ms = end_ms + BELL_LAST_MS;
	double loop_ms = end_ms - BELL_ROUND_MS + bell_answered_ms(of);
	double ends_ms[] = { last_ms, loop_ms, end_ms, end_ms, end_ms, last_ms };

	sketch_begin(sketch);
	bell_threads(sketch, ends_ms, 1);
	for (int round = 0; round < BELL_ROUNDS; round++)
		bell_round(sketch, of, round);
	sketch_sleep(sketch, BELL_CLIENT + 1, "last", end_ms, last_ms);
	sketch_end(sketch);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, threads that stop together at a time would seem to stop as their work is done, or
 * the other way round.
 */
#include "infer/clockreads.h"

#include "sketch.h"
#include "suite.h"

enum { THREADS = 3 };

/* The begin is asked for by the main thread, at 7 ms; the workers' last two calls: */
struct row {
	double previous_ms[THREADS];
	double last_ms[THREADS];
	uint32_t others; /* calls of the main thread's before, from other places */
	uint32_t loops;
	uint32_t doubts;
};

static const struct row rows[] = {
	/* 300 ms later all are done: each turn is long, but three are so by chance in 1 of 10 */
	{ { 290, 300, 290 }, { 310, 320, 320 }, 0, THREADS, 0 },
	/* as long, but one of two calls fits in 1 of 7 */
	{ { 290, 300, 290 }, { 310, 320, 320 }, 1, 0, THREADS },
	/* one was done before that */
	{ { 290, 300, 270 }, { 310, 320, 305 }, 0, 0, 0 },
	/* one went on after it */
	{ { 290, 308, 280 }, { 310, 330, 330 }, 0, 0, 0 },
};

static void asks(struct sketch *sketch, uint32_t thread, uint32_t stack, double at_ms,
		 uint32_t count)
{
	uint32_t link = sketch_link(sketch, thread, LINK_CLOCK, "", at_ms, count, NO_INDEX);
	sketch->rec.links[link].stack = stack;
}

START_TEST(threads_end_by_one_clock)
{
	const struct row *row = &rows[_i];
	struct sketch sketch;
	struct clock_reads reads;
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 400);
	asks(&sketch, 0, 2, 7, 1);
	for (uint32_t i = 0; i < row->others; i++)
		asks(&sketch, 0, 3 + i, 5.5, 1);
	for (uint32_t i = 0; i < THREADS; i++) {
		uint32_t thread = sketch_thread(&sketch, "worker", 0, row->last_ms[i] + 0.1);
		double turn_ms = row->last_ms[i] - row->previous_ms[i];
		asks(&sketch, thread, 1, 13.3 + i * 5, 1);
		asks(&sketch, thread, 1, row->previous_ms[i], 9);
		asks(&sketch, thread, 1, row->last_ms[i], 10);
		sketch_sleep(&sketch, thread, "turn", row->previous_ms[i] + 1,
			     row->previous_ms[i] + turn_ms - 1);
	}
	sketch_end(&sketch);
	clock_reads_build(&reads, &sketch.rec, &sketch.classes);
	ck_assert_uint_eq(reads.place_count, THREADS + 1 + row->others);
	ck_assert_uint_eq(reads.loop_count, row->loops);
	ck_assert_uint_eq(reads.doubt_count, row->doubts);
	for (uint32_t i = 0; i < row->loops; i++) {
		ck_assert_uint_eq(reads.loops[i].length_ns, 300000000);
		ck_assert_uint_eq(sketch.rec.links[reads.loops[i].begins].at_ns, 7000000);
		ck_assert_uint_eq(reads.places[reads.loops[i].place].thread, i + 1);
	}
	clock_reads_free(&reads);
	sketch_free(&sketch);
}
END_TEST

/* A thread does something each 50 ms, for 300 ms. Its waits in between are over by the clock, but
 * for the last one. */
static const struct {
	bool is_told;  /* another thread ends the last wait, */
	bool is_woken; /* and each one before */
	uint32_t loops;
} tellings[] = { { false, false, 1 }, { true, false, 0 }, { true, true, 1 } };

START_TEST(a_thread_that_is_told_to_end_does_not_end_by_the_clock)
{
	struct sketch sketch;
	struct clock_reads reads;
	sketch_begin(&sketch);
	sketch_thread(&sketch, "periodic", 0, 301);
	asks(&sketch, 0, 1, 0.5, 1);
	for (int i = 0; i < 6; i++) {
		bool is_last = i == 5;
		double to_ms = is_last ? 300.4 : 50 * i + 49;
		uint32_t wait = sketch_wait(&sketch, 0, REASON_COND, "c",
					    is_last ? 299 : 50 * i + 1, to_ms, NO_INDEX);
		sketch.rec.waits[wait].timed_out =
			!(is_last ? tellings[_i].is_told : tellings[_i].is_woken);
	}
	asks(&sketch, 0, 1, 298, 6);
	asks(&sketch, 0, 1, 300.5, 7);
	sketch_end(&sketch);
	clock_reads_build(&reads, &sketch.rec, &sketch.classes);
	ck_assert_uint_eq(reads.loop_count, tellings[_i].loops);
	clock_reads_free(&reads);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(a_thread_that_is_told_to_end_does_not_end_by_the_clock, tellings);
	EACH(threads_end_by_one_clock, rows);
}

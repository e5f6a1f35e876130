/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if a thread that waits with timeouts goes on after as many of them as it had, though
 * another thread ends its wait sooner.
 */
#include "script/script.h"

#include "replayed.h"
#include "sketch.h"
#include "suite.h"

enum { TIMEOUTS = 4 };

static void begin(struct sketch *sketch, double told_ms, double end_ms)
{
	sketch_begin(sketch);
	sketch_join_two(sketch, "worker", "keeper", told_ms, end_ms);
	sketch_io(sketch, 1, "work", "", 1, 0, told_ms);
}

/* The keeper waits 10 ms for a signal, and writes for 1 ms; until the worker's signal at 49 ms. */
static void sketch_signalled(struct sketch *sketch, bool knows_signal, bool tells_others)
{
	begin(sketch, 49, 51.1);
	for (int i = 0; i < TIMEOUTS; i++) {
		uint32_t wait =
			sketch_wait(sketch, 2, REASON_COND, "C", 11 * i, 11 * i + 10, NO_INDEX);

		sketch->rec.waits[wait].timed_out = true;
		sketch_io(sketch, 2, "write", "", 9, 11 * i + 10, 11 * i + 11);
		if (tells_others)
			sketch_link(sketch, 2, LINK_POST, "S", 11 * i + 11, 0, NO_INDEX);
	}
	if (knows_signal)
		sketch_link(sketch, 1, LINK_WAKE, "C", 49, 1, NO_INDEX);
	sketch_wait(sketch, 2, REASON_COND, "C", 44, 49.1, NO_INDEX);
	sketch_io(sketch, 2, "after", "", 9, 49.1, 51.1);
	sketch_end(sketch);
}

static const struct {
	bool knows_signal;
	bool tells_others; /* each round */
	double ms;         /* if the work takes half as long, 24.5 */
} rows[] = {
	/* 0: in the third wait */ { true, false, 26.6 },
	/* 1: nobody is seen to end it */ { false, false, 51.1 },
	/* 2: rounds that matter to others are not left out, but wait no longer */
	{ true, true, 28.6 },
};

START_TEST(a_signal_comes_before_a_timeout)
{
	struct sketch sketch;

	sketch_signalled(&sketch, rows[_i].knows_signal, rows[_i].tells_others);
	replayed_expect(&sketch, _i, NULL, 1, 51.1);
	replayed_expect(&sketch, _i, "work", 0.5, rows[_i].ms);
	sketch_free(&sketch);
}
END_TEST

/* The keeper waits 10 ms for a permit, and writes for 1 ms; until the worker's permit at 49 ms. A
 * runtime makes a semaphore for each wait, which its thread takes before and gives back. */
START_TEST(a_permit_comes_before_a_timeout)
{
	for (int is_made_anew = 0; is_made_anew < 2; is_made_anew++) {
		struct sketch sketch;

		begin(&sketch, 49, 51);
		for (int i = 0; i <= TIMEOUTS; i++) {
			const char *name[] = { "S", "T", "U", "V", "W" };
			const char *semaphore = name[is_made_anew ? i : 0];
			double end_ms = i < TIMEOUTS ? 11 * i + 10 : 49;

			if (is_made_anew)
				sketch.rec
					.waits[sketch_wait(&sketch, 2, REASON_SEM, semaphore,
							   11 * i, 11 * i, NO_INDEX)]
					.name = sketch_string(&sketch, "sem_trywait");
			uint32_t wait = sketch_wait(&sketch, 2, REASON_SEM, semaphore, 11 * i,
						    end_ms, NO_INDEX);
			sketch.rec.waits[wait].timed_out = i < TIMEOUTS;
			sketch.rec.waits[wait].stack = 1;
			if (is_made_anew)
				sketch_link(&sketch, 2, LINK_POST, semaphore, end_ms + 1, 0,
					    NO_INDEX);
			sketch_io(&sketch, 2, "write", "", 9, end_ms, end_ms + 1);
		}
		sketch_link(&sketch, 1, LINK_POST, is_made_anew ? "W" : "S", 49, 0, NO_INDEX);
		/* Its memory was another semaphore's. */
		if (is_made_anew)
			sketch_link(&sketch, 1, LINK_POST, "W", 1, 0, NO_INDEX);
		sketch_io(&sketch, 2, "after", "", 9, 50, 51);
		sketch_end(&sketch);
		replayed_expect(&sketch, is_made_anew, NULL, 1, 51);
		replayed_expect(&sketch, is_made_anew, "work", 0.5, 26.5);
		/* It writes from 10 to 30 ms, from 40 to 60, and once more. */
		replayed_expect(&sketch, is_made_anew, "write", 20, 81);
		sketch_free(&sketch);
	}
}
END_TEST

/* Whoever joins the keeper signals while it writes: it sees that when it has the lock again. */
START_TEST(who_is_told_while_it_does_not_wait_sees_it_later)
{
	struct sketch sketch;

	begin(&sketch, 43.5, 46);
	for (int i = 0; i < TIMEOUTS; i++) {
		uint32_t wait =
			sketch_wait(&sketch, 2, REASON_COND, "C", 11 * i, 11 * i + 10, NO_INDEX);

		sketch.rec.waits[wait].timed_out = true;
		sketch_io(&sketch, 2, "write", "", 9, 11 * i + 10, 11 * i + 11);
	}
	sketch_link(&sketch, 0, LINK_WAKE, "C", 43.6, 0, NO_INDEX);
	sketch_hold(&sketch, 2, "L", 0, 44, 44.5);
	sketch_io(&sketch, 2, "after", "", 9, 44.5, 46);
	sketch_end(&sketch);
	replayed_expect(&sketch, 0, NULL, 1, 46);
	/* The worker ends at 21.75 ms, and the second time the keeper writes at 22. */
	replayed_expect(&sketch, 0, "work", 0.5, 24);
	sketch_free(&sketch);
}
END_TEST

/* The timeouts pass as they did: an answer that depends on them is not sure. */
START_TEST(timeouts_that_matter_to_others_may_pass_all_the_same)
{
	struct sketch sketch;

	sketch_signalled(&sketch, true, true);
	const struct replay_answer kept =
		replayed_trial(&sketch, (struct trial){ .keeps_timeouts = true }, "work", 0.5);
	ck_assert_double_eq_tol(kept.makespan_ns / 1e6, 46, 0.01);
	sketch_free(&sketch);
}
END_TEST

/* The polls of the same thread: alone, with a timer, with a lock had between them, after one from
 * another place that nothing ever ends. */
enum polled { ALONE, WITH_A_TIMER, WITH_A_LOCK, AFTER_ANOTHER, POLLED };

/* The same by polls of a pipe, the last of which finds a byte; or by a timer that is polled too. */
static void sketch_polled(struct sketch *sketch, enum polled polled)
{
	bool has_timer = polled == WITH_A_TIMER;

	begin(sketch, 49, 51);
	for (int i = 0; i <= TIMEOUTS; i++) {
		bool is_last = i == TIMEOUTS;
		double end_ms = is_last ? 49 : 11 * i + 10;
		uint32_t poll = sketch_op(sketch, KIND_POLL, "poll", 2, 11 * i, end_ms);

		sketch->rec.ops[poll].outcome = OUTCOME_OK;
		sketch->rec.ops[poll].ident = sketch_string(sketch, is_last     ? "pipe:[1]"
								    : has_timer ? "timerfd"
										: "");
		sketch->rec.extras[poll].amount = is_last || has_timer;
		sketch->rec.extras[poll].fd = 3;
		sketch->rec.extras[poll].stack = 1 + (polled == AFTER_ANOTHER && i == 0);
		if (!is_last)
			sketch_io(sketch, 2, "log", "", 9, 11 * i + 10, 11 * i + 11);
		if (!is_last && polled == WITH_A_LOCK) {
			sketch_wait(sketch, 2, REASON_SEM, "L", 11 * i + 11, 11 * i + 11, NO_INDEX);
			sketch_link(sketch, 2, LINK_POST, "L", 11 * i + 11, 0, NO_INDEX);
		}
	}
	sketch_io(sketch, 1, "write", "pipe:[1]", 1, 49, 49);
	sketch_io(sketch, 2, "read", "pipe:[1]", 1, 49, 49);
	sketch_io(sketch, 2, "after", "", 9, 49, 51);
	sketch_end(sketch);
}

START_TEST(data_come_before_a_timeout)
{
	for (int polled = 0; polled < POLLED; polled++) {
		struct sketch sketch;

		sketch_polled(&sketch, (enum polled)polled);
		replayed_expect(&sketch, polled, NULL, 1, 51);
		replayed_expect(&sketch, polled, "work", 0.5, 26.5);
		replayed_expect(&sketch, polled, "work", 0, polled == AFTER_ANOTHER ? 13 : 2);
		sketch_free(&sketch);
	}
}
END_TEST

/* A poll finds a timer and data: it waited for the data, once. */
START_TEST(a_poll_that_found_more_than_a_timer_waits_for_that)
{
	struct sketch sketch;

	begin(&sketch, 10, 12);
	uint32_t poll = sketch_op(&sketch, KIND_POLL, "poll", 2, 0, 10.1);
	sketch.rec.ops[poll].outcome = OUTCOME_OK;
	sketch.rec.ops[poll].ident = sketch_string(&sketch, "timerfd");
	sketch.rec.extras[poll].amount = 2;
	sketch.rec.extras[poll].fd = 3;
	sketch_io(&sketch, 1, "write", "pipe:[1]", 1, 10, 10);
	sketch_io(&sketch, 2, "read", "pipe:[1]", 1, 10.1, 10.1);
	sketch_io(&sketch, 2, "after", "", 9, 10.1, 12);
	sketch_end(&sketch);
	replayed_expect(&sketch, 1, NULL, 1, 12);
	replayed_expect(&sketch, 2, "work", 0.5, 7);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(a_signal_comes_before_a_timeout, rows);
	TEST(a_permit_comes_before_a_timeout);
	TEST(who_is_told_while_it_does_not_wait_sees_it_later);
	TEST(timeouts_that_matter_to_others_may_pass_all_the_same);
	TEST(a_poll_that_found_more_than_a_timer_waits_for_that);
	TEST(data_come_before_a_timeout);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a sleep would be a wait that no change can shorten; or a wait for another thread
 * would be a sleep.
 */
#include "infer/timers.h"

#include "replayed.h"
#include "sketch.h"
#include "suite.h"

enum { NAPS = 5 };

static uint32_t add_wait(struct sketch *sketch, enum reason reason, double from_ms, double to_ms,
			 bool timed_out)
{
	uint32_t wait = sketch_wait(sketch, 0, reason, "C", from_ms, to_ms, NO_INDEX);
	sketch->rec.waits[wait].timed_out = timed_out;
	sketch->rec.waits[wait].name = sketch_string(sketch, "wait");
	return wait;
}

static size_t sleeps_of(const struct sketch *sketch)
{
	size_t count = 0;
	for (size_t i = 0; i < sketch->rec.op_count; i++)
		count += sketch->rec.ops[i].kind == KIND_SLEEP;
	return count;
}

static const struct {
	enum reason reason;
	/* of another wait for it, or for another object from there */
	enum {
		NEVER,
		ONCE,
		AT_ONCE,
		BEFORE_IT_WAS_MADE,
		FROM_THERE,
		FROM_ELSEWHERE,
		FOR_IT_FROM_ELSEWHERE,
		OF_ANOTHER_THREAD
	} success;
	bool is_sleep;
} rows[] = {
	/* 0 */ { REASON_COND, NEVER, true },
	/* 1 */ { REASON_SEM, NEVER, true },
	/* 2 */ { REASON_FUTEX, NEVER, true },
	/* 3: a mutex is given back one day */ { REASON_MUTEX, NEVER, false },
	/* 4 */ { REASON_COND, ONCE, false },
	/* 5: that was no wait */ { REASON_SEM, AT_ONCE, true },
	/* 6: memory is used again */ { REASON_SEM, BEFORE_IT_WAS_MADE, true },
	/* 7: each has an object of its own */ { REASON_SEM, FROM_THERE, false },
	/* 8 */ { REASON_SEM, FROM_ELSEWHERE, true },
	/* 9: a thread has one object for all its waits */
	{ REASON_COND, FOR_IT_FROM_ELSEWHERE, true },
	/* 10: others wait for it, too */ { REASON_COND, OF_ANOTHER_THREAD, false },
};

START_TEST(a_wait_that_only_the_clock_ends_is_a_sleep)
{
	struct sketch sketch;
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 60);
	sketch_thread(&sketch, "other", 0, 10);
	if (rows[_i].success != NEVER)
		add_wait(&sketch, rows[_i].reason, 0, rows[_i].success == AT_ONCE ? 0 : 5, false);
	if (rows[_i].success == BEFORE_IT_WAS_MADE)
		sketch_link(&sketch, 0, LINK_INIT, "C", 5, 0, NO_INDEX);
	if (rows[_i].success >= FROM_THERE) {
		sketch.rec.waits[0].address += rows[_i].success < FOR_IT_FROM_ELSEWHERE;
		sketch.rec.waits[0].stack = rows[_i].success == FROM_THERE ? 1 : 2;
		sketch.rec.waits[0].thread = rows[_i].success == OF_ANOTHER_THREAD;
	}
	for (int i = 0; i < NAPS; i++) {
		uint32_t wait = add_wait(&sketch, rows[_i].reason, 10 + 10 * i, 20 + 10 * i, true);
		sketch.rec.waits[wait].stack = rows[_i].success >= FROM_THERE;
	}
	timers_find(&sketch.rec);
	ck_assert_uint_eq(sleeps_of(&sketch), rows[_i].is_sleep ? NAPS : 0);
	ck_assert_uint_eq(sketch.rec.wait_count,
			  (rows[_i].is_sleep ? 0 : NAPS) + (rows[_i].success != NEVER));
	sketch_end(&sketch);
	if (rows[_i].is_sleep)
		replayed_expect(&sketch, _i, "wait", 0.5, 35);
	sketch_free(&sketch);
}
END_TEST

/* Each wait is for an object of its own, all are from one site. The last one is ended. */
static const struct {
	double work_ms; /* between the waits */
	enum kind kind;
	bool is_others; /* the waits are of two threads: the other one's is ended */
	bool is_woken;  /* in the middle of one, and goes on with that at once */
	bool is_sleep;
	bool is_joined; /* by who ended the last one */
} rounds[] = {
	/* 0: the last wait is for something */ { 2, KIND_SLEEP, false, false, true, false },
	/* 1 */ { 0.1, KIND_IO, false, false, true, false },
	/* 2: it goes on waiting */ { 0.1, KIND_HOLD, false, false, false, false },
	/* 3: an interpreter's threads wait from one site */
	{ 0.1, KIND_HOLD, true, false, true, false },
	/* 4: another thread wakes it, for nothing */ { 2, KIND_SLEEP, false, true, true, false },
	/* 5: it waits to be told to end */ { 2, KIND_SLEEP, false, false, false, true },
};

START_TEST(a_thread_that_does_something_after_timeouts_slept)
{
	struct sketch sketch;
	uint32_t wait = 0, is_other = rounds[_i].is_others, is_woken = rounds[_i].is_woken;
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 100);
	sketch_thread(&sketch, "other", 0, 100);
	for (int i = 0; i <= NAPS; i++) {
		double from_ms = i * (10 + rounds[_i].work_ms);
		if (is_woken && i == 1) {
			wait = add_wait(&sketch, REASON_SEM, from_ms, from_ms + 1, false);
			sketch.rec.waits[wait].stack = 1;
			from_ms += 1.1;
		}
		wait = add_wait(&sketch, REASON_SEM, from_ms, i * (10 + rounds[_i].work_ms) + 10,
				i < NAPS);
		from_ms = i * (10 + rounds[_i].work_ms);
		sketch.rec.waits[wait].address += (uint64_t)i;
		sketch.rec.waits[wait].stack = 1;
		uint32_t op = sketch_op(&sketch, rounds[_i].kind, "work", 0, from_ms + 10,
					from_ms + 10 + rounds[_i].work_ms);
		sketch.rec.ops[op].name = sketch_string(&sketch, "work");
	}
	sketch.rec.waits[wait].thread = is_other;
	if (rounds[_i].is_joined) {
		sketch.rec.waits[wait].target = sketch.rec.threads[1].op;
		sketch_wait(&sketch, 1, REASON_JOIN, "", 99, 100, sketch.rec.threads[0].op);
	}
	size_t before = sleeps_of(&sketch);
	timers_find(&sketch.rec);
	ck_assert_uint_eq(sleeps_of(&sketch) - before, rounds[_i].is_sleep ? NAPS + is_woken : 0);
	ck_assert_uint_eq(sketch.rec.wait_count - rounds[_i].is_joined,
			  rounds[_i].is_sleep ? 1 : NAPS + 1);
	sketch_end(&sketch);
	sketch_free(&sketch);
}
END_TEST

static const struct {
	const char *name;
	enum outcome outcome;
	uint64_t ready; /* at the last poll of the site */
	bool is_open;   /* the last one */
	size_t sleeps;
} poll_rows[] = {
	/* 0 */ { "poll", OUTCOME_OK, 0, false, NAPS },
	/* 1 */ { "poll", OUTCOME_OK, 1, false, 0 },
	/* 2: interrupted */ { "poll", OUTCOME_ERROR, 0, false, 0 },
	/* 3: that is how it says that none came */
	{ "sigtimedwait", OUTCOME_ERROR, 0, false, NAPS },
	/* 4 */ { "epoll_wait", OUTCOME_OK, 0, true, NAPS - 1 },
};

START_TEST(a_poll_from_where_none_finds_anything_is_a_sleep)
{
	struct sketch sketch;
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 60);
	for (int i = 0; i < NAPS; i++) {
		uint32_t op =
			sketch_op(&sketch, KIND_POLL, poll_rows[_i].name, 0, 10 * i, 10 * i + 10);
		sketch.rec.ops[op].outcome = (uint8_t)poll_rows[_i].outcome;
		sketch.rec.extras[op].stack = 1;
		sketch.rec.extras[op].amount = i + 1 == NAPS ? poll_rows[_i].ready : 0;
		sketch.rec.extras[op].open = i + 1 == NAPS && poll_rows[_i].is_open;
	}
	/* another site does not matter */
	uint32_t other = sketch_op(&sketch, KIND_POLL, poll_rows[_i].name, 0, 50, 55);
	sketch.rec.extras[other].stack = 2;
	sketch.rec.extras[other].amount = 1;
	timers_find(&sketch.rec);
	ck_assert_uint_eq(sleeps_of(&sketch), poll_rows[_i].sleeps);
	ck_assert_int_eq(sketch.rec.ops[other].kind, KIND_POLL);
	sketch_end(&sketch);
	sketch_free(&sketch);
}
END_TEST

/* The mutex of a condition is had again before the wait returns. */
START_TEST(a_sleep_ends_when_the_mutex_is_had_again)
{
	struct sketch sketch;
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 30);
	sketch_hold(&sketch, 0, "M", 1, 0, 10);
	sketch_hold(&sketch, 0, "M", 1, 19, 30);
	sketch.rec.waits[add_wait(&sketch, REASON_COND, 10, 20, true)].asked_ns = 8 * SKETCH_MS;
	timers_find(&sketch.rec);
	ck_assert_uint_eq(sketch.rec.wait_count, 0);
	const struct rec_op *sleep = &sketch.rec.ops[sketch.rec.op_count - 1];
	ck_assert_int_eq(sleep->kind, KIND_SLEEP);
	ck_assert_uint_eq(sleep->end_ns, 19 * SKETCH_MS);
	ck_assert_uint_eq(sketch.rec.extras[sketch.rec.op_count - 1].amount, 8 * SKETCH_MS);
	sketch_end(&sketch);
	replayed_expect(&sketch, 1, "wait", 0, 21);
	sketch_free(&sketch);
}
END_TEST

static const struct {
	uint64_t ready;
	uint32_t op_ms;   /* how long the poll is */
	const char *then; /* the call after it; NULL: a thread is woken */
	bool is_timer;
	bool is_for_child;
	bool looks; /* the loop looks around before that call */
} loop_rows[] = {
	/* 0: work had been put off until then */ { 0, 10, "write", true, false, false },
	/* 1: data came */ { 1, 10, "write", false, false, false },
	/* 2: it looked around, and did nothing that anybody else sees */
	{ 0, 10, "read", false, false, false },
	/* 3: it did not wait */ { 0, 0, "write", false, false, false },
	/* 4: a pool was to do it */ { 0, 10, NULL, true, false, false },
	/* 5: the end of a child would have interrupted it */
	{ 0, 10, "write", false, true, false },
	/* 6: the loop calls what was put off at its next turn */
	{ 0, 10, "write", true, false, true },
	/* 7: it opens a connection */ { 0, 10, "connect", true, false, false },
};

/* Another poll from there has found something: the loop's polls stay polls. */
START_TEST(a_loops_poll_that_its_timer_ends_is_of_a_class_of_sleeps)
{
	struct sketch sketch;
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 60);
	uint32_t first = sketch_op(&sketch, KIND_POLL, "epoll_wait", 0, 0, 10);
	sketch.rec.extras[first].amount = 1;
	uint32_t poll =
		sketch_op(&sketch, KIND_POLL, "epoll_wait", 0, 20, 20 + loop_rows[_i].op_ms);
	sketch.rec.ops[poll].outcome = OUTCOME_OK;
	sketch.rec.extras[poll].amount = loop_rows[_i].ready;
	if (loop_rows[_i].looks)
		sketch_op(&sketch, KIND_POLL, "epoll_wait", 0, 30.5, 30.501);
	if (loop_rows[_i].then)
		sketch_op(&sketch, KIND_IO, loop_rows[_i].then, 0, 31, 32);
	else
		sketch_link(&sketch, 0, LINK_WAKE, "C", 31, 1, NO_INDEX);
	if (loop_rows[_i].is_for_child)
		sketch.rec.waits[sketch_wait(&sketch, 0, REASON_EXEC, "", 20, 30, NO_INDEX)]
			.waiter = poll;
	timers_find(&sketch.rec);
	ck_assert_int_eq(sketch.rec.ops[poll].kind, KIND_POLL);
	ck_assert_int_eq(sketch.rec.extras[poll].timer, loop_rows[_i].is_timer);
	sketch_end(&sketch);
	if (loop_rows[_i].is_timer && !loop_rows[_i].looks)
		replayed_expect(&sketch, _i, "epoll_wait", 0, 50);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(a_loops_poll_that_its_timer_ends_is_of_a_class_of_sleeps, loop_rows);
	EACH(a_wait_that_only_the_clock_ends_is_a_sleep, rows);
	EACH(a_thread_that_does_something_after_timeouts_slept, rounds);
	EACH(a_poll_from_where_none_finds_anything_is_a_sleep, poll_rows);
	TEST(a_sleep_ends_when_the_mutex_is_had_again);
}

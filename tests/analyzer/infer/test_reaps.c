/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a call that a child's end interrupted, or made ready, is no wait for that child. */
#include "infer/reaps.h"

#include "sketch.h"
#include "suite.h"

enum { PARENT, CHILD, OTHER_CHILD };

static struct sketch sketch;
static struct rec_process processes[3];

static uint32_t client(int child)
{
	return sketch_string(&sketch, child == CHILD ? "2:77" : "3:78");
}

static void child_begins(int child, double ends_ms)
{
	uint32_t thread = sketch_thread(&sketch, "child", 1, ends_ms);

	sketch.rec.threads[thread].process = (uint32_t)child;
	processes[child] = (struct rec_process){
		.pid = thread + 1,
		.op = sketch_op(&sketch, KIND_PROCESS, "child", NO_INDEX, 1, ends_ms),
		.client = client(child),
	};
	sketch.rec.process_count = (size_t)child + 1;
}

/* By a parent that is recorded, of a child that is. */
static void setup(void)
{
	sketch_begin(&sketch);
	processes[0] = sketch.process;
	sketch.rec.processes = processes;
	sketch_thread(&sketch, "parent", 0, 100);
}

static void teardown(void)
{
	sketch_free(&sketch);
}

static uint32_t reap(int child, double at_ms)
{
	uint32_t op = sketch_op(&sketch, KIND_EXEC, "fork", PARENT, 1, at_ms);

	sketch.rec.ops[op].ident = client(child);
	return op;
}

static uint32_t call(enum kind kind, enum outcome outcome, uint64_t amount, double from_ms,
		     double to_ms)
{
	uint32_t op = sketch_op(&sketch, kind, "call", PARENT, from_ms, to_ms);

	sketch.rec.ops[op].outcome = (uint8_t)outcome;
	sketch.rec.extras[op].amount = amount;
	return op;
}

static void expect(size_t index, uint32_t target, double from_ms, double to_ms)
{
	ck_assert_uint_gt(sketch.rec.wait_count, index);
	const struct rec_wait *wait = &sketch.rec.waits[index];

	ck_assert_uint_eq(wait->reason, REASON_EXEC);
	ck_assert_uint_eq(wait->thread, PARENT);
	ck_assert_uint_eq(wait->target, target);
	ck_assert_uint_eq(wait->start_ns, (uint64_t)(from_ms * 1e6));
	ck_assert_uint_eq(wait->end_ns, (uint64_t)(to_ms * 1e6));
}

/* The parent is in it from 10 to 50, and asks for the child's status at 51. */
static const struct {
	enum kind kind;
	enum outcome outcome;
	uint64_t amount;
	double ends_ms; /* the child */
	bool is_wait;
} calls[] = {
	/* 0 */ { KIND_POLL, OUTCOME_ERROR, 0, 49, true }, /* sigsuspend, pselect with SIGCHLD */
	/* 1 */ { KIND_POLL, OUTCOME_OK, 1, 49, true },    /* a descriptor of the process */
	/* 2 */ { KIND_POLL, OUTCOME_OK, 0, 49, false },   /* its time was up */
	/* 3 */ { KIND_SLEEP, OUTCOME_OK, 40000000, 49, false },
	/* 4 */ { KIND_SLEEP, OUTCOME_ERROR, 80000000, 49, true },
	/* 5 */ { KIND_IO, OUTCOME_OK, 7, 49, false },
	/* 6 */ { KIND_IO, OUTCOME_ERROR, 0, 49, true },
	/* 7 */ { KIND_POLL, OUTCOME_ERROR, 0, 9, false }, /* before the call */
	/* 8 */ { KIND_HOLD, OUTCOME_OK, 0, 49, false },
};

START_TEST(a_call_that_it_put_an_end_to_is_the_wait)
{
	child_begins(CHILD, calls[_i].ends_ms);
	call(calls[_i].kind, calls[_i].outcome, calls[_i].amount, 10, 50);
	uint32_t op = reap(CHILD, 51);
	reaps_find(&sketch.rec);
	ck_assert_uint_eq(sketch.rec.wait_count, 1);
	if (calls[_i].is_wait)
		expect(0, op, 10, 50);
	else
		expect(0, op, 51, 51);
}
END_TEST

/* SIGCHLD's handler asks for the status while the call goes on: the wait ends where it begins. */
START_TEST(what_a_handler_does_comes_after_the_wait)
{
	child_begins(CHILD, 30);
	call(KIND_POLL, OUTCOME_ERROR, 0, 10, 50);
	call(KIND_IO, OUTCOME_OK, 1, 31, 32);
	uint32_t op = reap(CHILD, 33);
	reaps_find(&sketch.rec);
	ck_assert_uint_eq(sketch.rec.wait_count, 1);
	expect(0, op, 10, 31);
}
END_TEST

/* One signal may stand for two ends. */
START_TEST(of_two_ends_the_first_is_waited_for)
{
	child_begins(CHILD, 49.2);
	child_begins(OTHER_CHILD, 49.1);
	call(KIND_POLL, OUTCOME_ERROR, 0, 10, 50);
	uint32_t op = reap(CHILD, 51), other = reap(OTHER_CHILD, 52);
	reaps_find(&sketch.rec);
	ck_assert_uint_eq(sketch.rec.wait_count, 2);
	expect(0, other, 10, 50);
	expect(1, op, 51, 51);
}
END_TEST

START_TEST(a_recorded_wait_is_enough)
{
	child_begins(CHILD, 49);
	uint32_t op = reap(CHILD, 50);
	sketch_wait(&sketch, PARENT, REASON_EXEC, "child", 10, 50, op);
	reaps_find(&sketch.rec);
	ck_assert_uint_eq(sketch.rec.wait_count, 1);
}
END_TEST

/* It was woken by SIGCHLD, and then called waitpid(). */
START_TEST(what_came_before_a_recorded_wait_is_another)
{
	child_begins(CHILD, 49);
	call(KIND_POLL, OUTCOME_ERROR, 0, 10, 50);
	uint32_t op = reap(CHILD, 52);
	sketch_wait(&sketch, PARENT, REASON_EXEC, "child", 51, 52, op);
	reaps_find(&sketch.rec);
	ck_assert_uint_eq(sketch.rec.wait_count, 2);
	expect(1, op, 10, 50);
}
END_TEST

/* Three sleeps in vain, and one that the child's end interrupts at 49. The third is given. */
static const struct {
	const char *name;
	enum kind kind;
	enum outcome outcome;
	uint64_t amount;
	double to_ms;
	size_t waits;
} sleeps[] = {
	/* 0 */ { "call", KIND_POLL, OUTCOME_OK, 0, 39, 4 },
	/* 1 */ { "call", KIND_SLEEP, OUTCOME_OK, 9000000, 39, 4 },
	/* 2: something was ready */ { "call", KIND_POLL, OUTCOME_OK, 1, 39, 1 },
	/* 3: another signal came */ { "call", KIND_POLL, OUTCOME_ERROR, 0, 39, 1 },
	/* 4: another call */ { "other", KIND_POLL, OUTCOME_OK, 0, 39, 1 },
	/* 5: no call at all */ { "call", KIND_HOLD, OUTCOME_OK, 0, 39, 1 },
	/* 6: it worked before it slept again */ { "call", KIND_POLL, OUTCOME_OK, 0, 35, 1 },
};

START_TEST(a_row_of_sleeps_until_a_childs_end_waits_for_it)
{
	child_begins(CHILD, 49);
	for (int i = 0; i < 2; i++) {
		call(KIND_POLL, OUTCOME_OK, 0, 10 * i + 10, 10 * i + 19.2);
		call(KIND_IO, OUTCOME_OK, 1, 10 * i + 19.4, 10 * i + 19.6);
	}
	uint32_t last =
		call(sleeps[_i].kind, sleeps[_i].outcome, sleeps[_i].amount, 30, sleeps[_i].to_ms);
	sketch.rec.ops[last].name = sketch_string(&sketch, sleeps[_i].name);
	call(KIND_POLL, OUTCOME_ERROR, 0, 39.5, 50);
	uint32_t op = reap(CHILD, 51);
	reaps_find(&sketch.rec);
	ck_assert_uint_eq(sketch.rec.wait_count, sleeps[_i].waits);
	expect(sleeps[_i].waits - 1, op, 39.5, 50);
	for (size_t i = 0; i + 1 < sleeps[_i].waits; i++)
		expect(i, op, 30 - 10 * (double)i, i ? 39.2 - 10 * (double)i : 39);
}
END_TEST

START_TEST(a_sleep_before_the_child_began_is_none)
{
	child_begins(CHILD, 49);
	call(KIND_POLL, OUTCOME_OK, 0, 10, 29);
	call(KIND_POLL, OUTCOME_OK, 0, 30, 39);
	call(KIND_POLL, OUTCOME_ERROR, 0, 39.5, 50);
	uint32_t op = reap(CHILD, 51);
	sketch.rec.ops[op].start_ns = 29 * SKETCH_MS;
	reaps_find(&sketch.rec);
	ck_assert_uint_eq(sketch.rec.wait_count, 2);
	expect(0, op, 30, 39);
}
END_TEST

/* A child that was not recorded, or one that was when the recording of the parent began. */
START_TEST(one_end_alone_says_nothing)
{
	call(KIND_POLL, OUTCOME_ERROR, 0, 10, 50);
	reap(CHILD, 51);
	reaps_find(&sketch.rec);
	ck_assert_uint_eq(sketch.rec.wait_count, 0);
	child_begins(CHILD, 49);
	sketch.rec.extras[sketch.rec.threads[CHILD].op].open = true;
	reaps_find(&sketch.rec);
	ck_assert_uint_eq(sketch.rec.wait_count, 0);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	EACH(a_call_that_it_put_an_end_to_is_the_wait, calls);
	TEST(what_a_handler_does_comes_after_the_wait);
	TEST(of_two_ends_the_first_is_waited_for);
	TEST(a_recorded_wait_is_enough);
	TEST(what_came_before_a_recorded_wait_is_another);
	EACH(a_row_of_sleeps_until_a_childs_end_waits_for_it, sleeps);
	TEST(a_sleep_before_the_child_began_is_none);
	TEST(one_end_alone_says_nothing);
}

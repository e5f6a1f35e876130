/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a call that another thread's call ended is no wait for that, or another call is one. */
#include "infer/ended.h"

#include "script/script.h"
#include "sketch.h"
#include "suite.h"

enum { WAITER, ENDER, OTHER };

static struct sketch sketch;

static void setup(void)
{
	sketch_begin(&sketch);
	sketch_thread(&sketch, "waiter", 0, 100);
	sketch_thread(&sketch, "ender", 0, 100);
	sketch_thread(&sketch, "other", 0, 100);
}

static void teardown(void)
{
	sketch_free(&sketch);
}

static uint32_t call(const char *name, uint32_t thread, const char *ident, uint64_t amount,
		     double from_ms, double to_ms)
{
	uint32_t op = sketch_io(&sketch, thread, name, ident, amount, from_ms, to_ms);

	sketch.rec.ops[op].outcome = OUTCOME_OK;
	return op;
}

static void expect(uint32_t waiter, uint32_t ender)
{
	ck_assert_uint_eq(sketch.rec.wait_count, 1);
	const struct rec_wait *wait = &sketch.rec.waits[0];
	const struct rec_op *op = &sketch.rec.ops[waiter];

	ck_assert_uint_eq(wait->reason, REASON_END);
	ck_assert_uint_eq(wait->waiter, waiter);
	ck_assert_uint_eq(wait->target, ender);
	ck_assert_uint_eq(wait->thread, op->thread);
	ck_assert_uint_eq(wait->start_ns, op->start_ns);
	ck_assert_uint_eq(wait->end_ns, op->end_ns);
	ck_assert_uint_lt(wait->address, sketch.rec.link_count);
	const struct rec_link *link = &sketch.rec.links[wait->address];

	ck_assert_uint_eq(link->kind, LINK_END);
	ck_assert_uint_eq(link->from, ender);
	ck_assert_uint_eq(link->thread, sketch.rec.ops[ender].thread);
	ck_assert_uint_eq(link->at_ns, sketch.rec.ops[ender].start_ns);
}

#define PIPE     "pipe:[7]"
#define OWN      "unix:[3]>[4]"
#define PEER     "unix:[4]>[3]"
#define CLIENT   "tcp 127.0.0.1:5>127.0.0.1:80"
#define SERVER   "tcp 127.0.0.1:80>127.0.0.1:5"
#define LISTENER "tcp listen 127.0.0.1:80"
#define FIFO     "fifo /tmp/f"

/* The waiter is in its call from 10 to 50, and the other call begins at 49. */
static const struct {
	const char *waits;
	const char *on;
	uint64_t amount;
	enum outcome outcome;
	const char *ends;
	const char *of;
	bool is_wait;
} pairs[] = {
	/* 0 */ { "read", PIPE, 0, OUTCOME_OK, "close", PIPE, true },
	/* 1 */ { "read", PIPE, 0, OUTCOME_OK, "fclose", PIPE, true },
	/* 2 */ { "read", PIPE, 0, OUTCOME_OK, "close", "pipe:[8]", false },
	/* 3 */ { "read", PIPE, 4, OUTCOME_OK, "close", PIPE, false },
	/* 4 */ { "read", PIPE, 0, OUTCOME_ERROR, "close", PIPE, false },
	/* 5 */ { "write", PIPE, 0, OUTCOME_OK, "close", PIPE, false },
	/* 6 */ { "read", PIPE, 0, OUTCOME_OK, "write", PIPE, false },
	/* 7 */ { "recv", OWN, 0, OUTCOME_OK, "close", PEER, true },
	/* 8 */ { "recv", OWN, 0, OUTCOME_OK, "close", OWN, false },
	/* 9 */ { "recv", OWN, 0, OUTCOME_OK, "shutdown", PEER, true },
	/* 10 */ { "recv", OWN, 0, OUTCOME_OK, "shutdown", OWN, true },
	/* 11 */ { "recv", CLIENT, 0, OUTCOME_OK, "close", SERVER, true },
	/* 12 */ { "recv", CLIENT, 0, OUTCOME_OK, "close", CLIENT, false },
	/* 13 */ { "accept", LISTENER, 0, OUTCOME_ERROR, "shutdown", LISTENER, true },
	/* 14 */ { "accept", LISTENER, 0, OUTCOME_OK, "shutdown", LISTENER, false },
	/* 15 */ { "open", FIFO, 0, OUTCOME_OK, "open", FIFO, true },
	/* 16 */ { "open", FIFO, 0, OUTCOME_OK, "open", "fifo /tmp/g", false },
	/* 17 */ { "open", FIFO, 0, OUTCOME_OK, "close", FIFO, false },
	/* 18 */ { "open", "file /tmp/f", 0, OUTCOME_OK, "open", "file /tmp/f", false },
};

START_TEST(a_call_waits_for_what_puts_an_end_to_it)
{
	uint32_t waiter = call(pairs[_i].waits, WAITER, pairs[_i].on, pairs[_i].amount, 10, 50);
	uint32_t ender = call(pairs[_i].ends, ENDER, pairs[_i].of, 0, 49, 49.1);

	sketch.rec.ops[waiter].outcome = (uint8_t)pairs[_i].outcome;
	ended_find(&sketch.rec);
	if (pairs[_i].is_wait)
		expect(waiter, ender);
	else
		ck_assert_uint_eq(sketch.rec.wait_count, 0);
}
END_TEST

static const struct {
	uint32_t thread;
	double at_ms;
	bool is_wait;
} closings[] = {
	/* 0 */ { ENDER, 49, true },  /* right before the end */
	/* 1 */ { ENDER, 20, false }, /* somebody else had it open until later */
	/* 2 */ { ENDER, 5, false },  /* before the call */
	/* 3 */ { ENDER, 51, false }, /* after it */
	/* 4 */ { WAITER, 49, false },
};

START_TEST(it_comes_from_another_thread_right_before_the_end)
{
	uint32_t waiter = call("read", WAITER, PIPE, 0, 10, 50);
	uint32_t ender =
		call("close", closings[_i].thread, PIPE, 0, closings[_i].at_ms, closings[_i].at_ms);

	ended_find(&sketch.rec);
	if (closings[_i].is_wait)
		expect(waiter, ender);
	else
		ck_assert_uint_eq(sketch.rec.wait_count, 0);
}
END_TEST

START_TEST(the_last_one_to_close_it_ends_it)
{
	uint32_t waiter = call("read", WAITER, PIPE, 0, 10, 50);

	call("close", ENDER, PIPE, 0, 48, 48);
	uint32_t last = call("close", OTHER, PIPE, 0, 49, 49);
	ended_find(&sketch.rec);
	expect(waiter, last);
}
END_TEST

START_TEST(a_brief_call_was_no_wait)
{
	call("read", WAITER, PIPE, 0, 49.99, 50);
	call("close", ENDER, PIPE, 0, 49.995, 49.996);
	ended_find(&sketch.rec);
	ck_assert_uint_eq(sketch.rec.wait_count, 0);
}
END_TEST

/* 0: the read after it finds the end. 1: it finds bytes. 2: the poll found nothing ready. */
START_TEST(a_poll_before_it_is_the_wait)
{
	uint32_t poll = sketch_op(&sketch, KIND_POLL, "poll", WAITER, 10, 50);
	uint32_t ender = call("close", ENDER, PIPE, 0, 49, 49);

	sketch.rec.extras[poll].amount = _i != 2;
	call("read", WAITER, PIPE, _i == 1, 50.1, 50.11);
	ended_find(&sketch.rec);
	if (_i == 0)
		expect(poll, ender);
	else
		ck_assert_uint_eq(sketch.rec.wait_count, 0);
}
END_TEST

/* Of the process that ends at 100 and at 49.5: the script knows who waited for that. */
START_TEST(the_end_of_a_process_closes_what_it_has)
{
	uint32_t waiter = call("read", WAITER, PIPE, 0, 10, 50);
	uint32_t ender = call("close", ENDER, PIPE, 0, 49, 49);
	struct rec_process processes[2] = { sketch.rec.processes[0], { .pid = 2 } };

	processes[1].op = sketch_op(&sketch, KIND_PROCESS, "child", NO_INDEX, 1, _i ? 49.5 : 90);
	sketch.rec.processes = processes;
	sketch.rec.process_count = 2;
	sketch.rec.threads[OTHER].process = 1;
	uint32_t link = sketch_link(&sketch, OTHER, LINK_LEAVE, "", 49.4, 0, NO_INDEX);
	sketch.rec.links[link].ident = sketch_string(&sketch, PIPE);
	ended_find(&sketch.rec);
	if (_i == 0)
		expect(waiter, ender);
	else
		ck_assert_uint_eq(sketch.rec.wait_count, 0);
}
END_TEST

/* Of a process that is forked by the one of waiter and ender. The other program begins in it. */
static const struct {
	const char *ends;
	double forked_ms;
	double begun_ms;
	bool closes;    /* at 47 */
	bool is_longer; /* the call, than the wait for the close */
} copies[] = {
	/* 0: it has the pipe for longer, if it has it */ { "close", 45, 49.05, false, true },
	/* 1 */ { "close", 45, 48, false, false },
	/* 2 */ { "close", 49.01, 49.05, false, false },
	/* 3 */ { "close", 45, 49.05, true, false },
	/* 4: copies do not matter */ { "shutdown", 45, 49.05, false, false },
};

START_TEST(a_child_that_is_to_begin_a_program_may_close_it_later)
{
	uint32_t waiter = call("read", WAITER, PIPE, 0, 10, 50);
	uint32_t ender = call(copies[_i].ends, ENDER, PIPE, 0, 49, 49);
	struct rec_process processes[3] = { sketch.rec.processes[0] };
	uint32_t fork = sketch_op(&sketch, KIND_EXEC, "fork", WAITER, copies[_i].forked_ms, 70);

	sketch.rec.ops[fork].ident = sketch_string(&sketch, "2:1");
	for (int i = 1; i < 3; i++)
		processes[i] = (struct rec_process){
			.pid = 2,
			.client = sketch.rec.ops[fork].ident,
			.op = sketch_op(&sketch, KIND_PROCESS, "child", NO_INDEX,
					i == 1 ? copies[_i].forked_ms : copies[_i].begun_ms, 70)
		};
	sketch.rec.processes = processes;
	sketch.rec.process_count = 3;
	sketch.rec.threads[OTHER].process = 1;
	if (copies[_i].closes)
		call("close", OTHER, PIPE, 0, 47, 47);
	ended_find(&sketch.rec);
	if (copies[_i].is_longer) {
		ck_assert_uint_eq(sketch.rec.waits[0].end_ns, sketch.rec.ops[ender].start_ns);
		sketch.rec.waits[0].end_ns = sketch.rec.ops[waiter].end_ns;
	}
	expect(waiter, ender);
}
END_TEST

START_TEST(a_call_that_waits_for_something_else_is_left_alone)
{
	uint32_t waiter = call("read", WAITER, PIPE, 0, 10, 50);

	call("close", ENDER, PIPE, 0, 49, 49);
	sketch.rec.waits[sketch.rec.wait_count++] = (struct rec_wait){
		.waiter = waiter, .target = NO_INDEX, .thread = WAITER, .reason = REASON_SIGNAL
	};
	ended_find(&sketch.rec);
	ck_assert_uint_eq(sketch.rec.wait_count, 1);
}
END_TEST

START_TEST(in_the_replay_the_other_call_comes_first)
{
	struct script script;
	const struct script_options as_recorded = { 0 };

	call("read", WAITER, PIPE, 0, 10, 50);
	call("close", ENDER, PIPE, 0, 49, 49);
	ended_find(&sketch.rec);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	const struct step *step = &script.steps[script.actors[WAITER].first_step];

	ck_assert_uint_eq(step[1].type, STEP_AFTER);
	ck_assert_uint_eq(step[1].ns, SKETCH_MS);
	step = &script.steps[script.actors[ENDER].first_step];
	ck_assert_uint_eq(step[1].type, STEP_SIGNAL);
	ck_assert_uint_eq(script.unresolved_waits, 0);
	script_free(&script);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	EACH(a_call_waits_for_what_puts_an_end_to_it, pairs);
	EACH(it_comes_from_another_thread_right_before_the_end, closings);
	TEST(the_last_one_to_close_it_ends_it);
	TEST(a_brief_call_was_no_wait);
	LOOP(a_poll_before_it_is_the_wait, 0, 3);
	LOOP(the_end_of_a_process_closes_what_it_has, 0, 2);
	EACH(a_child_that_is_to_begin_a_program_may_close_it_later, copies);
	TEST(a_call_that_waits_for_something_else_is_left_alone);
	TEST(in_the_replay_the_other_call_comes_first);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a call that a recorded signal ended is no wait for it, or another call is one. */
#include "infer/signals.h"

#include "script/script.h"
#include "sketch.h"
#include "suite.h"

enum { WAITER, SENDER, OTHER, PROCESS = 77, USR1 = 10, USR2 = 12 };

static struct sketch sketch;

static void setup(void)
{
	sketch_begin(&sketch);
	sketch_thread(&sketch, "waiter", 0, 100);
	sketch_thread(&sketch, "sender", 0, 100);
	sketch_thread(&sketch, "other", 0, 100);
	sketch.rec.processes[0].pid = PROCESS;
}

static void teardown(void)
{
	sketch_free(&sketch);
}

/* To the number of a thread or process, 0 = a group. */
static uint32_t send(uint32_t thread, uint32_t to, uint32_t number, double at_ms)
{
	uint32_t link = sketch_link(&sketch, thread, LINK_SIGNAL, "", at_ms, number, NO_INDEX);

	sketch.rec.links[link].address = to;
	return link;
}

static uint32_t call(const char *name, enum kind kind, enum outcome outcome, uint64_t amount,
		     double from_ms, double to_ms)
{
	uint32_t op = sketch_op(&sketch, kind, name, WAITER, from_ms, to_ms);

	sketch.rec.ops[op].outcome = (uint8_t)outcome;
	sketch.rec.extras[op].amount = amount;
	return op;
}

static uint32_t tid_of(uint32_t thread)
{
	return sketch.rec.threads[thread].tid;
}

static void expect(size_t index, uint32_t link, double from_ms, double to_ms)
{
	ck_assert_uint_gt(sketch.rec.wait_count, index);
	const struct rec_wait *wait = &sketch.rec.waits[index];

	ck_assert_uint_eq(wait->reason, REASON_SIGNAL);
	ck_assert_uint_eq(wait->address, link);
	ck_assert_uint_eq(wait->start_ns, (uint64_t)(from_ms * 1e6));
	ck_assert_uint_eq(wait->end_ns, (uint64_t)(to_ms * 1e6));
}

/* The thread is in it from 10 to 50; USR1 comes at 49. */
static const struct {
	const char *name;
	enum kind kind;
	enum outcome outcome;
	uint64_t amount;
	const char *ident;
	bool is_wait;
} calls[] = {
	/* 0 */ { "sigwait", KIND_POLL, OUTCOME_OK, USR1, "", true },
	/* 1 */ { "sigwait", KIND_POLL, OUTCOME_OK, USR2, "", false },
	/* 2 */ { "sigsuspend", KIND_POLL, OUTCOME_ERROR, 0, "", true },
	/* 3 */ { "ppoll", KIND_POLL, OUTCOME_ERROR, 0, "", true },
	/* 4 */ { "ppoll", KIND_POLL, OUTCOME_OK, 1, "pipe:[1]", false },
	/* 5 */ { "ppoll", KIND_POLL, OUTCOME_OK, 0, "", false },
	/* 6 */ { "ppoll", KIND_POLL, OUTCOME_OK, 1, "signalfd", true },
	/* 7 */ { "nanosleep", KIND_SLEEP, OUTCOME_ERROR, 90, "", true },
	/* 8 */ { "nanosleep", KIND_SLEEP, OUTCOME_OK, 40, "", false },
	/* 9 */ { "read", KIND_IO, OUTCOME_ERROR, 0, "pipe:[1]", true },
	/* 10 */ { "read", KIND_IO, OUTCOME_OK, 128, "signalfd", true },
	/* 11 */ { "read", KIND_IO, OUTCOME_OK, 128, "pipe:[1]", false },
};

START_TEST(a_call_that_it_put_an_end_to_is_the_wait)
{
	uint32_t op =
		call(calls[_i].name, calls[_i].kind, calls[_i].outcome, calls[_i].amount, 10, 50);
	sketch.rec.ops[op].ident = sketch_string(&sketch, calls[_i].ident);
	uint32_t link = send(SENDER, PROCESS, USR1, 49);
	signals_find(&sketch.rec);
	ck_assert_uint_eq(sketch.rec.wait_count, calls[_i].is_wait);
	if (calls[_i].is_wait)
		expect(0, link, 10, 50);
}
END_TEST

START_TEST(it_goes_to_a_thread_a_process_or_a_group)
{
	const uint32_t receivers[] = { tid_of(WAITER), PROCESS, 0, tid_of(OTHER), PROCESS + 1 };

	call("sigwait", KIND_POLL, OUTCOME_OK, USR1, 10, 50);
	send(SENDER, receivers[_i], USR1, 49);
	signals_find(&sketch.rec);
	ck_assert_uint_eq(sketch.rec.wait_count, _i < 3);
}
END_TEST

START_TEST(a_thread_may_be_known_by_its_op)
{
	call("sigwait", KIND_POLL, OUTCOME_OK, USR1, 10, 50);
	uint32_t link = send(SENDER, 0, USR1, 49);
	sketch.rec.links[link].to = sketch.rec.threads[OTHER].op;
	signals_find(&sketch.rec);
	ck_assert_uint_eq(sketch.rec.wait_count, 0);
	sketch.rec.links[link].to = sketch.rec.threads[WAITER].op;
	signals_find(&sketch.rec);
	ck_assert_uint_eq(sketch.rec.wait_count, 1);
}
END_TEST

/* The second one comes while the thread is on its way; it is there for the next call. */
START_TEST(each_call_has_a_signal_of_its_own)
{
	call("sigwait", KIND_POLL, OUTCOME_OK, USR1, 10, 50);
	call("sigwait", KIND_POLL, OUTCOME_OK, USR1, 60, 61);
	call("sigwait", KIND_POLL, OUTCOME_OK, USR1, 62, 63);
	uint32_t first = send(SENDER, PROCESS, USR1, 48), second = send(OTHER, PROCESS, USR1, 49);
	signals_find(&sketch.rec);
	ck_assert_uint_eq(sketch.rec.wait_count, 2);
	expect(0, first, 10, 50);
	expect(1, second, 60, 61);
}
END_TEST

/* To a process, one thread of which says what came. */
START_TEST(a_signal_ends_one_call)
{
	uint32_t op = call("ppoll", KIND_POLL, OUTCOME_ERROR, 0, 10, 50);
	sketch.rec.ops[op].thread = OTHER;
	call("sigwait", KIND_POLL, OUTCOME_OK, USR1, 10, 50);
	send(SENDER, PROCESS, USR1, 49);
	signals_find(&sketch.rec);
	ck_assert_uint_eq(sketch.rec.wait_count, 1);
	ck_assert_uint_eq(sketch.rec.waits[0].thread, WAITER);
}
END_TEST

/* A handler runs inside of the call. */
START_TEST(what_a_handler_does_comes_after_the_wait)
{
	call("sigsuspend", KIND_POLL, OUTCOME_ERROR, 0, 10, 50);
	call("write", KIND_IO, OUTCOME_OK, 1, 48, 49);
	uint32_t link = send(SENDER, PROCESS, USR1, 47);
	signals_find(&sketch.rec);
	ck_assert_uint_eq(sketch.rec.wait_count, 1);
	expect(0, link, 10, 48);
}
END_TEST

START_TEST(what_waited_for_something_else_is_left_alone)
{
	uint32_t op = call("pselect", KIND_POLL, OUTCOME_ERROR, 0, 10, 50);
	uint32_t wait = sketch_wait(&sketch, WAITER, REASON_EXEC, "child", 10, 50, NO_INDEX);

	sketch.rec.waits[wait].waiter = op;
	send(SENDER, PROCESS, USR1, 49);
	signals_find(&sketch.rec);
	ck_assert_uint_eq(sketch.rec.wait_count, 1);
}
END_TEST

/* Of a sender that was not recorded, or whose recording began later. */
START_TEST(without_a_sender_there_is_no_wait)
{
	call("sigwait", KIND_POLL, OUTCOME_OK, USR1, 10, 50);
	send(SENDER, PROCESS, USR1, 51);
	signals_find(&sketch.rec);
	ck_assert_uint_eq(sketch.rec.wait_count, 0);
}
END_TEST

START_TEST(the_wait_ends_by_the_signal)
{
	static const struct script_options as_recorded = { 0 };
	struct script script;

	call("sigwait", KIND_POLL, OUTCOME_OK, USR1, 10, 50);
	uint32_t link = send(SENDER, PROCESS, USR1, 49);
	signals_find(&sketch.rec);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	const struct step *step = &script.steps[script.actors[WAITER].first_step];
	ck_assert_uint_eq(step[0].type, STEP_RUN);
	ck_assert_uint_eq(step[1].type, STEP_AFTER);
	ck_assert_uint_eq(step[1].arg, link);
	ck_assert_uint_eq(step[1].ns, 1000000);
	ck_assert_uint_eq(step[2].type, STEP_RUN);
	step = &script.steps[script.actors[SENDER].first_step];
	ck_assert_uint_eq(step[1].type, STEP_SIGNAL);
	ck_assert_uint_eq(script.unresolved_waits, 0);
	script_free(&script);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	EACH(a_call_that_it_put_an_end_to_is_the_wait, calls);
	LOOP(it_goes_to_a_thread_a_process_or_a_group, 0, 5);
	TEST(a_thread_may_be_known_by_its_op);
	TEST(each_call_has_a_signal_of_its_own);
	TEST(a_signal_ends_one_call);
	TEST(what_a_handler_does_comes_after_the_wait);
	TEST(what_waited_for_something_else_is_left_alone);
	TEST(without_a_sender_there_is_no_wait);
	TEST(the_wait_ends_by_the_signal);
}

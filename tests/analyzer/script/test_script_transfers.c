/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if who reads what another thread writes is taken to wait for something outside. */
#include "script/script.h"

#include "sketch.h"
#include "steps.h"
#include "suite.h"

static const struct script_options as_recorded = { 0 };

START_TEST(a_read_waits_for_what_another_writes)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 10);
	sketch_thread(&sketch, "other", 0, 10);
	sketch_io(&sketch, 0, "write", "tcp a>b", 10, 4, 4);
	sketch_io(&sketch, 1, "read", "tcp b>a", 10, 1, 4.5);
	sketch_io(&sketch, 1, "read", "tcp b>c", 10, 5, 6); /* c is not recorded */
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	static const struct expected_step writer[] = {
		{ STEP_RUN, 4 },
		{ STEP_SEND, 0 },
		{ STEP_WAKING, 0 },
		{ STEP_RUN, 6 },
	};
	static const struct expected_step reader[] = {
		{ STEP_RUN, 1 },   { STEP_RECEIVE, 0.5 }, { STEP_RUN, 0.5 },
		{ STEP_DELAY, 1 }, { STEP_RUN, 4 },
	};
	expect_steps(&script, 0, writer, sizeof(writer) / sizeof(writer[0]));
	expect_steps(&script, 1, reader, sizeof(reader) / sizeof(reader[0]));
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* Nobody knows who had it; a call that took no time did not wait. */
START_TEST(a_wait_for_a_lock_of_a_file_stays)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 10);
	sketch_io(&sketch, 0, "flock", "file /x", 0, 1, 1.04);
	sketch_io(&sketch, 0, "fcntl", "file /x", 0, 2, 4);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert_uint_eq(script.unresolved_waits, 1);
	ck_assert_uint_eq(script.unresolved_ns, 2 * SKETCH_MS);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_poll_waits_for_what_is_read_next)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 10);
	sketch_thread(&sketch, "other", 0, 10);
	sketch_io(&sketch, 0, "write", "tcp a>b", 10, 4, 4);
	uint32_t poll = sketch_op(&sketch, KIND_POLL, "poll", 1, 1, 4.25);
	sketch.rec.extras[poll].amount = 1;
	sketch_io(&sketch, 1, "read", "tcp b>a", 10, 5, 5);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	static const struct expected_step reader[] = {
		{ STEP_RUN, 1 },
		{ STEP_AWAIT, 0.25 },
		{ STEP_RUN, 0.75 },
		{ STEP_RECEIVE, 0 },
	};
	expect_steps(&script, 1, reader, sizeof(reader) / sizeof(reader[0]));
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* Its polls and reads are part of visits, and its end comes after all of them. */
/* An interpreter takes its lock back between a poll, from 1 to 4.25, and the read at 5. */
static const struct {
	double written_ms;
	enum kind between;
	bool awaits;
} interpreters[] = {
	/* 0 */ { 4, KIND_HOLD, true },
	/* 1 */ { 4, KIND_IO, false },
	/* 2: the poll was for something else */ { 4.5, KIND_HOLD, false },
	/* 3: a second look at what is there */ { 4, KIND_POLL, true },
	/* 4: a permit is taken, and given back */ { 4, KIND_NONE, true },
	/* 5: it tells somebody first */ { 4, KIND_EXEC, true },
};

START_TEST(what_leads_from_poll_to_read_is_no_other_call)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 10);
	sketch_thread(&sketch, "other", 0, 10);
	sketch_io(&sketch, 0, "write", "tcp a>b", 10, interpreters[_i].written_ms,
		  interpreters[_i].written_ms);
	uint32_t poll = sketch_op(&sketch, KIND_POLL, "poll", 1, 1, 4.25);
	sketch.rec.extras[poll].amount = 1;
	if (interpreters[_i].between == KIND_HOLD) {
		sketch_hold(&sketch, 1, "L", 1, 4.375, 4.75);
	} else if (interpreters[_i].between == KIND_NONE) {
		sketch_wait(&sketch, 1, REASON_SEM, "S", 4.5, 4.5, NO_INDEX);
		sketch_link(&sketch, 1, LINK_POST, "S", 4.6, 0, NO_INDEX);
	} else if (interpreters[_i].between == KIND_EXEC) {
		sketch_io(&sketch, 1, "send", "tcp x>y", 1, 4.5, 4.6);
	} else if (interpreters[_i].between == KIND_POLL) {
		uint32_t glance = sketch_op(&sketch, KIND_POLL, "poll", 1, 4.5, 4.501);
		sketch.rec.extras[glance].amount = 1;
	} else {
		sketch_io(&sketch, 1, "fsync", "file /x", 0, 4.375, 4.75);
	}
	sketch_io(&sketch, 1, "read", "tcp b>a", 10, 5, 5);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	const struct step *step = &script.steps[script.actors[1].first_step + 1];
	ck_assert_int_eq(step->type == STEP_AWAIT, interpreters[_i].awaits);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

START_TEST(an_event_loop_visits_its_connections)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 10);
	sketch_thread(&sketch, "loop", 0, 10);
	for (int i = 0; i < 3; i++) {
		sketch_io(&sketch, 0, "write", i & 1 ? "tcp a>b" : "tcp c>d", 10, 3 * i + 1,
			  3 * i + 1);
		uint32_t poll = sketch_op(&sketch, KIND_POLL, "epoll_wait", 1, i ? 3 * i - 1 : 0,
					  3 * i + 1.25);
		sketch.rec.extras[poll].amount = 1;
		sketch.rec.extras[poll].fd = 3;
		sketch_io(&sketch, 1, "read", i & 1 ? "tcp b>a" : "tcp d>c", 10, 3 * i + 1.25,
			  3 * i + 1.25);
	}
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	static const struct expected_step loop[] = {
		{ STEP_VISIT, 0.25 }, { STEP_RECEIVE, 0 }, { STEP_RUN, 0.75 },
		{ STEP_VISIT, 0.25 }, { STEP_RECEIVE, 0 }, { STEP_RUN, 0.75 },
		{ STEP_VISIT, 0.25 }, { STEP_RECEIVE, 0 }, { STEP_VISIT, 0.25 },
		{ STEP_RUN, 2.75 },
	};
	expect_steps(&script, 1, loop, sizeof(loop) / sizeof(loop[0]));
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* All that a loop's poll says comes with the visits. */
enum beside { A_LOOK, AN_END };

static const struct {
	enum beside beside;
} polls[] = { { A_LOOK }, { AN_END } };

/* A poll of no length finds what the next one finds. Or a poll meets an end, too. */
static void sketch_beside(struct sketch *sketch, enum beside beside, double at_ms, uint32_t poll)
{
	if (beside == A_LOOK) {
		uint32_t look =
			sketch_op(sketch, KIND_POLL, "epoll_wait", 1, at_ms - 0.01, at_ms + 0.01);

		sketch->rec.extras[look].amount = 1;
		sketch->rec.extras[look].fd = 3;
		return;
	}
	uint32_t close = sketch_io(sketch, 0, "close", "tcp e>f", 0, at_ms, at_ms);
	uint32_t link = (uint32_t)sketch->rec.link_count;

	sketch_link(sketch, 0, LINK_END, "", 0, at_ms, close);
	uint32_t wait = sketch_wait(sketch, 1, REASON_END, "", at_ms - 0.5, at_ms + 0.04, close);
	sketch->rec.waits[wait].waiter = poll;
	sketch->rec.waits[wait].address = link;
}

START_TEST(a_loop_waits_in_its_visits_alone)
{
	struct sketch sketch;
	struct script script;
	uint32_t visits = 0;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 20);
	sketch_thread(&sketch, "loop", 0, 20);
	for (int i = 0; i < 3; i++) {
		double at_ms = 3 * i + 1, read_ms = at_ms + 0.04;
		double poll_ms = polls[_i].beside == A_LOOK ? at_ms + 0.02 : at_ms - 0.5;

		sketch_io(&sketch, 0, "write", i & 1 ? "tcp a>b" : "tcp c>d", 10, at_ms, at_ms);
		uint32_t poll = sketch_op(&sketch, KIND_POLL, "epoll_wait", 1, poll_ms, read_ms);
		sketch.rec.extras[poll].amount = 1;
		sketch.rec.extras[poll].fd = 3;
		sketch_beside(&sketch, polls[_i].beside, at_ms, poll);
		sketch_io(&sketch, 1, "read", i & 1 ? "tcp b>a" : "tcp d>c", 10, read_ms, read_ms);
	}
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	const struct step *step = &script.steps[script.actors[1].first_step];

	for (; step->type != STEP_END; step++) {
		ck_assert_int_ne(step->type, STEP_AWAIT);
		ck_assert_int_ne(step->type, STEP_AFTER);
		visits += step->type == STEP_VISIT;
	}
	ck_assert_uint_ge(visits, 4);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(a_loop_waits_in_its_visits_alone, polls);
	TEST(an_event_loop_visits_its_connections);
	TEST(a_read_waits_for_what_another_writes);
	TEST(a_wait_for_a_lock_of_a_file_stays);
	TEST(a_poll_waits_for_what_is_read_next);
	EACH(what_leads_from_poll_to_read_is_no_other_call, interpreters);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a thread that only polls, for others that read, has the recorded time for it. */
#include "script/script.h"

#include "sketch.h"
#include "steps.h"
#include "suite.h"

static const struct script_options as_recorded = { 0 };

START_TEST(a_poll_waits_for_what_another_thread_reads)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	for (int t = 0; t < 3; t++)
		sketch_thread(&sketch, "user", 0, 20);
	for (int i = 0; i < 2; i++) {
		sketch_io(&sketch, 0, "write", "tcp a>b", 10, 4 + 8 * i, 4 + 8 * i);
		uint32_t poll =
			sketch_op(&sketch, KIND_POLL, "epoll_wait", 1, 1 + 8 * i, 4.25 + 8 * i);
		sketch.rec.extras[poll].amount = 1;
		sketch.rec.extras[poll].fd = 3;
		sketch_io(&sketch, 2, "read", "tcp b>a", 10, 5 + 8 * i, 5 + 8 * i);
	}
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	static const struct expected_step listener[] = {
		{ STEP_RUN, 1 },      { STEP_AWAIT, 0.25 }, { STEP_RUN, 4.75 },
		{ STEP_AWAIT, 0.25 }, { STEP_RUN, 7.75 },
	};
	expect_steps(&script, 1, listener, sizeof(listener) / sizeof(listener[0]));
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* An event loop reads from connections of its own, and hands over the others. */
START_TEST(a_loop_hands_over_what_it_does_not_read)
{
	static const char *const written[] = { "tcp c>d", "tcp a>b", "tcp e>f", "tcp a>b" };
	static const char *const read[] = { "tcp d>c", "tcp b>a", "tcp f>e", "tcp b>a" };
	struct sketch sketch;
	struct script script;
	size_t awaits = 0;

	sketch_begin(&sketch);
	for (int t = 0; t < 3; t++)
		sketch_thread(&sketch, "user", 0, 40);
	for (int i = 0; i < 4; i++) {
		uint32_t reader = i % 2 ? 2 : 1;

		sketch_io(&sketch, 0, "write", written[i], 10, 4 + 8 * i, 4 + 8 * i);
		uint32_t poll =
			sketch_op(&sketch, KIND_POLL, "epoll_wait", 1, 1 + 8 * i, 4.25 + 8 * i);
		sketch.rec.extras[poll].amount = 1;
		sketch.rec.extras[poll].fd = 3;
		sketch_io(&sketch, reader, "read", read[i], 10, 5 + 8 * i, 5 + 8 * i);
	}
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert_uint_ne(script.loops.loop_of_thread[1], NO_INDEX);
	for (size_t i = script.actors[1].first_step; script.steps[i].type != STEP_END; i++)
		awaits += script.steps[i].type == STEP_AWAIT;
	ck_assert_uint_eq(awaits, 2);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* Another thread reads the pipe, and waits for it as well. */
static const struct {
	const char *found;
	double written_ms;
	bool awaits;
} named[] = {
	/* 0 */ { "pipe:[7]", 4, true },
	/* 1 */ { "pipe:[8]", 4, false },
	/* 2: it was there before */ { "pipe:[7]", 0.5, false },
	/* 3: the poll found something else */ { "pipe:[7]", 4.5, false },
};

START_TEST(a_poll_may_say_what_it_found)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	for (int t = 0; t < 3; t++)
		sketch_thread(&sketch, "user", 0, 20);
	sketch_io(&sketch, 0, "write", "pipe:[7]", 10, named[_i].written_ms, named[_i].written_ms);
	uint32_t poll = sketch_op(&sketch, KIND_POLL, "poll", 1, 1, 4.25);
	sketch.rec.extras[poll].amount = 1;
	sketch.rec.extras[poll].fd = -1;
	sketch.rec.ops[poll].ident = sketch_string(&sketch, named[_i].found);
	sketch_io(&sketch, 2, "read", "pipe:[7]", 10, 0.25, named[_i].written_ms + 0.25);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	const struct step *step = &script.steps[script.actors[1].first_step + 1];
	ck_assert_int_eq(step->type == STEP_AWAIT, named[_i].awaits);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(a_poll_waits_for_what_another_thread_reads);
	TEST(a_loop_hands_over_what_it_does_not_read);
	EACH(a_poll_may_say_what_it_found, named);
}

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

SUITE()
{
	TEST(a_read_waits_for_what_another_writes);
	TEST(a_poll_waits_for_what_is_read_next);
}

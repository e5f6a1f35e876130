/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, the report would say that recording costs another share of the CPU time.
 */
#include "report/owncost.h"

#include <stdlib.h>
#include <string.h>

#include "suite.h"

static struct rec_process processes[3];

static char *emitted(enum emit_format format, size_t count, bool is_screen)
{
	const struct recording recording = { .processes = processes, .process_count = count };
	struct emit emit;
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);
	emit_begin(&emit, file, format, 0, false);
	emit.is_screen = is_screen;
	owncost_emit(&recording, &emit);
	emit_end(&emit);
	fclose(file);
	return text;
}

static void setup(void)
{
	processes[0] = (struct rec_process){ .cpu_ns = 900000000,
					     .own_window_ns = 20000000,
					     .own_ns = 100000000,
					     .own_events_ns = 60000000,
					     .own_slow_ns = 10000000,
					     .own_control_ns = 25000000,
					     .own_dumps_ns = 5000000 };
	processes[1] = (struct rec_process){ .cpu_ns = 100000000,
					     .own_window_ns = 3000000,
					     .own_ns = 3000000,
					     .own_events_ns = 3000000 };
	/* An older recorder's. */
	processes[2] = (struct rec_process){ .cpu_ns = 1000000000 };
}

START_TEST(the_share_is_of_the_processes_that_tell)
{
	setup();
	char *text = emitted(EMIT_TEXT, 3, true);
	ck_assert_ptr_nonnull(strstr(text, "about 2.3% of the CPU time\n"));
	free(text);
	text = emitted(EMIT_TEXT, 3, false);
	ck_assert_ptr_nonnull(strstr(text, "about 2.3% of the CPU time; since the start: events "
					   "63.0 ms, slow paths 10.0 ms, its own thread 25.0 ms, "
					   "dumps before 5.00 ms\n"));
	free(text);
}
END_TEST

START_TEST(nothing_is_said_of_what_is_not_known)
{
	setup();
	processes[0] = processes[2];
	char *text = emitted(EMIT_TEXT, 1, true);
	ck_assert_str_eq(text, "");
	free(text);
	text = emitted(EMIT_JSON, 1, false);
	ck_assert_ptr_nonnull(strstr(text, "\"own_ns\": 0"));
	free(text);
}
END_TEST

START_TEST(a_budget_says_how_much_was_recorded)
{
	setup();
	char *text = emitted(EMIT_TEXT, 2, true);
	ck_assert_ptr_null(strstr(text, "Budget"));
	free(text);
	processes[0].budget_ppm = 10000;
	processes[0].budget_cost_ppm = 80000;
	processes[0].budget_span_ns = 100000000000;
	processes[0].budget_on_ns = 10000000000;
	text = emitted(EMIT_TEXT, 2, true);
	ck_assert_ptr_nonnull(strstr(text, "1%: 10.0 s of 100 s were recorded (10%), at about 0.8% "
					   "of the CPU time of all of it\n"));
	free(text);
	text = emitted(EMIT_JSON, 2, false);
	ck_assert_ptr_nonnull(strstr(text, "\"budget_on_ns\": 10000000000"));
	free(text);
}
END_TEST

SUITE()
{
	TEST(a_budget_says_how_much_was_recorded);
	TEST(the_share_is_of_the_processes_that_tell);
	TEST(nothing_is_said_of_what_is_not_known);
}

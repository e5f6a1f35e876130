/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a run that waits for a recorded thread in a way that is not followed would get
 * answers.
 */
#include "report/checks_parts.h"

#include "report/analysis.h"
#include "sketch.h"
#include "suite.h"

#include <string.h>

/* By datagrams, by a file that it moves to a directory which the client watches, or by what the
 * client reads asynchronously. */
enum server { NOT_RECORDED, ANSWERS, MOVES, COMPLETES, SERVERS };

/* A client asks. Its server is recorded and works for 10 ms each time, or is not. */
static void ask(struct sketch *sketch, enum server server)
{
	sketch_begin(sketch);
	sketch_thread(sketch, "client", 0, 300);
	sketch_thread(sketch, "server", 0, 299);
	sketch_link(sketch, 0, LINK_SPAWN, "", 0, 0, sketch->rec.threads[1].op);
	for (int i = 0; i < 25; i++) {
		double at_ms = 12 * i;
		sketch_io(sketch, 0, "sendto", "udp a>*", 1, at_ms, at_ms + 0.01);
		if (server == COMPLETES)
			sketch_sleep(sketch, 0, "aio_suspend", at_ms + 0.01, at_ms + 10.1);
		else
			sketch_io(sketch, 0, "recvfrom", server == MOVES ? "inotify" : "udp a>*", 1,
				  at_ms + 0.01, at_ms + 10.1);
		sketch_sleep(sketch, 0, "think", at_ms + 10.1, at_ms + 12);
		if (server == NOT_RECORDED)
			continue;
		sketch_sleep(sketch, 1, "serve", at_ms + 0.02, at_ms + 10);
		if (server != MOVES)
			sketch_io(sketch, 1, "sendto", "udp b>*", 1, at_ms + 10, at_ms + 10.01);
		else
			sketch_op(sketch, KIND_IO, "rename", 1, at_ms + 10, at_ms + 10.01);
	}
	sketch_end(sketch);
}

START_TEST(an_unknown_end_that_is_recorded_is_said)
{
	struct options options = {
		.top = 10, .factors = { { 0, 0.5 }, 2 }, .class_regex = "", .model = "threads"
	};
	for (int server = 0; server < SERVERS; server++) {
		bool is_recorded = server != NOT_RECORDED;
		struct sketch sketch;
		struct analysis analysis;
		char error[OPTIONS_ERROR_BYTES];
		ask(&sketch, (enum server)server);
		ck_assert_int_eq(analysis_build(&analysis, &sketch.rec, &options, NULL, error), 0);
		const struct check *check = &analysis.checks.rows[CHECK_ENDERS];
		ck_assert_int_eq(check->state, is_recorded ? CHECK_WITHHOLDS : CHECK_PASSED);
		ck_assert_double_eq_tol(check->value, is_recorded ? 84 : 0, 1);
		ck_assert(is_recorded == (strstr(check->line, "`client` (1) waits in `") != NULL));
		ck_assert(is_recorded == (strstr(check->line, "`server` (2)") != NULL));
		analysis_free(&analysis);
		sketch_free(&sketch);
	}
}
END_TEST

SUITE()
{
	TEST(an_unknown_end_that_is_recorded_is_said);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a loop that goes on for so many seconds would seem to end sooner with faster
 * turns.
 */
#include "report/checks_parts.h"

#include "report/analysis.h"
#include "sketch.h"
#include "suite.h"

#include <string.h>

static const struct options options = {
	.top = 10, .factors = { { 0, 0.5 }, 2 }, .class_regex = "", .model = "threads"
};

static void build(struct analysis *analysis, struct sketch *sketch)
{
	char error[OPTIONS_ERROR_BYTES];
	ck_assert_int_eq(analysis_build(analysis, &sketch->rec, &options, NULL, error), 0);
}

static void asks(struct sketch *sketch, uint32_t thread, double at_ms, uint32_t count)
{
	uint32_t link = sketch_link(sketch, thread, LINK_CLOCK, "", at_ms, count, NO_INDEX);
	sketch->rec.links[link].stack = 1;
	sketch->rec.links[link].from = sketch->rec.threads[thread].op;
}

struct loop {
	double turn_ms;
	double end_ms; /* of the last turn */
	bool goes_on;  /* with the same, without asking */
	bool is_found;
	bool may_be; /* or it is chance */
};

static const struct loop loops[] = {
	{ 5, 603, false, true, false },   { 5, 604, false, true, false },
	{ 5, 583, false, false, false },  /* no round time */
	{ 5, 603, true, false, false },   /* not left */
	{ 50, 620, false, false, false }, /* by chance, perhaps */
	{ 15, 606, false, false, true },  /* in 3 of 10 */
};

static void loop_fill(struct sketch *sketch, const struct loop *loop)
{
	double end_ms = loop->end_ms + (loop->goes_on ? 2 * loop->turn_ms : 0);
	uint32_t count = (uint32_t)((loop->end_ms - 2) / loop->turn_ms);
	double at_ms = loop->end_ms - count * loop->turn_ms;
	sketch_begin(sketch);
	sketch_thread(sketch, "main", 0, end_ms);
	asks(sketch, 0, 1, 1);
	for (uint32_t i = 0; i < count; i++, at_ms += loop->turn_ms)
		sketch_sleep(sketch, 0, "turn", at_ms + 0.01, at_ms + loop->turn_ms - 0.01);
	asks(sketch, 0, loop->end_ms - loop->turn_ms, count);
	asks(sketch, 0, loop->end_ms, count + 1);
	if (loop->goes_on)
		sketch_sleep(sketch, 0, "turn", loop->end_ms + 0.01, end_ms);
	sketch_end(sketch);
}

START_TEST(a_loop_ends_by_the_clock)
{
	struct sketch sketch;
	struct analysis analysis;
	loop_fill(&sketch, &loops[_i]);
	build(&analysis, &sketch);
	const struct check *check = &analysis.checks.rows[CHECK_CLOCK];
	bool is_told = loops[_i].is_found || loops[_i].may_be;
	ck_assert_int_eq(check->state, is_told ? CHECK_FAILED : CHECK_PASSED);
	ck_assert(is_told == (strstr(check->line, "600 ms") != NULL));
	ck_assert(loops[_i].may_be == (strstr(check->line, "it may be") != NULL));
	ck_assert_uint_eq(analysis.script.clock_reads.loop_count, loops[_i].is_found);
	analysis_free(&analysis);
	sketch_free(&sketch);
}
END_TEST

START_TEST(faster_turns_end_no_sooner)
{
	struct sketch sketch;
	struct analysis analysis;
	loop_fill(&sketch, &loops[_i]);
	build(&analysis, &sketch);
	const struct whatif_row *row = whatif_find(&analysis.whatif, sketch_class(&sketch, "turn"));
	ck_assert_ptr_nonnull(row);
	double saved_ns = row->estimates[1].saved_ns;
	ck_assert(saved_ns > (loops[_i].is_found ? -1e6 : 250e6));
	ck_assert(saved_ns < (loops[_i].is_found ? 4e6 : 350e6));
	analysis_free(&analysis);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(a_loop_ends_by_the_clock, loops);
	EACH(faster_turns_end_no_sooner, loops);
}

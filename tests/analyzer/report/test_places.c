/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, a withheld report would name another wait than the one that is its cause. */
#include "report/places.h"

#include "report/analysis.h"

#include "sketch.h"
#include "suite.h"

enum { SITE = 5 };

static struct sketch sketch;
static struct analysis analysis;
static uint32_t sites[SKETCH_STACKS];
static struct labels labels = { .sites = sites };

/* A lock, a barrier, a join, and a thread that main starts. */
static void begin(void)
{
	static struct options options;
	char error[OPTIONS_ERROR_BYTES];
	options = (struct options){ .factors = { { 0.5 }, 1 },
				    .model = "threads",
				    .class_regex = "" };
	sketch_begin(&sketch);
	sketch_join_two(&sketch, "one", "two", 20, 30);
	sketch_hold(&sketch, 1, "M", SITE, 1, 10);
	uint32_t lock_wait = sketch_wait(&sketch, 2, REASON_MUTEX, "M", 5, 10, NO_INDEX);
	sketch.rec.waits[lock_wait].stack = SITE;
	sketch_hold(&sketch, 2, "M", SITE, 10, 11);
	for (uint32_t t = 1; t <= 2; t++) {
		uint32_t wait = sketch_wait(&sketch, t, REASON_BARRIER, "B", 12, 13, NO_INDEX);
		sketch.rec.waits[wait].ident = sketch_string(&sketch, "gate");
	}
	sketch_end(&sketch);
	sites[SITE] = sketch_string(&sketch, "pop queue.c:40");
	ck_assert_int_eq(analysis_build(&analysis, &sketch.rec, &options, &labels, error), 0);
}

static const struct {
	uint32_t actor;
	enum step_type type;
	const char *text;
} rows[] = {
	/* 0 */ { 2, STEP_ACQUIRE, "thread `two` (3) waits for the lock `M` at pop queue.c:40" },
	/* 1 */ { 1, STEP_BARRIER, "thread `one` (2) waits at the barrier `gate`" },
	/* 2 */ { 0, STEP_JOIN, "thread `main` (1) waits for the end of thread `one`" },
	/* 3 */ { 2, STEP_RUN, "thread `two` (3) waits to be started" },
	/* 4 */ { 1, STEP_RELEASE, NULL },
};

START_TEST(a_step_is_named_as_it_was_recorded)
{
	char text[PLACE_BYTES];
	begin();
	const struct script *script = &analysis.script;
	uint32_t step = script->actors[rows[_i].actor].first_step;
	while (script->steps[step].type != rows[_i].type)
		step++;
	const struct place place =
		place_of(&analysis, (struct replay_place){ rows[_i].actor, step });
	if (rows[_i].text)
		ck_assert_str_eq(place_describe(&place, text), rows[_i].text);
	else
		ck_assert_ptr_null(place.action);
	analysis_free(&analysis);
	sketch_free(&sketch);
}
END_TEST

/* Of the child that ends first: the step has no name for it. */
START_TEST(a_wait_for_any_child_says_so)
{
	char text[PLACE_BYTES];
	begin();
	struct script *script = &analysis.script;
	uint32_t step = script->actors[0].first_step;
	while (script->steps[step].type != STEP_JOIN)
		step++;
	script->steps[step].type = STEP_PERMIT;
	script->steps[step].arg = 0;
	script->children_count = 1;
	const struct place place = place_of(&analysis, (struct replay_place){ 0, step });
	ck_assert_str_eq(place_describe(&place, text),
			 "thread `main` (1) waits for the end of any child");
	analysis_free(&analysis);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_wait_is_named_as_it_was_recorded)
{
	char text[PLACE_BYTES];
	begin();
	const struct place place = place_of_wait(&analysis, 0);
	ck_assert_str_eq(place_describe(&place, text), "thread `main` (1) waits");
	const struct place lock = place_of_wait(&analysis, 2);
	ck_assert_str_eq(place_describe(&lock, text), "thread `two` (3) waits at pop queue.c:40");
	analysis_free(&analysis);
	sketch_free(&sketch);
}
END_TEST

START_TEST(what_has_no_name_is_something)
{
	char text[PLACE_BYTES];
	const struct place place = { .action = "waits for a permit of",
				     .object = "",
				     .site = "main",
				     .thread = "one",
				     .tid = 7 };
	ck_assert_str_eq(place_describe(&place, text),
			 "thread `one` (7) waits for a permit of something without a name at main");
}
END_TEST

SUITE()
{
	TEST(what_has_no_name_is_something);
	TEST(a_wait_for_any_child_says_so);
	TEST(a_wait_is_named_as_it_was_recorded);
	EACH(a_step_is_named_as_it_was_recorded, rows);
}

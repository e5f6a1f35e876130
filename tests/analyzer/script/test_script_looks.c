/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a thread that looks for another one sleeps as often as it did; or one that does not, any
 * other number of times. */
#include "script/script.h"

#include "replayed.h"
#include "sketch.h"
#include "suite.h"

static const struct script_options as_recorded = { 0 };

enum { NAPS = 20 };

/* Main naps, a millisecond each, until a thread of 19.5 ms has ended, and then works. */
static void sketch_looking(struct sketch *sketch, uint64_t bytes)
{
	sketch_begin(sketch);
	sketch_thread(sketch, "main", 0, 25);
	sketch_thread(sketch, "worker", 0, 19.5);
	sketch_link(sketch, 0, LINK_SPAWN, "", 0, 0, sketch->rec.threads[1].op);
	sketch_io(sketch, 1, "work", "", 1, 0, 19.5);
	for (int i = 0; i < NAPS; i++) {
		sketch_sleep(sketch, 0, "nap", i, i + 0.99);
		sketch_io(sketch, 0, "stat", "", bytes, i + 0.99, i + 1);
	}
	sketch_wait(sketch, 0, REASON_JOIN, "", 20, 20, sketch->rec.threads[1].op);
	sketch_io(sketch, 0, "after", "", 1, 20, 25);
	sketch_end(sketch);
}

START_TEST(a_row_ends_with_the_first_look_that_finds_it)
{
	struct sketch sketch;

	sketch_looking(&sketch, 0);
	replayed_expect(&sketch, 1, NULL, 1, 25);
	replayed_expect(&sketch, 2, "work", 0.5, 15);
	replayed_expect(&sketch, 3, "work", 0, 6);
	replayed_expect(&sketch, 4, "work", 2, 45);
	replayed_expect(&sketch, 5, "nap", 0.5, 24.695);
	replayed_expect(&sketch, 6, "after", 0, 20);
	sketch_free(&sketch);
}
END_TEST

/* A thread writes and naps until main, which has worked, waits for its end. */
START_TEST(a_thread_that_keeps_house_ends_when_it_is_told)
{
	struct sketch sketch;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 20);
	sketch_thread(&sketch, "keeper", 0, 20);
	sketch_link(&sketch, 0, LINK_SPAWN, "", 0, 0, sketch.rec.threads[1].op);
	sketch_io(&sketch, 0, "work", "", 1, 0, 19.5);
	sketch_wait(&sketch, 0, REASON_JOIN, "", 19.5, 20, sketch.rec.threads[1].op);
	for (int i = 0; i < NAPS; i++) {
		sketch_io(&sketch, 1, "write", "", 9, i, i + 0.25);
		sketch_sleep(&sketch, 1, "nap", i + 0.25, i + 1);
	}
	sketch_end(&sketch);
	replayed_expect(&sketch, 1, NULL, 1, 20);
	replayed_expect(&sketch, 2, "work", 0.5, 10);
	replayed_expect(&sketch, 3, "nap", 0.5, 20);
	sketch_free(&sketch);
}
END_TEST

/* Sleeps that take nothing are waiting until it is there. */
START_TEST(looks_without_sleeps_find_it_at_once)
{
	struct sketch sketch;
	struct script script;

	sketch_looking(&sketch, 0);
	replayed_expect(&sketch, 1, "nap", 0, 24.52);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert_uint_eq(script.looks.count, 1);
	ck_assert_int_eq(script.looks.rows[0].sort, LOOK_SURE);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(a_row_ends_with_the_first_look_that_finds_it);
	TEST(a_thread_that_keeps_house_ends_when_it_is_told);
	TEST(looks_without_sleeps_find_it_at_once);
}

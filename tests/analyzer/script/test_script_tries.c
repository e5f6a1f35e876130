/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a thread that tries a lock again and again is not replayed as waiting for it. */
#include "script/script_parts.h"

#include "replayed.h"
#include "suite.h"

static void try_in_vain(struct sketch *sketch, double at_ms)
{
	uint32_t wait = (uint32_t)sketch->rec.wait_count;

	sketch_wait(sketch, 1, REASON_MUTEX, "M", at_ms, at_ms, NO_INDEX);
	sketch->rec.waits[wait].timed_out = true;
	sketch->rec.waits[wait].name = sketch_string(sketch, "pthread_mutex_trylock");
}

/* One holds M for 20 ms of each 21; the other tries every 2 ms and has it for some of the 1. */
static void sketch_tries(struct sketch *sketch)
{
	sketch_begin(sketch);
	sketch_thread(sketch, "holder", 0, 63);
	sketch_thread(sketch, "trier", 0, 63.1);
	for (int i = 0; i < 3; i++) {
		double at_ms = 21 * i;

		sketch_hold(sketch, 0, "M", 1, at_ms, at_ms + 20);
		sketch_sleep(sketch, 0, "work", at_ms, at_ms + 20);
		sketch_sleep(sketch, 0, "rest", at_ms + 20, at_ms + 21);
		for (int k = 0; k < 10; k++) {
			try_in_vain(sketch, at_ms + 0.2 + 2 * k);
			sketch_sleep(sketch, 1, "nap", at_ms + 0.2 + 2 * k, at_ms + 2.2 + 2 * k);
		}
		sketch_hold(sketch, 1, "M", 0, at_ms + 20.2, at_ms + 20.8);
		sketch_sleep(sketch, 1, "use", at_ms + 20.2, at_ms + 20.8);
	}
	sketch_end(sketch);
}

START_TEST(who_tries_waits)
{
	struct sketch sketch;

	sketch_tries(&sketch);
	ck_assert_double_eq_tol(replayed_ms(&sketch, NULL, 1), 63.1, 0.01);
	ck_assert_double_lt(replayed_ms(&sketch, "work", 0.5), 38);
	ck_assert_double_eq_tol(replayed_ms(&sketch, "nap", 0.5), 63, 1);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_loop_that_takes_no_time_ends)
{
	struct sketch sketch;

	sketch_tries(&sketch);
	ck_assert_double_eq_tol(replayed_ms(&sketch, "nap", 0), 63, 1);
	sketch_free(&sketch);
}
END_TEST

/* The trier naps with N between its tries for M, whose holder comes to want N. Without the start
 * each has the other's, and no round ends that. */
START_TEST(a_loop_that_nobody_ends_does_not_go_on_for_ever)
{
	struct sketch sketch;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "holder", 0, 8);
	sketch_thread(&sketch, "trier", 0, 12);
	sketch_hold(&sketch, 0, "M", 1, 0, 8);
	sketch_sleep(&sketch, 0, "inside", 0, 1);
	sketch_hold(&sketch, 0, "N", 1, 1, 1.5);
	sketch_sleep(&sketch, 0, "rest", 1.5, 8);
	sketch_sleep(&sketch, 1, "start", 0, 2);
	sketch_hold(&sketch, 1, "N", 0, 2, 12);
	for (int i = 0; i < 3; i++) {
		try_in_vain(&sketch, 3 + 2 * i);
		sketch_sleep(&sketch, 1, "nap", 3 + 2 * i, 5 + 2 * i);
	}
	sketch_hold(&sketch, 1, "M", 0, 9, 10);
	sketch_end(&sketch);
	ck_assert_double_eq_tol(replayed_ms(&sketch, NULL, 1), 12, 0.01);
	ck_assert_uint_eq(replayed(&sketch, "start", 0).forced_steps, 1);
	sketch_free(&sketch);
}
END_TEST

START_TEST(who_does_something_else_does_not_wait)
{
	struct sketch sketch;

	/* tries once, then takes another lock instead: the same whatever the holder does */
	sketch_begin(&sketch);
	sketch_thread(&sketch, "holder", 0, 20);
	sketch_thread(&sketch, "trier", 0, 21);
	sketch_hold(&sketch, 0, "M", 1, 0, 20);
	sketch_sleep(&sketch, 0, "work", 0, 20);
	try_in_vain(&sketch, 1);
	sketch_hold(&sketch, 1, "N", 1, 1, 6);
	sketch_sleep(&sketch, 1, "other", 1, 6);
	sketch_sleep(&sketch, 1, "long", 6, 20.5);
	sketch_hold(&sketch, 1, "M", 0, 20.5, 21);
	sketch_end(&sketch);
	ck_assert_double_eq_tol(replayed_ms(&sketch, NULL, 1), 21, 0.01);
	ck_assert_double_eq_tol(replayed_ms(&sketch, "work", 0.5), 21, 0.01);
	ck_assert_double_eq_tol(replayed_ms(&sketch, "long", 0), 20.5, 0.2);
	sketch_free(&sketch);
}
END_TEST

/* Thread 1 tries M while it has N, the other takes them the other way round: if neither gave way,
 * neither would go on. */
START_TEST(who_has_tried_once_goes_on_without)
{
	struct sketch sketch;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "taker", 0, 20);
	sketch_thread(&sketch, "trier", 0, 12);
	sketch_sleep(&sketch, 0, "before", 0, 10);
	sketch_hold(&sketch, 0, "M", 1, 10, 20);
	sketch_sleep(&sketch, 0, "inside", 10, 14);
	sketch_hold(&sketch, 0, "N", 1, 14, 18);
	sketch_hold(&sketch, 1, "N", 0, 2, 12);
	sketch_sleep(&sketch, 1, "look", 2, 8);
	uint32_t hold = sketch_hold(&sketch, 1, "M", 0, 8, 9);
	sketch_end(&sketch);
	sketch.rec.extras[hold].tried = true;
	ck_assert_double_eq_tol(replayed_ms(&sketch, NULL, 1), 20, 0.01);
	ck_assert_double_lt(replayed_ms(&sketch, "before", 0.5), 19);
	sketch_free(&sketch);
}
END_TEST

static uint32_t count_steps(const struct script *script, uint32_t type)
{
	uint32_t count = 0;

	for (size_t i = 0; i < script->step_count; i++)
		count += script->steps[i].type == type;
	return count;
}

/* Tried once and never again, or tried another lock then: nobody has it for that. */
START_TEST(a_try_in_vain_that_was_given_up_takes_nothing)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "holder", 0, 20);
	sketch_thread(&sketch, "trier", 0, 12);
	sketch_hold(&sketch, 0, "M", 1, 0, 5);
	sketch_sleep(&sketch, 0, "inside", 0, 5);
	sketch_hold(&sketch, 0, "M", 1, 10, 15);
	sketch_sleep(&sketch, 0, "again", 10, 15);
	try_in_vain(&sketch, 2);
	sketch_sleep(&sketch, 1, "look", 2, 6);
	uint32_t other = (uint32_t)sketch.rec.wait_count;
	try_in_vain(&sketch, 11);
	sketch.rec.waits[other].address += 0x100000;
	uint32_t hold = sketch_hold(&sketch, 0, "N", 1, 10.5, 14);
	sketch.rec.extras[hold].address = sketch.rec.waits[other].address;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &(const struct script_options){ 0 });
	ck_assert_uint_eq(count_steps(&script, STEP_TRY), 0);
	script_free(&script);
	ck_assert_double_eq_tol(replayed_ms(&sketch, NULL, 1), 20, 0.01);
	ck_assert_double_eq_tol(replayed_ms(&sketch, "inside", 0.1), 15.5, 0.01);
	sketch_free(&sketch);
}
END_TEST

/* In the second round it gives back another lock: whoever waits for that must get it. */
START_TEST(a_round_that_does_more_is_left_as_it_was)
{
	struct sketch sketch;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "holder", 0, 30);
	sketch_thread(&sketch, "trier", 0, 25);
	sketch_hold(&sketch, 0, "M", 1, 0, 20);
	sketch_hold(&sketch, 1, "N", 1, 1, 9);
	try_in_vain(&sketch, 2);
	sketch_sleep(&sketch, 1, "nap", 2, 5);
	try_in_vain(&sketch, 5);
	sketch_sleep(&sketch, 1, "nap", 5, 8);
	sketch_wait(&sketch, 0, REASON_MUTEX, "N", 4, 9, NO_INDEX);
	sketch_hold(&sketch, 0, "N", 1, 9, 10);
	sketch_hold(&sketch, 1, "M", 0, 21, 22);
	sketch_end(&sketch);
	ck_assert_double_eq_tol(replayed_ms(&sketch, NULL, 1), 30, 0.01);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(who_tries_waits);
	TEST(a_loop_that_takes_no_time_ends);
	TEST(a_loop_that_nobody_ends_does_not_go_on_for_ever);
	TEST(who_does_something_else_does_not_wait);
	TEST(who_has_tried_once_goes_on_without);
	TEST(a_try_in_vain_that_was_given_up_takes_nothing);
	TEST(a_round_that_does_more_is_left_as_it_was);
}

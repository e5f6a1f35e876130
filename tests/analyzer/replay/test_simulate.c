/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if a saving that the simulation of threads predicts is not what the change would really
 * bring.
 *
 * Each recording is one that can be followed with pencil and paper; what the change brings is too.
 */
#include "replay/simulate.h"

#include "replay/simulate_parts.h"
#include "replayed.h"
#include "suite.h"

#include <math.h>

START_TEST(order_of_a_lock_is_decided_anew)
{
	struct sketch sketch;

	/* one: a 50, lock, b 100, unlock; two: c 40, lock, d 10, unlock, e 150: two is first */
	sketch_begin(&sketch);
	sketch_join_two(&sketch, "one", "two", 150, 200);
	sketch_sleep(&sketch, 1, "a", 0, 50);
	sketch_hold(&sketch, 1, "M", 1, 50, 150);
	sketch_sleep(&sketch, 1, "b", 50, 150);
	sketch_sleep(&sketch, 2, "c", 0, 40);
	sketch_hold(&sketch, 2, "M", 2, 40, 50);
	sketch_sleep(&sketch, 2, "d", 40, 50);
	sketch_sleep(&sketch, 2, "e", 50, 200);
	sketch_end(&sketch);
	replayed_expect(&sketch, 1, NULL, 1, 200);
	replayed_expect(&sketch, 2, "a", 0.5, 285); /* now one is first, and the whole is slower */
	replayed_expect(&sketch, 3, "a", 0, 260);
	replayed_expect(&sketch, 4, "e", 0.5, 150);
	replayed_expect(&sketch, 5, "b", 0, 200);
	replayed_expect(&sketch, 6, "M", 0.5, 195); /* all that is done under the lock, by both */
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_saturated_lock_limits)
{
	struct sketch sketch;

	/* two threads, 10 times: lock, 10 ms, unlock, 2 ms; never both inside */
	sketch_begin(&sketch);
	sketch_join_two(&sketch, "one", "two", 192, 202);
	for (int i = 0; i < 10; i++) {
		double one_ms = 20 * i, two_ms = one_ms + 10;

		sketch_wait(&sketch, 1, REASON_MUTEX, "M", i ? one_ms - 8 : 0, one_ms, NO_INDEX);
		sketch_hold(&sketch, 1, "M", 1, one_ms, one_ms + 10);
		sketch_sleep(&sketch, 1, "out", one_ms + 10, one_ms + 12);
		sketch_wait(&sketch, 2, REASON_MUTEX, "M", i ? two_ms - 8 : 0, two_ms, NO_INDEX);
		sketch_hold(&sketch, 2, "M", 2, two_ms, two_ms + 10);
		sketch_sleep(&sketch, 2, "out", two_ms + 10, two_ms + 12);
	}
	sketch_end(&sketch);
	replayed_expect(&sketch, 1, NULL, 1, 202);
	replayed_expect(&sketch, 2, "M", 0.5, 102);
	replayed_expect(&sketch, 3, "out", 0, 200);
	sketch_free(&sketch);
}
END_TEST

/* It sleeps with the lock, and later without: it was idle only then. */
START_TEST(who_sleeps_with_a_lock_gives_it_back)
{
	struct sketch sketch;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 20);
	uint32_t sleeper = sketch_thread(&sketch, "sleeper", 0, 30);
	sketch.rec.extras[sketch.rec.threads[sleeper].op].open = true;
	sketch_hold(&sketch, 1, "M", 1, 2, 12);
	sketch_sleep(&sketch, 1, "inside", 3, 12);
	sketch_sleep(&sketch, 1, "idle", 13, 30);
	sketch_wait(&sketch, 0, REASON_MUTEX, "M", 4, 12, NO_INDEX);
	sketch_hold(&sketch, 0, "M", 2, 12, 13);
	sketch_end(&sketch);
	replayed_expect(&sketch, 1, NULL, 1, 20);
	replayed_expect(&sketch, 2, "inside", 0, 12);
	sketch_free(&sketch);
}
END_TEST

START_TEST(absolute_deadlines_stay)
{
	struct sketch sketch;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 50);
	for (int i = 0; i < 10; i++) {
		uint32_t op = sketch_op(&sketch, KIND_SLEEP, "tick", 0, 5 * i + 3, 5 * i + 5);

		sketch_op(&sketch, KIND_IO, "work", 0, 5 * i, 5 * i + 3);
		sketch.rec.extras[op].amount = 2 * SKETCH_MS;
		sketch.rec.extras[op].absolute = true;
	}
	sketch_end(&sketch);
	replayed_expect(&sketch, 1, NULL, 1, 50);
	replayed_expect(&sketch, 2, "work", 0.5, 50);
	replayed_expect(&sketch, 3, "tick", 0, 30); /* no schedule is left */
	sketch_free(&sketch);
}
END_TEST

/* Each sleep takes 1 ms more than it asked for. At half the distance, work of 3 ms is too long. */
START_TEST(a_deadline_that_is_past_is_not_slept_for)
{
	struct sketch sketch;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 50);
	for (int i = 0; i < 10; i++) {
		uint32_t op = sketch_op(&sketch, KIND_SLEEP, "tick", 0, 5 * i + 3, 5 * i + 5);

		sketch_op(&sketch, KIND_IO, "work", 0, 5 * i, 5 * i + 3);
		sketch.rec.extras[op].amount = SKETCH_MS;
		sketch.rec.extras[op].absolute = true;
	}
	sketch_end(&sketch);
	replayed_expect(&sketch, 1, NULL, 1, 50);
	replayed_expect(&sketch, 2, "tick", 0.5, 30);
	sketch_free(&sketch);
}
END_TEST

/* Work, and then beats, until which it sleeps what is left: the schedule begins after the work. */
START_TEST(a_schedule_begins_when_the_program_comes_to_it)
{
	for (int is_absolute = 0; is_absolute < 2; is_absolute++) {
		struct sketch sketch;

		sketch_begin(&sketch);
		sketch_thread(&sketch, "main", 0, 150);
		sketch_io(&sketch, 0, "first", "", 1, 0, 100);
		for (int i = 0; i < 10; i++) {
			double from_ms = 100 + 5 * i, work_ms = 1 + i % 3;

			sketch_io(&sketch, 0, "work", "", 1, from_ms, from_ms + work_ms);
			sketch_sleep(&sketch, 0, "tick", from_ms + work_ms, from_ms + 5);
			sketch.rec.extras[sketch.rec.op_count - 1].absolute = is_absolute;
		}
		sketch_end(&sketch);
		replayed_expect(&sketch, 1, NULL, 1, 150);
		replayed_expect(&sketch, 2, "work", 0.5, 150);
		replayed_expect(&sketch, 3, "tick", 0.5, 125);
		replayed_expect(&sketch, 4, "first", 0.5, 100);
		sketch_free(&sketch);
	}
}
END_TEST

/* As Python sleeps: a deadline is what it asks for, computed from the time it is. */
START_TEST(a_deadline_computed_from_now_is_a_sleep)
{
	struct sketch sketch;
	double at_ms = 0;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 54);
	for (int i = 0; i < 9; i++) {
		double work_ms = 1 + i % 3;

		sketch_io(&sketch, 0, "work", "", 1, at_ms, at_ms + work_ms);
		sketch_sleep(&sketch, 0, "nap", at_ms + work_ms, at_ms + work_ms + 4);
		sketch.rec.extras[sketch.rec.op_count - 1].absolute = true;
		at_ms += work_ms + 4;
	}
	sketch_end(&sketch);
	replayed_expect(&sketch, 1, NULL, 1, 54);
	replayed_expect(&sketch, 2, "work", 0, 36);
	replayed_expect(&sketch, 3, "nap", 0.5, 36);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_barrier_waits_for_the_last)
{
	struct sketch sketch;

	sketch_begin(&sketch);
	sketch_join_two(&sketch, "one", "two", 80, 80);
	for (int i = 0; i < 10; i++) {
		sketch_sleep(&sketch, 1, "slow", 8 * i, 8 * i + 8);
		sketch_wait(&sketch, 1, REASON_BARRIER, "B", 8 * i + 8, 8 * i + 8, NO_INDEX);
		sketch_link(&sketch, 1, LINK_WAKE, "B", 8 * i + 8, 1, NO_INDEX);
		sketch_sleep(&sketch, 2, "quick", 8 * i, 8 * i + 5);
		sketch_wait(&sketch, 2, REASON_BARRIER, "B", 8 * i + 5, 8 * i + 8, NO_INDEX);
	}
	sketch_end(&sketch);
	replayed_expect(&sketch, 1, NULL, 1, 80);
	replayed_expect(&sketch, 2, "slow", 0.5, 50); /* then the other is the slower one */
	replayed_expect(&sketch, 3, "slow", 0, 50);
	replayed_expect(&sketch, 4, "quick", 0, 80);
	sketch_free(&sketch);
}
END_TEST

/* A queue of one place: one puts an item every `make` ms, two takes it and works `use` ms on it. */
static void queue(struct sketch *sketch, int items, double make_ms, double use_ms)
{
	double used_ms = 0;

	sketch_join_two(sketch, "one", "two", items * make_ms, make_ms + items * use_ms);
	for (int i = 0; i < items; i++) {
		double made_ms = (i + 1) * make_ms;
		double from_ms = used_ms, at_ms = made_ms > used_ms ? made_ms : used_ms;

		sketch_sleep(sketch, 1, "make", made_ms - make_ms, made_ms - 0.001);
		sketch_hold(sketch, 1, "M", 1, made_ms - 0.001, made_ms);
		sketch_link(sketch, 1, LINK_WAKE, "C", made_ms - 0.0005, at_ms > from_ms, NO_INDEX);
		if (at_ms > from_ms) {
			uint32_t first = sketch_hold(sketch, 2, "M", 2, from_ms, from_ms + 0.0001);
			uint32_t wait = sketch_wait(sketch, 2, REASON_COND, "C", from_ms + 0.0002,
						    at_ms, NO_INDEX);

			(void)first;
			(void)wait;
			sketch_hold(sketch, 2, "M", 3, at_ms, at_ms + 0.0001);
		} else {
			sketch_hold(sketch, 2, "M", 2, at_ms, at_ms + 0.0001);
		}
		used_ms = at_ms + use_ms;
		sketch_sleep(sketch, 2, "use", at_ms + 0.0002, used_ms);
	}
}

START_TEST(a_queue_hands_over_by_tokens)
{
	struct sketch sketch;

	sketch_begin(&sketch);
	queue(&sketch, 10, 4, 6);
	sketch_end(&sketch);
	replayed_expect(&sketch, 1, NULL, 1, 64);
	replayed_expect(&sketch, 2, "use", 0.5, 43); /* the maker is the slower one now */
	replayed_expect(&sketch, 3, "make", 0.5, 62);
	replayed_expect(&sketch, 4, "use", 0, 40);
	sketch_free(&sketch);
}
END_TEST

START_TEST(permits_are_counted)
{
	struct sketch sketch;

	/* one posts every 10 ms, two waits for it and works 3 ms */
	sketch_begin(&sketch);
	sketch_join_two(&sketch, "one", "two", 100, 103);
	for (int i = 0; i < 10; i++) {
		sketch_sleep(&sketch, 1, "make", 10 * i, 10 * i + 10);
		sketch_link(&sketch, 1, LINK_POST, "S", 10 * i + 10, 0, NO_INDEX);
		sketch_wait(&sketch, 2, REASON_SEM, "S", i ? 10 * i + 3 : 0, 10 * i + 10, NO_INDEX);
		sketch_sleep(&sketch, 2, "use", 10 * i + 10, 10 * i + 13);
	}
	sketch_end(&sketch);
	replayed_expect(&sketch, 1, NULL, 1, 103);
	replayed_expect(&sketch, 2, "make", 0.5, 53);
	replayed_expect(&sketch, 3, "make", 0, 30);
	replayed_expect(&sketch, 4, "use", 0, 100);
	sketch_free(&sketch);
}
END_TEST

/* main gives the permit back when it has had the lock, in which the other one tries for it. That
 * one waits until 10, when nobody else can go on, and then goes on without. */
START_TEST(who_tries_for_a_permit_does_not_block_with_a_lock)
{
	struct sketch sketch;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 20);
	sketch_thread(&sketch, "other", 0, 20);
	sketch_wait(&sketch, 0, REASON_SEM, "S", 0, 0, NO_INDEX);
	sketch_sleep(&sketch, 0, "late", 0, 1);
	sketch_hold(&sketch, 0, "M", 1, 1, 2);
	sketch_link(&sketch, 0, LINK_POST, "S", 3, 1, NO_INDEX);
	sketch_sleep(&sketch, 1, "early", 0, 5);
	sketch_hold(&sketch, 1, "M", 2, 5, 7);
	uint32_t try = sketch_wait(&sketch, 1, REASON_SEM, "S", 6, 6, NO_INDEX);
	sketch.rec.waits[try].name = sketch_string(&sketch, "sem_trywait");
	sketch_link(&sketch, 1, LINK_POST, "S", 6.5, 1, NO_INDEX);
	sketch_end(&sketch);
	replayed_expect(&sketch, 0, NULL, 1, 20);
	replayed_expect(&sketch, 1, "late", 10, 30);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_wait_taken_up_again_after_a_timeout_is_one_wait)
{
	struct sketch sketch;

	/* two waits for one's post, looking up every 10 ms */
	sketch_begin(&sketch);
	sketch_join_two(&sketch, "one", "two", 35, 38);
	sketch_sleep(&sketch, 1, "work", 0, 35);
	sketch_link(&sketch, 1, LINK_POST, "S", 35, 0, NO_INDEX);
	for (int i = 0; i < 3; i++) {
		uint32_t wait = sketch_wait(&sketch, 2, REASON_SEM, "S", 10 * i + (i ? 0.01 : 0),
					    10 * i + 10, NO_INDEX);
		sketch.rec.waits[wait].timed_out = true;
		sketch_hold(&sketch, 2, "M", 1, 10 * i + 10, 10 * i + 10.01);
	}
	sketch_wait(&sketch, 2, REASON_SEM, "S", 30.01, 35, NO_INDEX);
	sketch_sleep(&sketch, 2, "use", 35, 38);
	sketch_end(&sketch);
	replayed_expect(&sketch, 1, NULL, 1, 38);
	replayed_expect(&sketch, 2, "work", 0.2, 10);
	replayed_expect(&sketch, 3, "use", 0, 35);
	sketch_free(&sketch);
}
END_TEST

START_TEST(one_slow_wake_up_does_not_starve)
{
	struct sketch sketch;
	double free_ms[3] = { 0 }, at_ms = 0;

	/* three in turn: lock, 16 ms, unlock, 8.5 ms; once a wake-up takes 8 ms. With a little less
	 * outside, somebody else is back sooner than that, and takes the lock. */
	sketch_begin(&sketch);
	for (int t = 0; t < 3; t++)
		sketch_thread(&sketch, "thread", 0, t == 1 ? 978 : 977); /* its end counts */
	for (uint32_t k = 0; k < 60; k++, at_ms += 16) {
		uint32_t thread = k % 3;

		at_ms += k == 10 ? 8 : 0;
		if (k)
			sketch_wait(&sketch, thread, REASON_MUTEX, "M", free_ms[thread], at_ms,
				    NO_INDEX);
		sketch_hold(&sketch, thread, "M", 1, at_ms, at_ms + 16);
		sketch_sleep(&sketch, thread, "in", at_ms, at_ms + 16);
		sketch_sleep(&sketch, thread, "out", at_ms + 16, at_ms + 24.5);
		free_ms[thread] = at_ms + 24.5;
	}
	sketch_end(&sketch);
	double all_ms = replayed_ms(&sketch, NULL, 1);
	ck_assert_double_le(replayed_ms(&sketch, "out", 0.9), all_ms + 25);
	sketch_free(&sketch);
}
END_TEST

/* Out of its begin, its middle and its end; then another actor comes, and all are woken. */
START_TEST(a_queue_is_left_out_of_turn)
{
	const struct machine machine = { .tick_ns = 4000000, .cpus = INFINITY };
	struct queue queue = { NO_INDEX, NO_INDEX };
	uint32_t left = (uint32_t)_i, woken = 0;
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	for (int i = 0; i < 4; i++)
		sketch_thread(&sketch, "thread", 0, 10);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &(const struct script_options){ 0 });
	struct simulation *sim = simulate_new(&script, &machine);
	simulate_reset(sim);
	agenda_clear(&sim->agenda);
	for (uint32_t actor = 0; actor < 3; actor++)
		simulate_sleep(sim, &queue, actor);
	simulate_leave_queue(sim, left);
	ck_assert_ptr_null(sim->players[left].sleeps_in);
	simulate_sleep(sim, &queue, 3);
	simulate_wake_all(sim, &queue, 0, false);
	for (uint32_t actor = 0; actor < 4; actor++) {
		if (actor == left)
			continue;
		ck_assert_uint_eq(agenda_take(&sim->agenda).actor, actor);
		woken++;
	}
	ck_assert_uint_eq(woken, 3);
	ck_assert_uint_eq(sim->agenda.count, 0);
	simulate_free(sim);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(one_slow_wake_up_does_not_starve);
	TEST(order_of_a_lock_is_decided_anew);
	TEST(a_saturated_lock_limits);
	TEST(who_sleeps_with_a_lock_gives_it_back);
	TEST(absolute_deadlines_stay);
	TEST(a_deadline_that_is_past_is_not_slept_for);
	TEST(a_schedule_begins_when_the_program_comes_to_it);
	TEST(a_deadline_computed_from_now_is_a_sleep);
	TEST(a_barrier_waits_for_the_last);
	TEST(a_queue_hands_over_by_tokens);
	TEST(permits_are_counted);
	TEST(who_tries_for_a_permit_does_not_block_with_a_lock);
	TEST(a_wait_taken_up_again_after_a_timeout_is_one_wait);
	LOOP(a_queue_is_left_out_of_turn, 0, 3);
}

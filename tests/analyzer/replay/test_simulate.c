/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if a saving that the simulation of threads predicts is not what the change would really
 * bring.
 *
 * Each recording is one that can be followed with pencil and paper; what the change brings is too.
 */
#include "replay/simulate.h"

#include "replay/simulate_parts.h"
#include "sketch.h"
#include "suite.h"

#include <math.h>

static const struct script_options as_recorded = { 0 };

/* The makespan in ms when the class takes `factor` as long. */
static double makespan_ms(struct sketch *sketch, const char *class, double factor)
{
	struct script script;
	struct machine machine;
	const struct scaling scaling = { class ? sketch_class(sketch, class) : NO_INDEX, factor };
	const struct trial trial = { .scalings = &scaling, .count = class != NULL };

	script_build(&script, &sketch->rec, &sketch->classes, &as_recorded);
	machine_begin(&machine, &script, 0);
	const struct replayer replayer = simulate_replayer(&script, &machine);
	const struct replay_answer answer = replayer_try(&replayer, &trial);
	script_free(&script);
	ck_assert_uint_eq(answer.forced_steps, 0);
	return answer.makespan_ns / 1e6;
}

static void expect(struct sketch *sketch, int row, const char *class, double factor,
		   double expected_ms)
{
	double got_ms = makespan_ms(sketch, class, factor);

	ck_assert_msg(got_ms > expected_ms - 0.01 && got_ms < expected_ms + 0.01,
		      "row %d: %s x %g: %g ms, not %g", row, class ? class : "baseline", factor,
		      got_ms, expected_ms);
}

/* Main starts threads 1 and 2 at 0 and joins them. */
static void join_two(struct sketch *sketch, double end_1_ms, double end_2_ms)
{
	double end_ms = end_1_ms > end_2_ms ? end_1_ms : end_2_ms;

	sketch_thread(sketch, "main", 0, end_ms);
	sketch_thread(sketch, "one", 0, end_1_ms);
	sketch_thread(sketch, "two", 0, end_2_ms);
	sketch_link(sketch, 0, LINK_SPAWN, "", 0, 0, sketch->rec.threads[1].op);
	sketch_link(sketch, 0, LINK_SPAWN, "", 0, 0, sketch->rec.threads[2].op);
	sketch_wait(sketch, 0, REASON_JOIN, "", 0, end_1_ms, sketch->rec.threads[1].op);
	sketch_wait(sketch, 0, REASON_JOIN, "", end_1_ms, end_ms, sketch->rec.threads[2].op);
}

START_TEST(order_of_a_lock_is_decided_anew)
{
	struct sketch sketch;

	/* one: a 50, lock, b 100, unlock; two: c 40, lock, d 10, unlock, e 150: two is first */
	sketch_begin(&sketch);
	join_two(&sketch, 150, 200);
	sketch_sleep(&sketch, 1, "a", 0, 50);
	sketch_hold(&sketch, 1, "M", 1, 50, 150);
	sketch_sleep(&sketch, 1, "b", 50, 150);
	sketch_sleep(&sketch, 2, "c", 0, 40);
	sketch_hold(&sketch, 2, "M", 2, 40, 50);
	sketch_sleep(&sketch, 2, "d", 40, 50);
	sketch_sleep(&sketch, 2, "e", 50, 200);
	sketch_end(&sketch);
	expect(&sketch, 1, NULL, 1, 200);
	expect(&sketch, 2, "a", 0.5, 285); /* now one is first, and the whole is slower */
	expect(&sketch, 3, "a", 0, 260);
	expect(&sketch, 4, "e", 0.5, 150);
	expect(&sketch, 5, "b", 0, 200);
	expect(&sketch, 6, "M", 0.5, 195); /* all that is done under the lock, by both */
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_saturated_lock_limits)
{
	struct sketch sketch;

	/* two threads, 10 times: lock, 10 ms, unlock, 2 ms; never both inside */
	sketch_begin(&sketch);
	join_two(&sketch, 192, 202);
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
	expect(&sketch, 1, NULL, 1, 202);
	expect(&sketch, 2, "M", 0.5, 102);
	expect(&sketch, 3, "out", 0, 200);
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
	expect(&sketch, 1, NULL, 1, 20);
	expect(&sketch, 2, "inside", 0, 12);
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
	expect(&sketch, 1, NULL, 1, 50);
	expect(&sketch, 2, "work", 0.5, 50);
	expect(&sketch, 3, "tick", 0, 50);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_barrier_waits_for_the_last)
{
	struct sketch sketch;

	sketch_begin(&sketch);
	join_two(&sketch, 80, 80);
	for (int i = 0; i < 10; i++) {
		sketch_sleep(&sketch, 1, "slow", 8 * i, 8 * i + 8);
		sketch_wait(&sketch, 1, REASON_BARRIER, "B", 8 * i + 8, 8 * i + 8, NO_INDEX);
		sketch_link(&sketch, 1, LINK_WAKE, "B", 8 * i + 8, 1, NO_INDEX);
		sketch_sleep(&sketch, 2, "quick", 8 * i, 8 * i + 5);
		sketch_wait(&sketch, 2, REASON_BARRIER, "B", 8 * i + 5, 8 * i + 8, NO_INDEX);
	}
	sketch_end(&sketch);
	expect(&sketch, 1, NULL, 1, 80);
	expect(&sketch, 2, "slow", 0.5, 50); /* then the other is the slower one */
	expect(&sketch, 3, "slow", 0, 50);
	expect(&sketch, 4, "quick", 0, 80);
	sketch_free(&sketch);
}
END_TEST

/* A queue of one place: one puts an item every `make` ms, two takes it and works `use` ms on it. */
static void queue(struct sketch *sketch, int items, double make_ms, double use_ms)
{
	double used_ms = 0;

	join_two(sketch, items * make_ms, make_ms + items * use_ms);
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
	expect(&sketch, 1, NULL, 1, 64);
	expect(&sketch, 2, "use", 0.5, 43); /* the maker is the slower one now */
	expect(&sketch, 3, "make", 0.5, 62);
	expect(&sketch, 4, "use", 0, 40);
	sketch_free(&sketch);
}
END_TEST

START_TEST(permits_are_counted)
{
	struct sketch sketch;

	/* one posts every 10 ms, two waits for it and works 3 ms */
	sketch_begin(&sketch);
	join_two(&sketch, 100, 103);
	for (int i = 0; i < 10; i++) {
		sketch_sleep(&sketch, 1, "make", 10 * i, 10 * i + 10);
		sketch_link(&sketch, 1, LINK_POST, "S", 10 * i + 10, 0, NO_INDEX);
		sketch_wait(&sketch, 2, REASON_SEM, "S", i ? 10 * i + 3 : 0, 10 * i + 10, NO_INDEX);
		sketch_sleep(&sketch, 2, "use", 10 * i + 10, 10 * i + 13);
	}
	sketch_end(&sketch);
	expect(&sketch, 1, NULL, 1, 103);
	expect(&sketch, 2, "make", 0.5, 53);
	expect(&sketch, 3, "make", 0, 30);
	expect(&sketch, 4, "use", 0, 100);
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
	expect(&sketch, 0, NULL, 1, 20);
	expect(&sketch, 1, "late", 10, 30);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_reader_waits_for_its_bytes)
{
	struct sketch sketch;

	/* one asks, two answers after 6 ms, one thinks for 4 ms: a closed loop over a connection */
	sketch_begin(&sketch);
	join_two(&sketch, 100, 96);
	for (int i = 0; i < 10; i++) {
		double ask_ms = 10 * i;

		sketch_io(&sketch, 1, "write", "tcp a>b", 10, ask_ms, ask_ms);
		sketch_io(&sketch, 2, "read", "tcp b>a", 10, i ? ask_ms - 4 : 0,
			  ask_ms + (i ? 0 : 0.001));
		sketch_sleep(&sketch, 2, "serve", ask_ms + (i ? 0 : 0.001), ask_ms + 6);
		sketch_io(&sketch, 2, "write", "tcp b>a", 20, ask_ms + 6, ask_ms + 6);
		sketch_io(&sketch, 1, "recv", "tcp a>b", 20, ask_ms, ask_ms + 6);
		sketch_sleep(&sketch, 1, "think", ask_ms + 6, ask_ms + 10);
	}
	sketch_end(&sketch);
	expect(&sketch, 1, NULL, 1, 100);
	expect(&sketch, 2, "serve", 0.5, 70);
	expect(&sketch, 3, "think", 0, 60);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_full_pipe_stops_its_writer)
{
	struct sketch sketch;

	/* one writes 40000 bytes every 2 ms, two reads them every 10 ms: two fit, the third has
	 * to wait */
	sketch_begin(&sketch);
	join_two(&sketch, 24, 42);
	for (int i = 0; i < 4; i++) {
		double write_ms = i < 2 ? 2 * (i + 1) : 2 + 10 * (i - 1);

		sketch_sleep(&sketch, 1, "make", i < 2 ? 2 * i : write_ms - 10 + (i == 2 ? 2 : 0),
			     i < 2 ? 2 * i + 2 : write_ms - 10 + (i == 2 ? 4 : 2));
		sketch_io(&sketch, 1, "write", "pipe:[1]", 40000,
			  i < 1    ? 2
			  : i == 1 ? 4
				   : write_ms - 8 + (i == 2 ? 2 : 0),
			  i < 1    ? 2
			  : i == 1 ? 4
				   : write_ms);
		sketch_io(&sketch, 2, "read", "pipe:[1]", 40000, i ? 2 + 10 * i : 0, 2 + 10 * i);
		sketch_sleep(&sketch, 2, "use", 2 + 10 * i, 12 + 10 * i);
	}
	sketch_end(&sketch);
	expect(&sketch, 1, NULL, 1, 42);
	expect(&sketch, 2, "use", 0.1, 10); /* the writer makes four and runs on for 2 ms */
	expect(&sketch, 3, "make", 0, 40);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_stream_reads_more_than_a_pipe_holds)
{
	struct sketch sketch;

	/* one writes 40000 bytes every 2 ms; two wants all of 160000, and uses them for 10 ms */
	sketch_begin(&sketch);
	join_two(&sketch, 8, 18);
	for (int i = 0; i < 4; i++) {
		sketch_sleep(&sketch, 1, "make", 2 * i, 2 * i + 2);
		sketch_io(&sketch, 1, "write", "pipe:[1]", 40000, 2 * i + 2, 2 * i + 2);
	}
	sketch_io(&sketch, 2, "fread", "pipe:[1]", 160000, 0, 8);
	sketch_sleep(&sketch, 2, "use", 8, 18);
	sketch_end(&sketch);
	expect(&sketch, 1, NULL, 1, 18);
	expect(&sketch, 2, "make", 0.5, 14);
	expect(&sketch, 3, "use", 0, 8);
	sketch_free(&sketch);
}
END_TEST

START_TEST(what_does_not_fit_is_written_later)
{
	struct sketch sketch;

	/* one writes 100000 bytes at 2; two makes room for the last of them at 20 */
	sketch_begin(&sketch);
	join_two(&sketch, 35, 31);
	sketch_sleep(&sketch, 1, "make", 0, 2);
	sketch_io(&sketch, 1, "write", "pipe:[1]", 100000, 2, 20);
	sketch_sleep(&sketch, 1, "after", 20, 35);
	for (int i = 0; i < 3; i++) {
		sketch_sleep(&sketch, 2, "use", 10 * i, 10 * i + 10);
		sketch_io(&sketch, 2, "read", "pipe:[1]", i < 2 ? 20000 : 60000, 10 * i + 10,
			  10 * i + 10);
	}
	sketch_end(&sketch);
	expect(&sketch, 1, NULL, 1, 35);
	expect(&sketch, 2, "use", 0.5, 25);
	expect(&sketch, 3, "after", 0, 31);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_wait_taken_up_again_after_a_timeout_is_one_wait)
{
	struct sketch sketch;

	/* two waits for one's post, looking up every 10 ms */
	sketch_begin(&sketch);
	join_two(&sketch, 35, 38);
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
	expect(&sketch, 1, NULL, 1, 38);
	expect(&sketch, 2, "work", 0.2, 10);
	expect(&sketch, 3, "use", 0, 35);
	sketch_free(&sketch);
}
END_TEST

START_TEST(cpus_are_shared)
{
	struct sketch sketch;
	struct script script;
	struct machine machine;

	/* two threads that only run, 10 and 20 ms, on one CPU */
	sketch_begin(&sketch);
	join_two(&sketch, 10, 20);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	machine_begin(&machine, &script, 1);
	const struct replayer replayer = simulate_replayer(&script, &machine);
	const struct replay_answer answer = replayer_try(&replayer, &(const struct trial){ 0 });
	ck_assert_double_eq_tol(answer.makespan_ns, 30e6, 10);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

START_TEST(to_sleep_and_wake_takes_a_cpu)
{
	static const struct {
		double cpus;
		bool shares_cpus;
		double makespan_ms;
	} rows[] = {
		/* 1 */ { 1, false, 32 }, /* main sleeps twice, until either has ended */
		/* 2 */ { 1, true, 32 },
		/* 3 */ { 2, false, 21 },
		/* 4 */ { INFINITY, false, 20 }, /* it is in the latency */
	};
	struct sketch sketch;
	struct script script;
	struct machine machine;

	sketch_begin(&sketch);
	join_two(&sketch, 10, 20);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	script.sleep_run_ns = 1000000;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct trial trial = { .shares_cpus = rows[i].shares_cpus };

		machine_begin(&machine, &script, rows[i].cpus);
		const struct replayer replayer = simulate_replayer(&script, &machine);
		const struct replay_answer answer = replayer_try(&replayer, &trial);
		ck_assert_msg(answer.makespan_ns > rows[i].makespan_ms * 1e6 - 10 &&
				      answer.makespan_ns < rows[i].makespan_ms * 1e6 + 10,
			      "row %zu: %g ms", i + 1, answer.makespan_ns / 1e6);
	}
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_nice_thread_gets_less)
{
	struct sketch sketch;
	struct script script;
	struct machine machine;

	/* two threads that only run, 100 ms each, on one CPU; nice's share is 1 of 9 */
	sketch_begin(&sketch);
	join_two(&sketch, 100, 100);
	sketch.rec.threads[2].weight = 128;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	machine_begin(&machine, &script, 1);
	const struct replayer replayer = simulate_replayer(&script, &machine);
	uint64_t finish_ns[3];
	const struct trial trial = { .finish_ns = finish_ns };
	const struct replay_answer answer = replayer_try(&replayer, &trial);
	ck_assert_double_eq_tol(answer.makespan_ns, 200e6, 1e5);
	ck_assert_double_eq_tol((double)finish_ns[1], 100e6 * 9 / 8, 8e6);
	ck_assert_double_eq_tol((double)finish_ns[2], 200e6, 1e5);
	script_free(&script);
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
	double all_ms = makespan_ms(&sketch, NULL, 1);
	ck_assert_double_le(makespan_ms(&sketch, "out", 0.9), all_ms + 25);
	sketch_free(&sketch);
}
END_TEST

static double finish_ms(struct sketch *sketch, uint32_t thread, bool crosses)
{
	const struct machine machine = { .cpus = INFINITY, .crosses = crosses };
	uint64_t finish_ns[SKETCH_MAX];
	const struct trial trial = { .finish_ns = finish_ns };
	struct script script;

	script_build(&script, &sketch->rec, &sketch->classes, &as_recorded);
	const struct replayer replayer = simulate_replayer(&script, &machine);
	struct replay_answer answer = replayer_try(&replayer, &trial);
	script_free(&script);
	ck_assert_uint_eq(answer.forced_steps, 0);
	return (double)finish_ns[thread] / 1e6;
}

START_TEST(a_lock_goes_to_another_cpu_more_slowly)
{
	struct sketch sketch;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "first", 0, 10);
	sketch_thread(&sketch, "second", 0, 20);
	sketch_hold(&sketch, 0, "M", 1, 0, 10);
	sketch_wait(&sketch, 1, REASON_MUTEX, "M", 0, 10, NO_INDEX);
	sketch_hold(&sketch, 1, "M", 2, 10, 20);
	sketch_end(&sketch);
	ck_assert_double_eq_tol(finish_ms(&sketch, 1, false), 20, 1e-6);
	ck_assert_double_eq_tol(finish_ms(&sketch, 1, true), 20.025, 1e-6);
	sketch_free(&sketch);
}
END_TEST

START_TEST(to_signal_to_another_cpu_takes_longer)
{
	enum { ITEMS = 3, WAITED_FOR = 2 };
	struct sketch sketch;

	/* every 10 ms an item; the taker comes for it 2 ms before or after, and works 0.1 ms */
	sketch_begin(&sketch);
	sketch_thread(&sketch, "putter", 0, ITEMS * 10 + 10);
	sketch_thread(&sketch, "taker", 0, ITEMS * 10 + 10);
	for (int i = 0; i < ITEMS; i++) {
		bool waits = i % 2 == 0;
		double put_ms = 5 + i * 10, from_ms = put_ms + (waits ? -2 : 2);
		double end_ms = put_ms + 0.1;

		sketch_hold(&sketch, 0, "M", 1, put_ms, end_ms);
		sketch_link(&sketch, 0, LINK_WAKE, "C", put_ms + 0.05, waits, NO_INDEX);
		sketch_hold(&sketch, 1, "M", 2, from_ms, from_ms + 0.1);
		if (!waits)
			continue;
		sketch_wait(&sketch, 1, REASON_COND, "C", from_ms + 0.1, end_ms + 0.1, NO_INDEX);
		sketch_hold(&sketch, 1, "M", 3, end_ms + 0.1, end_ms + 0.2);
	}
	sketch_end(&sketch);
	ck_assert_double_eq_tol(finish_ms(&sketch, 0, false), ITEMS * 10 + 10, 1e-6);
	ck_assert_double_eq_tol(finish_ms(&sketch, 0, true), ITEMS * 10 + 10 + WAITED_FOR * 0.005,
				1e-6);
	sketch_free(&sketch);
}
END_TEST

/* Out of its begin, its middle and its end; then another actor comes, and all are woken. */
START_TEST(a_queue_is_left_out_of_turn)
{
	const struct machine machine = { .cpus = INFINITY };
	struct queue queue = { NO_INDEX, NO_INDEX };
	uint32_t left = (uint32_t)_i, woken = 0;
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	for (int i = 0; i < 4; i++)
		sketch_thread(&sketch, "thread", 0, 10);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
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
	TEST(a_barrier_waits_for_the_last);
	TEST(a_queue_hands_over_by_tokens);
	TEST(permits_are_counted);
	TEST(who_tries_for_a_permit_does_not_block_with_a_lock);
	TEST(a_reader_waits_for_its_bytes);
	TEST(a_full_pipe_stops_its_writer);
	TEST(a_stream_reads_more_than_a_pipe_holds);
	TEST(what_does_not_fit_is_written_later);
	TEST(a_wait_taken_up_again_after_a_timeout_is_one_wait);
	TEST(cpus_are_shared);
	TEST(to_sleep_and_wake_takes_a_cpu);
	TEST(a_nice_thread_gets_less);
	TEST(a_lock_goes_to_another_cpu_more_slowly);
	TEST(to_signal_to_another_cpu_takes_longer);
	LOOP(a_queue_is_left_out_of_turn, 0, 3);
}

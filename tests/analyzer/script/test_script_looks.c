/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a thread that looks for another one sleeps as often as it did; or one that does not, any
 * other number of times. */
#include "script/script.h"

#include "infer/filelocks.h"

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

/* Its rounds of 10 ms, the first of 15, have two sorts of sleeps, and a lock. Main joins a worker,
 * and sets the flag at 150.1 ms. */
static const struct {
	double factor; /* of the work */
	double ms;
	bool wakes_others; /* in each round, which then stay as many */
} told_rows[] = {
	/* 0 */ { 1, 155, false },
	/* 1: at 75.1 ms, in the round from 75 on */ { 0.5, 85, false },
	/* 2: at 165.1 ms, in the second round on top */ { 1.1, 175, false },
	/* 3 */ { 0.5, 155, true },
};

static void sketch_told(struct sketch *sketch, bool sets_flag, bool wakes_others)
{
	sketch_begin(sketch);
	sketch_join_two(sketch, "worker", "keeper", 150, 155);
	sketch->rec.waits[1].start_ns += 200000;
	sketch_io(sketch, 1, "work", "", 1, 0, 150);
	if (sets_flag)
		sketch_hold(sketch, 0, "m", 0, 150.05, 150.1);
	for (int i = 0; i < 15; i++) {
		double at_ms = i * 10 + (i ? 5 : 0);

		sketch_sleep(sketch, 2, "nap", at_ms, at_ms + (i ? 4 : 9));
		sketch_hold(sketch, 2, "m", 0, at_ms + (i ? 4 : 9), at_ms + (i ? 5 : 10));
		sketch_sleep(sketch, 2, "device", at_ms + (i ? 5 : 10), at_ms + (i ? 10 : 15));
		if (wakes_others)
			sketch_link(sketch, 2, LINK_POST, "S", at_ms + (i ? 10 : 15), 0, NO_INDEX);
	}
	sketch_end(sketch);
}

START_TEST(a_thread_that_works_ends_its_round_when_it_is_told)
{
	struct sketch sketch;

	sketch_told(&sketch, true, told_rows[_i].wakes_others);
	replayed_expect(&sketch, _i, "work", told_rows[_i].factor, told_rows[_i].ms);
	sketch_free(&sketch);
}
END_TEST

/* The keeper says by a permit that it ends, and takes a lock then. */
START_TEST(a_thread_that_says_that_it_ends_does_so_when_it_is_told)
{
	for (int i = 0; i < 2; i++) {
		struct sketch sketch;

		sketch_told(&sketch, true, false);
		sketch.rec.waits[1].reason = REASON_SEM;
		sketch.rec.waits[1].address = 0x1000 + sketch_string(&sketch, "end");
		sketch_wait(&sketch, 2, REASON_SEM, "end", 0, 0, NO_INDEX);
		sketch_link(&sketch, 2, LINK_POST, "end", 154.995, 0, NO_INDEX);
		sketch_hold(&sketch, 2, "n", 0, 154.996, 154.998);
		sketch.rec.ops[sketch.rec.threads[2].op].end_ns = 155000000;
		class_table_free(&sketch.classes);
		sketch_end(&sketch);
		replayed_expect(&sketch, i, "work", told_rows[i].factor, told_rows[i].ms);
		sketch_free(&sketch);
	}
}
END_TEST

/* It looks behind its naps: it was told at 144.3 ms, and has the last one from 145 ms on. */
START_TEST(a_thread_may_sleep_once_more_before_it_looks)
{
	struct sketch sketch;

	sketch_told(&sketch, true, false);
	sketch.rec.waits[0].end_ns = sketch.rec.ops[sketch.rec.threads[1].op].end_ns = 144200000;
	sketch.rec.waits[1].start_ns = 144300000;
	for (size_t i = 0; i < sketch.rec.op_count; i++) {
		struct rec_op *op = &sketch.rec.ops[i];

		if (op->thread == 0 && op->kind == KIND_HOLD)
			op->start_ns = 144210000, op->end_ns = 144220000;
		if (op->thread == 1 && op->kind == KIND_IO)
			op->end_ns = 144200000;
	}
	replayed_expect(&sketch, 1, "work", 1, 155);
	/* At 72.2 ms: it naps from 75 to 79 ms, and then works for 6. */
	replayed_expect(&sketch, 2, "work", 0.5, 85);
	sketch_free(&sketch);
}
END_TEST

/* Both may have come to their ends by themselves: an answer that depends on it is not sure. */
START_TEST(rounds_that_nobody_is_seen_to_stop_may_be_as_many)
{
	const struct trial kept = { .keeps_timeouts = true };
	struct sketch sketch;

	for (int sets_flag = 0; sets_flag < 2; sets_flag++) {
		sketch_told(&sketch, sets_flag, false);
		replayed_expect(&sketch, sets_flag, "work", 0.5, 85);
		ck_assert_double_eq_tol(replayed_trial(&sketch, kept, "work", 0.5).makespan_ns /
						1e6,
					sets_flag ? 85 : 155, 0.01);
		sketch_free(&sketch);
	}
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

enum { PROCESSES = 2 };

static struct rec_process processes[PROCESSES];

/* One thread a process, from 0 to 100 ms. */
static void sketch_processes(struct sketch *sketch)
{
	sketch_begin(sketch);
	sketch->rec.processes = processes;
	sketch->rec.process_count = PROCESSES;
	for (uint32_t i = 0; i < PROCESSES; i++) {
		sketch_thread(sketch, "main", 0, 100);
		sketch->rec.threads[i].process = i;
		processes[i] =
			(struct rec_process){ .pid = i + 1, .op = sketch->rec.threads[i].op };
	}
}

/* Asks for a lock on a file, or gives it back; 10 us. */
static void ask_file(struct sketch *sketch, uint32_t thread, const char *asked, double at_ms,
		     bool gets)
{
	uint32_t op = sketch_io(sketch, thread, "fcntl", "file /db", 0, at_ms, at_ms + 0.01);

	sketch->rec.extras[op].fd = 3;
	sketch->rec.extras[op].other_ident = sketch_string(sketch, asked);
	if (!gets)
		sketch->rec.ops[op].outcome = OUTCOME_ERROR;
}

static const char unlock[] = "file-lock none 7+1 of 1:2";
static const char try_read[] = "file-lock try-read 7+1 of 1:2";
static const char try_write[] = "file-lock try-write 7+1 of 1:2";

/* Both read the file; one of them wants to write to it, and has to wait for the other one alone. */
START_TEST(a_thread_does_not_wait_for_its_own_lock)
{
	struct sketch sketch;

	sketch_processes(&sketch);
	ask_file(&sketch, 0, try_read, 2, true);
	sketch_io(&sketch, 0, "work", "", 1, 3, 24.9);
	ask_file(&sketch, 0, unlock, 25, true);
	ask_file(&sketch, 1, try_read, 3, true);
	for (int i = 0; i < 3; i++) {
		ask_file(&sketch, 1, try_write, 10 * i + 10, i == 2);
		if (i < 2)
			sketch_sleep(&sketch, 1, "nap", 10 * i + 10.02, 10 * i + 20);
	}
	ask_file(&sketch, 1, unlock, 40, true);
	file_locks_find(&sketch.rec);
	sketch_end(&sketch);
	replayed_expect(&sketch, 1, NULL, 1, 100);
	replayed_expect(&sketch, 2, "work", 0.5, 90);
	replayed_expect(&sketch, 3, "work", 2, 121.9);
	sketch_free(&sketch);
}
END_TEST

/* Naps of 1, 2 and 4 ms once, and one of 1 ms another time: there would have been longer ones. */
START_TEST(rounds_that_come_on_top_grow_like_others)
{
	static const double first_ms[] = { 5, 6, 8, 12 };
	struct sketch sketch;

	sketch_processes(&sketch);
	ask_file(&sketch, 0, try_write, 2, true);
	ask_file(&sketch, 0, unlock, 9, true);
	ask_file(&sketch, 0, try_write, 50, true);
	sketch_io(&sketch, 0, "work", "", 1, 50.4, 51.4);
	ask_file(&sketch, 0, unlock, 51.5, true);
	for (int i = 0; i < 4; i++) {
		ask_file(&sketch, 1, try_write, first_ms[i], i == 3);
		if (i < 3)
			sketch_sleep(&sketch, 1, "nap", first_ms[i] + 0.01, first_ms[i + 1]);
	}
	ask_file(&sketch, 1, unlock, 13, true);
	ask_file(&sketch, 1, try_write, 51, false);
	sketch_sleep(&sketch, 1, "nap", 51.01, 52);
	ask_file(&sketch, 1, try_write, 52, true);
	ask_file(&sketch, 1, unlock, 53, true);
	file_locks_find(&sketch.rec);
	sketch_end(&sketch);
	replayed_expect(&sketch, 1, NULL, 1, 100);
	replayed_expect(&sketch, 2, "work", 2, 100 + 1.99);
	replayed_expect(&sketch, 3, "work", 4, 100 + 1.99 + 3.99);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(a_row_ends_with_the_first_look_that_finds_it);
	EACH(a_thread_that_works_ends_its_round_when_it_is_told, told_rows);
	TEST(a_thread_that_says_that_it_ends_does_so_when_it_is_told);
	TEST(a_thread_may_sleep_once_more_before_it_looks);
	TEST(rounds_that_nobody_is_seen_to_stop_may_be_as_many);
	TEST(a_thread_that_keeps_house_ends_when_it_is_told);
	TEST(looks_without_sleeps_find_it_at_once);
	TEST(a_thread_does_not_wait_for_its_own_lock);
	TEST(rounds_that_come_on_top_grow_like_others);
}

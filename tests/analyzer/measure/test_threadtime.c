/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this fails, a thread's time is said to have gone where it did not, or the sum is not its wall
 * time.
 */
#include "random.h"
#include "measure/threadtime.h"
#include "suite.h"

enum { THREAD_OP_NS = 1000000 };

/* Thread 0 lives from 1000 to 1001000; what it does is up to the row. */
static const struct {
	struct {
		enum kind kind; /* KIND_NONE: a wait for `reason` */
		enum reason reason;
		uint64_t start_ns, end_ns;
	} calls[4];
	struct {
		uint64_t at_ns, cpu_ns;
	} samples[5];
	uint64_t cpu_ns, blocked_ns, unexplained_ns;
	const char *causes; /* longest first */
} rows[] = {
	/* 0: nothing is known */ { .unexplained_ns = THREAD_OP_NS, .causes = "" },
	/* 1: it ran all the time */
	{ .samples = { { 1000, 50 }, { 1001000, 1000050 } }, .cpu_ns = THREAD_OP_NS, .causes = "" },
	/* 2: it slept for 0.6 ms, and was off the CPU for 0.1 ms besides */
	{ .calls = { { KIND_SLEEP, 0, 101000, 701000 } },
	  .samples = { { 1000, 0 }, { 701000, 90000 }, { 1001000, 300000 } },
	  .cpu_ns = 300000,
	  .blocked_ns = 600000,
	  .unexplained_ns = 100000,
	  .causes = " sleep:600000" },
	/* 3: half of the call was on the CPU */
	{ .calls = { { KIND_IO, 0, 1000, 801000 } },
	  .samples = { { 1000, 0 }, { 801000, 400000 }, { 1001000, 600000 } },
	  .cpu_ns = 600000,
	  .blocked_ns = 400000,
	  .causes = " io:400000" },
	/* 4: the wait inside counts as such */
	{ .calls = { { KIND_DNS, 0, 1000, 1001000 }, { KIND_NONE, REASON_COND, 201000, 501000 } },
	  .samples = { { 1000, 0 }, { 1001000, 0 } },
	  .blocked_ns = THREAD_OP_NS,
	  .causes = " dns:700000 cond:300000" },
	/* 5: a call across two samples */
	{ .calls = { { KIND_NONE, REASON_MUTEX, 101000, 901000 } },
	  .samples = { { 1000, 0 }, { 501000, 100000 }, { 1001000, 200000 } },
	  .cpu_ns = 200000,
	  .blocked_ns = 800000,
	  .causes = " mutex:800000" },
	/* 6: without CPU time, calls count as blocked */
	{ .calls = { { KIND_POLL, 0, 1000, 301000 } },
	  .blocked_ns = 300000,
	  .unexplained_ns = 700000,
	  .causes = " poll:300000" },
	/* 7: what happens in holds is no call */
	{ .calls = { { KIND_HOLD, 0, 1000, 301000 } },
	  .unexplained_ns = THREAD_OP_NS,
	  .causes = "" },
	/* 8: more CPU time than time: a clock that ticks unevenly */
	{ .samples = { { 1000, 0 }, { 1001000, 1002000 } }, .cpu_ns = THREAD_OP_NS, .causes = "" },
	/* 9: before the first sample it was not on the CPU, as far as is known */
	{ .calls = { { KIND_SLEEP, 0, 1000, 401000 } },
	  .samples = { { 501000, 70 }, { 1001000, 500070 } },
	  .cpu_ns = 500000,
	  .blocked_ns = 400000,
	  .unexplained_ns = 100000,
	  .causes = " sleep:400000" },
};

START_TEST(a_threads_time_is_the_sum_of_its_parts)
{
	struct rec_thread thread = { .op = 0 };
	struct rec_process process = { .op = NO_INDEX };
	struct rec_sample samples[5] = { 0 };
	struct sketch sketch;
	struct thread_table table;
	char causes[128] = "";
	sketch_begin(&sketch);
	sketch.rec.threads = &thread;
	sketch.rec.thread_count = 1;
	sketch.rec.processes = &process;
	sketch.rec.process_count = 1;
	sketch.rec.samples = samples;
	sketch_bare_op(&sketch, NO_INDEX, KIND_THREAD, 1, 1000, 1001000);
	sketch.rec.ops[0].thread = 0;
	for (int i = 0; i < 4 && rows[_i].calls[i].end_ns; i++) {
		uint64_t start_ns = rows[_i].calls[i].start_ns, end_ns = rows[_i].calls[i].end_ns;
		enum kind kind = rows[_i].calls[i].kind;
		if (kind == KIND_NONE) {
			uint32_t wait = sketch_bare_wait(
				&sketch, 0, NO_INDEX, rows[_i].calls[i].reason, start_ns, end_ns);
			sketch.rec.waits[wait].thread = 0;
		} else {
			uint32_t op = sketch_bare_op(&sketch, 0, kind, 1, start_ns, end_ns);
			sketch.rec.ops[op].thread = 0;
		}
	}
	for (int i = 0; i < 5 && rows[_i].samples[i].at_ns; i++) {
		samples[i].at_ns = rows[_i].samples[i].at_ns;
		samples[i].cpu_ns = rows[_i].samples[i].cpu_ns;
		sketch.rec.sample_count++;
	}
	thread_table_build(&table, &sketch.rec);
	const struct thread_time *row = &table.rows[0];
	for (uint32_t i = 0; i < row->block_count; i++)
		sprintf(causes + strlen(causes), " %s:%lu",
			thread_cause_word(&sketch.rec, row->blocks[i].cause),
			(unsigned long)row->blocks[i].ns);
	ck_assert_uint_eq(row->wall_ns, THREAD_OP_NS);
	ck_assert_uint_eq(row->cpu_ns, rows[_i].cpu_ns);
	ck_assert_uint_eq(row->blocked_ns, rows[_i].blocked_ns);
	ck_assert_uint_eq(row->unexplained_ns, rows[_i].unexplained_ns);
	ck_assert_str_eq(causes, rows[_i].causes);
	ck_assert_int_eq(row->has_cpu, sketch.rec.sample_count > 1);
	ck_assert_uint_eq(table.processes[0].thread_count, 1);
	ck_assert_uint_eq(table.processes[0].thread_ns, THREAD_OP_NS);
	ck_assert_uint_eq(table.processes[0].cpu_ns, rows[_i].cpu_ns);
	thread_table_free(&table);
	sketch_free(&sketch);
}
END_TEST

/* Whatever the calls are, also those that overlap in impossible ways. */
START_TEST(random_calls_add_up)
{
	uint64_t state = (uint64_t)_i + 1;
	struct rec_thread threads[3] = { { .op = NO_INDEX },
					 { .op = NO_INDEX },
					 { .op = NO_INDEX } };
	struct rec_process process = { .op = NO_INDEX };
	struct rec_sample samples[30] = { 0 };
	struct sketch sketch;
	struct thread_table table;
	sketch_begin(&sketch);
	sketch.rec.threads = threads;
	sketch.rec.thread_count = 3;
	sketch.rec.processes = &process;
	sketch.rec.process_count = 1;
	sketch.rec.samples = samples;
	for (int i = 0; i < 100; i++) {
		uint64_t start_ns = random_number(&state, 10000);
		uint64_t end_ns = start_ns + random_number(&state, 1000);
		uint32_t op = sketch_bare_op(&sketch, NO_INDEX, KIND_IO, 1, start_ns, end_ns);
		uint32_t wait = sketch_bare_wait(&sketch, op, NO_INDEX, REASON_MUTEX, start_ns,
						 start_ns + random_number(&state, 500));
		sketch.rec.ops[op].thread = (uint32_t)random_number(&state, 3);
		sketch.rec.waits[wait].thread = (uint32_t)random_number(&state, 3);
	}
	for (uint32_t i = 0; i < 30; i++)
		samples[i] =
			(struct rec_sample){ .thread = i / 10,
					     .at_ns = i % 10 * 1000 + random_number(&state, 999),
					     .queued_ns = random_number(&state, 300),
					     .cpu_ns = i % 10 * random_number(&state, 1500) };
	sketch.rec.sample_count = 30;
	thread_table_build(&table, &sketch.rec);
	for (uint32_t i = 0; i < 3; i++)
		ck_assert_uint_eq(table.rows[i].cpu_ns + table.rows[i].queued_ns +
					  table.rows[i].blocked_ns + table.rows[i].unexplained_ns,
				  table.rows[i].wall_ns);
	thread_table_free(&table);
	sketch_free(&sketch);
}
END_TEST

/* Of 500000 in which the thread was neither on a CPU nor in a call. */
static const struct {
	uint64_t queued_ns[3];
	uint64_t expected_ns;
} queue_rows[] = {
	/* 0: not known */ { { 0, 0, 0 }, 0 },
	/* 1 */ { { 1000, 2000, 201000 }, 200000 },
	/* 2: not known at first */ { { 0, 1000, 201000 }, 200000 },
	/* 3: known once only */ { { 0, 1000, 0 }, 0 },
	/* 4: after waits in calls, too */ { { 1, 1000, 900001 }, 500000 },
	/* 5: a slot's last tenant's */ { { 5000, 1000, 2000 }, 0 },
};

START_TEST(waits_for_a_cpu_are_as_the_kernel_says)
{
	struct rec_thread thread = { .op = NO_INDEX };
	struct rec_process process = { .op = NO_INDEX };
	struct rec_sample samples[3] = { { .at_ns = 1, .cpu_ns = 0 },
					 { .at_ns = 500001, .cpu_ns = 250000 },
					 { .at_ns = 1000001, .cpu_ns = 500000 } };
	struct sketch sketch;
	struct thread_table table;
	sketch_begin(&sketch);
	for (int i = 0; i < 3; i++)
		samples[i].queued_ns = queue_rows[_i].queued_ns[i];
	sketch.rec.threads = &thread;
	sketch.rec.thread_count = 1;
	sketch.rec.processes = &process;
	sketch.rec.process_count = 1;
	sketch.rec.samples = samples;
	sketch.rec.sample_count = 3;
	thread_table_build(&table, &sketch.rec);
	ck_assert_uint_eq(table.rows[0].queued_ns, queue_rows[_i].expected_ns);
	ck_assert_uint_eq(table.rows[0].unexplained_ns, 500000 - queue_rows[_i].expected_ns);
	ck_assert_uint_eq(table.processes[0].queued_ns, queue_rows[_i].expected_ns);
	thread_table_free(&table);
	sketch_free(&sketch);
}
END_TEST

START_TEST(without_threads_there_is_nothing)
{
	struct sketch sketch;
	struct thread_table table;
	random_sketch(&sketch, 7, true);
	thread_table_build(&table, &sketch.rec);
	ck_assert_uint_eq(table.count, 0);
	thread_table_free(&table);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(a_threads_time_is_the_sum_of_its_parts, rows);
	LOOP(random_calls_add_up, 0, 200);
	EACH(waits_for_a_cpu_are_as_the_kernel_says, queue_rows);
	TEST(without_threads_there_is_nothing);
}

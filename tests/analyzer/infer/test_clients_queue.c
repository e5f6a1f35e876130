/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if clients of their own are taken to be one thread, or it to be such clients. Where nothing
 * shows either, neither may be told. */
#include "client_queue.h"
#include "infer/clients.h"
#include "suite.h"

static const struct {
	struct client_queue queue;
	enum clients_end end;
} rows[] = {
	/* 0: the thread limits the load */ { { 1, 0.5, 5, 0.5, 0, 0, 0, 0 },
					      CLIENTS_END_ONE_THREAD },
	/* 1 */ { { 1, 0.2, 2.2, 0.5, 0, 0, 0, 0 }, CLIENTS_END_ONE_THREAD },
	/* 2: server and thread do about as much */
	{ { 1, 0.5, 3, 1.5, 0, 0, 0, 0 }, CLIENTS_END_ONE_THREAD },
	/* 3 */ { { 0, 1, 20, 0.5, 0, 0, 0, 0 }, CLIENTS_END_INDEPENDENT },
	/* 4: a busy server */ { { 0, 1, 20, 1.2, 0, 0, 0, 0 }, CLIENTS_END_INDEPENDENT },
	/* 5: all think as long */ { { 0, 10, 10, 0.5, 0, 0, 0, 0 }, CLIENTS_END_UNKNOWN },
	/* 6: about as long */ { { 0, 10, 10.2, 0.5, 0, 0, 0, 0 }, CLIENTS_END_UNKNOWN },
	/* 7: two threads take turns, now and then not */
	{ { 2, 1, 3, 0.3, 0, 0, 0, 0 }, CLIENTS_END_UNKNOWN },
	/* 8: the server is always busy */ { { 1, 0.1, 0.2, 2, 0, 0, 0, 0 }, CLIENTS_END_UNKNOWN },
};

START_TEST(the_order_of_questions_shows_who_asks)
{
	struct queue_run run;
	struct sketch sketch;
	struct clients clients;

	queue_sketch(&sketch, &rows[_i].queue, &run);
	clients_build(&clients, &sketch.rec, &sketch.classes, (struct clients_wanted){ 0 });
	ck_assert_int_eq(clients.end, rows[_i].end);
	ck_assert_uint_eq(clients.asker_count, QUEUE_CLIENTS);
	ck_assert_int_eq(clients.work_ns != NULL, rows[_i].end == CLIENTS_END_ONE_THREAD);
	if (rows[_i].end == CLIENTS_END_ONE_THREAD) {
		ck_assert(clients.is_told);
		ck_assert_int_eq(clients.sort, CLIENTS_CLOSED);
		ck_assert_double_eq_tol((double)clients.busy_ns / (double)clients.asked_ns,
					run.busy_ms / run.makespan_ms, 0.03);
	}
	clients_free(&clients);
	sketch_free(&sketch);
}
END_TEST

/* Its questions that the server waited for have their own times, and all its work adds up. */
START_TEST(the_thread_works_for_each_question_in_turn)
{
	struct queue_run run;
	struct sketch sketch;
	struct clients clients;
	uint64_t free_ns = 0, works_ns = 0;
	size_t count = 0;

	queue_sketch(&sketch, &rows[0].queue, &run);
	clients_build(&clients, &sketch.rec, &sketch.classes, (struct clients_wanted){ 0 });
	for (uint32_t i = 0, done = 0; i < sketch.rec.op_count; i++) {
		uint32_t send = clients.send_of[i];

		if (send == NO_INDEX)
			continue;
		double asked_ms = run.asked_ms[done++];
		const struct rec_op *op = &clients.recording.ops[send];
		uint64_t work_ns = clients.work_ns[send - clients.first_op];

		ck_assert_double_eq_tol((double)op->start_ns / 1e6, asked_ms, 0.5);
		if (work_ns == UINT64_MAX)
			continue;
		ck_assert_uint_le(free_ns + work_ns, op->start_ns);
		free_ns = op->start_ns;
		works_ns += work_ns;
		count++;
	}
	ck_assert_uint_eq(count, QUEUE_REQUESTS - QUEUE_CLIENTS);
	ck_assert_uint_eq(works_ns, clients.busy_ns);
	clients_free(&clients);
	sketch_free(&sketch);
}
END_TEST

/* The user knows better. */
START_TEST(open_ones_are_no_thread)
{
	struct queue_run run;
	struct sketch sketch;
	struct clients clients;

	queue_sketch(&sketch, &rows[0].queue, &run);
	clients_build(&clients, &sketch.rec, &sketch.classes,
		      (struct clients_wanted){ .word = CLIENTS_TAKEN_OPEN });
	ck_assert_int_eq(clients.end, CLIENTS_END_UNKNOWN);
	ck_assert_int_eq(clients.sort, CLIENTS_OPEN);
	clients_free(&clients);
	sketch_free(&sketch);
}
END_TEST

/* Its answers vary, and its questions do not. */
START_TEST(a_thread_with_a_timetable_is_open)
{
	static const struct client_queue paced = {
		.threads = 1, .serve_ms = 0.3, .slow_ms = 6, .every_ms = 1
	};
	struct queue_run run;
	struct sketch sketch;
	struct clients clients;

	queue_sketch(&sketch, &paced, &run);
	clients_build(&clients, &sketch.rec, &sketch.classes, (struct clients_wanted){ 0 });
	ck_assert_int_eq(clients.end, CLIENTS_END_UNKNOWN);
	ck_assert_int_eq(clients.sort, CLIENTS_OPEN);
	ck_assert_double_eq_tol((double)clients.table_ns / 1e6, QUEUE_CLIENTS, 0.01);
	clients_free(&clients);
	sketch_free(&sketch);
}
END_TEST

/* Its work for each question takes as long, so that these come as by a timetable. After a long
 * answer, which all await, they do not. */
START_TEST(a_thread_that_is_as_busy_all_the_time_is_one)
{
	static const struct client_queue even = {
		.threads = 1, .least_ms = 1, .most_ms = 1.1, .serve_ms = 0.3, .slow_ms = 9
	};
	struct queue_run run;
	struct sketch sketch;
	struct clients clients;

	queue_sketch(&sketch, &even, &run);
	clients_build(&clients, &sketch.rec, &sketch.classes, (struct clients_wanted){ 0 });
	ck_assert_int_eq(clients.end, CLIENTS_END_ONE_THREAD);
	ck_assert_int_eq(clients.sort, CLIENTS_CLOSED);
	clients_free(&clients);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(the_order_of_questions_shows_who_asks, rows);
	TEST(the_thread_works_for_each_question_in_turn);
	TEST(open_ones_are_no_thread);
	TEST(a_thread_with_a_timetable_is_open);
	TEST(a_thread_that_is_as_busy_all_the_time_is_one);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if clients that wait for their answers are taken for such that do not, or the other way. */
#include "client_server.h"
#include "infer/clients.h"
#include "suite.h"

enum { REQUESTS = 40 };

static const char name[] = "tcp 1.2.3.4:80>1.2.3.4:5001";

/* The work takes 1 to 4 ms in turn. */
static void serve(struct sketch *sketch, bool is_open, double every_ms)
{
	double read_ms = 0, sent_ms = 5;

	sketch_begin(sketch);
	sketch_thread(sketch, "serve", 0, 5000);
	for (int i = 0; i < REQUESTS; i++) {
		double work_ms = 1 + i % 4, got_ms = sent_ms > read_ms ? sent_ms : read_ms;

		served_request(sketch, 0, name, read_ms, got_ms, work_ms);
		read_ms = got_ms + work_ms + 0.5;
		sent_ms = is_open ? sent_ms + every_ms : read_ms + every_ms;
	}
	sketch_end(sketch);
}

static const struct {
	bool is_open;
	double every_ms;
	enum clients_sort sort;
	double think_ms;
	double table_ms;
} rows[] = {
	/* 0 */ { false, 2, CLIENTS_CLOSED, 2, 0 },
	/* 1 */ { false, 20, CLIENTS_CLOSED, 20, 0 },
	/* 2 */ { true, 6, CLIENTS_OPEN, 0, 6 },
	/* 3: some answers come after the next question */ { true, 4, CLIENTS_OPEN, 0, 4 },
};

/* Each answer takes 1 ms, but the 21st takes 34: the client awaits it, and catches up. */
START_TEST(a_late_question_was_due_before)
{
	struct sketch sketch;
	struct clients clients;
	double read_ms = 0, sent_ms;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "serve", 0, 5000);
	for (int i = 0; i < REQUESTS; i++) {
		double due_ms = 5 + 10 * i, work_ms = i == 20 ? 34 : 0.5 + i % 3;

		sent_ms = due_ms > read_ms + 0.2 ? due_ms : read_ms + 0.2;
		served_request(&sketch, 0, name, read_ms, sent_ms, work_ms);
		read_ms = sent_ms + work_ms + 0.5;
	}
	sketch_end(&sketch);
	clients_build(&clients, &sketch.rec, &sketch.classes, (struct clients_wanted){ 0 });
	ck_assert_int_eq(clients.sort, CLIENTS_OPEN);
	ck_assert_double_eq_tol((double)clients.table_ns / 1e6, 10, 0.001);
	for (uint32_t i = 0; i < REQUESTS; i++)
		ck_assert_double_eq_tol((double)clients.due_ns[2 * i] / 1e6, 5 + 10 * i, 0.001);
	clients_free(&clients);
	sketch_free(&sketch);
}
END_TEST

START_TEST(the_sort_shows_in_when_questions_come)
{
	struct sketch sketch;
	struct clients clients;

	serve(&sketch, rows[_i].is_open, rows[_i].every_ms);
	clients_build(&clients, &sketch.rec, &sketch.classes, (struct clients_wanted){ 0 });
	ck_assert(clients.is_told);
	ck_assert_int_eq(clients.sort, rows[_i].sort);
	ck_assert_double_eq_tol((double)clients.think_ns / 1e6, rows[_i].think_ms, 0.001);
	ck_assert_double_eq_tol((double)clients.table_ns / 1e6, rows[_i].table_ms, 0.001);
	for (uint32_t i = 0; i < REQUESTS && rows[_i].is_open; i++)
		ck_assert_double_eq_tol((double)clients.due_ns[2 * i] / 1e6,
					5 + i * rows[_i].every_ms, 0.001);
	clients_free(&clients);
	sketch_free(&sketch);
}
END_TEST

/* The client's own clock is late by up to 0.8 ms, mostly just before an answer takes 34 ms. That is
 * no part of its timetable: all questions that had to wait were due at its times. */
START_TEST(a_late_client_has_the_same_timetable)
{
	struct sketch sketch;
	struct clients clients;
	double read_ms = 0, ready_ms[REQUESTS] = { 0 };

	sketch_begin(&sketch);
	sketch_thread(&sketch, "serve", 0, 5000);
	for (int i = 0; i < REQUESTS; i++) {
		double due_ms = 5 + 10 * i, late_ms = i % 10 == 4 ? 0.8 : 0.1 * (i % 3);
		double work_ms = i % 10 == 4 ? 34 : 0.5 + i % 3;
		double sent_ms =
			due_ms + late_ms > read_ms + 0.2 ? due_ms + late_ms : read_ms + 0.2;

		ready_ms[i] = read_ms;
		served_request(&sketch, 0, name, read_ms, sent_ms, work_ms);
		read_ms = sent_ms + work_ms + 0.5;
	}
	sketch_end(&sketch);
	clients_build(&clients, &sketch.rec, &sketch.classes, (struct clients_wanted){ 0 });
	ck_assert_int_eq(clients.sort, CLIENTS_OPEN);
	for (uint32_t i = 0; i < REQUESTS; i++)
		if (5 + 10 * i < ready_ms[i] - 1)
			ck_assert_double_eq_tol((double)clients.due_ns[2 * i] / 1e6, 5 + 10 * i,
						0.001);
	clients_free(&clients);
	sketch_free(&sketch);
}
END_TEST

/* The client sleeps for 10 ms between its questions, whenever the last one came: it is no later in
 * the end than in the beginning. */
START_TEST(a_client_without_a_clock_is_not_late)
{
	struct sketch sketch;
	struct clients clients;
	double sent_ms = 5, sent[REQUESTS];

	sketch_begin(&sketch);
	sketch_thread(&sketch, "serve", 0, 5000);
	for (int i = 0; i < REQUESTS; i++) {
		served_request(&sketch, 0, name, i ? sent[i - 1] + 5 : 0, sent_ms, 1 + i % 4);
		sent[i] = sent_ms;
		sent_ms += 10 + (i < REQUESTS / 2 ? 0.1 : -0.1) * (i % 2);
	}
	sketch_end(&sketch);
	clients_build(&clients, &sketch.rec, &sketch.classes, (struct clients_wanted){ 0 });
	ck_assert_int_eq(clients.sort, CLIENTS_OPEN);
	for (uint32_t i = 0; i < REQUESTS; i++)
		ck_assert_double_eq_tol((double)clients.due_ns[2 * i] / 1e6, sent[i], 0.001);
	clients_free(&clients);
	sketch_free(&sketch);
}
END_TEST

/* All answers take as long: nothing tells, and clients are taken to wait. */
START_TEST(it_may_not_show)
{
	struct sketch sketch;
	struct clients clients;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "serve", 0, 5000);
	for (int i = 0; i < REQUESTS; i++)
		served_request(&sketch, 0, name, 10 * i + 5.5, 10 * i + 10, 5);
	sketch_end(&sketch);
	clients_build(&clients, &sketch.rec, &sketch.classes, (struct clients_wanted){ 0 });
	ck_assert(!clients.is_told);
	ck_assert_int_eq(clients.sort, CLIENTS_CLOSED);
	clients_free(&clients);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(the_sort_shows_in_when_questions_come, rows);
	TEST(a_late_question_was_due_before);
	TEST(a_late_client_has_the_same_timetable);
	TEST(a_client_without_a_clock_is_not_late);
	TEST(it_may_not_show);
}

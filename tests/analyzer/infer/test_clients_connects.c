/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a client with many connections does not go on when it has its answer, or if connections
 * that come by themselves do. */
#include <math.h>

#include "client_server.h"
#include "infer/clients.h"
#include "suite.h"

enum { CONNECTIONS = 24 };

static char idents[CONNECTIONS][40];

/* A thread accepts each connection, reads, and answers after 1 to 4 ms. */
static void serve(struct sketch *sketch,
		  double (*next_ms)(int number, double begun_ms, double answered_ms))
{
	double from_ms = 0, at_ms = 5;

	sketch_begin(sketch);
	sketch_thread(sketch, "serve", 0, 5000);
	for (int i = 0; i < CONNECTIONS; i++) {
		double work_ms = 1 + i % 4;

		snprintf(idents[i], sizeof(idents[i]), "tcp 1.2.3.4:80>1.2.3.4:%d", 5000 + i);
		sketch_io(sketch, 0, "accept", "tcp listen 0.0.0.0:80", 0, from_ms, at_ms);
		served_request(sketch, 0, idents[i], at_ms, at_ms, work_ms);
		from_ms = at_ms + work_ms + 0.5;
		at_ms = next_ms(i, at_ms, from_ms);
	}
	sketch_end(sketch);
}

static double at_once(int number, double begun_ms, double answered_ms)
{
	(void)number;
	(void)begun_ms;
	return answered_ms + 0.1;
}

static double a_while_after(int number, double begun_ms, double answered_ms)
{
	(void)number;
	(void)begun_ms;
	return answered_ms + 20;
}

static double by_the_clock(int number, double begun_ms, double answered_ms)
{
	(void)number;
	(void)answered_ms;
	return begun_ms + 20;
}

static double at_any_time(int number, double begun_ms, double answered_ms)
{
	(void)begun_ms;
	return answered_ms + 5 + 7 * (number * 5 % 11);
}

static const struct {
	double (*next_ms)(int, double, double);
	enum clients_sort sort;
	bool is_told;
	size_t count;
	double think_ms;
} rows[] = {
	/* 0 */ { at_once, CLIENTS_CLOSED, true, 1, 0.1 },
	/* 1 */ { a_while_after, CLIENTS_CLOSED, true, 1, 20 },
	/* 2 */ { by_the_clock, CLIENTS_OPEN, true, CONNECTIONS, 0 },
	/* 3 */ { at_any_time, CLIENTS_OPEN, false, CONNECTIONS, 0 },
};

START_TEST(a_client_may_come_again)
{
	struct sketch sketch;
	struct clients clients;

	serve(&sketch, rows[_i].next_ms);
	clients_build(&clients, &sketch.rec, &sketch.classes, (struct clients_wanted){ 0 });
	ck_assert_int_eq(clients.sort, rows[_i].sort);
	ck_assert(clients.is_told == rows[_i].is_told);
	ck_assert_uint_eq(clients.count, rows[_i].count);
	ck_assert_double_eq_tol((double)clients.think_ns / 1e6, rows[_i].think_ms, 0.001);
	const struct recording *rec = &clients.recording;

	for (size_t i = clients.first_op; i < rec->op_count; i += 3) {
		ck_assert_str_eq(rec->strings[rec->ops[i].name], "connect");
		ck_assert_str_eq(rec->strings[rec->ops[i + 1].name], "send");
		ck_assert_str_eq(rec->strings[rec->ops[i + 2].name], "recv");
		ck_assert_uint_eq(rec->ops[i].start_ns, rec->ops[i + 1].start_ns);
	}
	clients_free(&clients);
	sketch_free(&sketch);
}
END_TEST

/* Three clients come again at once. Each has a thread, and these work one after the other, for as
 * long. So clients come at steps as of a timetable. */
START_TEST(a_bottleneck_is_no_timetable)
{
	double end_ms[CONNECTIONS + 3] = { 1, 1.5, 2 };
	struct sketch sketch;
	struct clients clients;

	sketch_begin(&sketch);
	for (int i = 0; i < 3; i++)
		sketch_thread(&sketch, "serve", 0, 5000);
	for (int i = 0; i < CONNECTIONS; i++) {
		double at_ms = end_ms[i] + 0.6 + 0.05 * (i * 5 % 7), *own_ms = &end_ms[i + 3];

		*own_ms = fmax(at_ms, own_ms[-1]) + 2 + 0.01 * (i * 3 % 5);
		snprintf(idents[i], sizeof(idents[i]), "tcp 1.2.3.4:80>1.2.3.4:%d", 5000 + i);
		sketch_io(&sketch, (uint32_t)i % 3, "accept", "tcp listen 0.0.0.0:80", 0, end_ms[i],
			  at_ms);
		served_request(&sketch, (uint32_t)i % 3, idents[i], at_ms, at_ms, *own_ms - at_ms);
	}
	sketch_end(&sketch);
	clients_build(&clients, &sketch.rec, &sketch.classes, (struct clients_wanted){ 0 });
	ck_assert_int_eq(clients.sort, CLIENTS_CLOSED);
	ck_assert_uint_eq(clients.count, 3);
	clients_free(&clients);
	sketch_free(&sketch);
}
END_TEST

/* The port of a client comes again after some connections, of which each was closed. */
START_TEST(a_name_may_come_again)
{
	struct sketch sketch;
	struct clients clients;
	size_t connects = 0, number_sum = 0;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "serve", 0, 5000);
	for (int i = 0; i < CONNECTIONS; i++) {
		double at_ms = 10 * i + 5;

		snprintf(idents[i], sizeof(idents[i]), "tcp 1.2.3.4:80>1.2.3.4:%d", 5000 + i % 3);
		sketch_io(&sketch, 0, "accept", "tcp listen 0.0.0.0:80", 0, at_ms - 4, at_ms);
		served_request(&sketch, 0, idents[i], at_ms, at_ms, 1);
		served_call(&sketch, 0, "close", idents[i], 0, at_ms + 2, at_ms + 2);
	}
	sketch_end(&sketch);
	clients_build(&clients, &sketch.rec, &sketch.classes, (struct clients_wanted){ 0 });
	const struct recording *rec = &clients.recording;

	for (size_t i = clients.first_op; i < rec->op_count; i++) {
		if (strcmp(rec->strings[rec->ops[i].name], "connect") != 0)
			continue;
		connects++;
		number_sum += rec->ops[i].start_ns / 10000000;
	}
	/* each came when it was accepted */
	ck_assert_uint_eq(number_sum, CONNECTIONS * (CONNECTIONS - 1) / 2);
	ck_assert_uint_eq(connects, CONNECTIONS);
	clients_free(&clients);
	sketch_free(&sketch);
}
END_TEST

/* One client has the first two connections, one after the other, and another one the third. */
START_TEST(a_client_is_called_as_its_connection)
{
	static const double at_ms[] = { 5, 20, 6 }, work_ms[] = { 1, 1, 24 };
	struct sketch sketch;
	struct clients clients;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "serve", 0, 50);
	sketch_thread(&sketch, "serve", 0, 50);
	for (uint32_t i = 0; i < 3; i++) {
		snprintf(idents[i], sizeof(idents[i]), "tcp 1.2.3.4:80>1.2.3.4:%d", 5000 + i);
		sketch_io(&sketch, i / 2, "accept", "tcp listen 0.0.0.0:80", 0, at_ms[i] - 4,
			  at_ms[i]);
		served_request(&sketch, i / 2, idents[i], at_ms[i], at_ms[i], work_ms[i]);
	}
	sketch_end(&sketch);
	clients_build(&clients, &sketch.rec, &sketch.classes, (struct clients_wanted){ 0 });
	ck_assert_uint_eq(clients.count, 2);
	const struct recording *rec = &clients.recording;

	ck_assert_str_eq(rec->strings[rec->threads[clients.first_thread].name], idents[0]);
	ck_assert_str_eq(rec->strings[rec->threads[clients.first_thread + 1].name], idents[2]);
	clients_free(&clients);
	sketch_free(&sketch);
}
END_TEST

/* As few as can be are one. */
START_TEST(the_user_may_know_how_many_there_are)
{
	static const size_t counts[] = { 1, 2, 3, CONNECTIONS, CONNECTIONS };
	static const char *const words[] = { "1", "2", "3", "24", "25" };
	struct sketch sketch;
	struct clients clients;
	struct clients_wanted wanted;

	ck_assert(!clients_parse("2x", &wanted) && !clients_parse("0", &wanted));
	ck_assert(clients_parse(words[_i], &wanted));
	ck_assert_int_eq(wanted.word, CLIENTS_TAKEN_CLOSED);
	serve(&sketch, at_any_time);
	clients_build(&clients, &sketch.rec, &sketch.classes, wanted);
	ck_assert_int_eq(clients.sort, CLIENTS_CLOSED);
	ck_assert_uint_eq(clients.count, counts[_i]);
	clients_free(&clients);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(a_client_is_called_as_its_connection);
	TEST(a_bottleneck_is_no_timetable);
	TEST(a_name_may_come_again);
	LOOP(the_user_may_know_how_many_there_are, 0, 5);
	EACH(a_client_may_come_again, rows);
}

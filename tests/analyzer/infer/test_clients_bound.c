/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if clients that connect for each request, and are seldom all connected, are told as open.
 * Or if others are told as closed, as a server that was at work accepted nobody. */
#include "client_server.h"
#include "infer/clients.h"
#include "suite.h"

#include <math.h>

enum { CONNECTIONS = 48, CLIENTS = 3 };

static char idents[CONNECTIONS][40];

static uint32_t state = 12345;

/* 0 to 1, the same numbers in each run. */
static double chance(void)
{
	state = state * 1664525 + 1013904223;
	return (double)(state >> 8) / (1 << 24);
}

static const char *ident_of(int number)
{
	snprintf(idents[number], sizeof(idents[number]), "tcp 1.2.3.4:80>1.2.3.4:%d",
		 5000 + number);
	return idents[number];
}

/* One thread accepts, others serve, each one connection at a time: the first that is free. */
static void serve(struct sketch *sketch, const double *begun_ms, const double *taken_ms,
		  bool ends_early)
{
	double accepted_ms = 0, free_ms[CONNECTIONS] = { 0 };

	sketch_begin(sketch);
	sketch_thread(sketch, "accept", 0, 5000);
	for (int i = 0; i < CONNECTIONS / 2; i++)
		sketch_thread(sketch, "serve", 0, 5000);
	for (int i = 0; i < CONNECTIONS; i++) {
		uint32_t server = 0;

		while (free_ms[server] > begun_ms[i])
			server++;
		free_ms[server] = begun_ms[i] + taken_ms[i];
		sketch_io(sketch, 0, "accept", "tcp listen 0.0.0.0:80", 0, accepted_ms,
			  begun_ms[i]);
		served_request(sketch, server + 1, ident_of(i), begun_ms[i], begun_ms[i],
			       taken_ms[i]);
		accepted_ms = begun_ms[i] + 0.01;
	}
	if (ends_early) {
		sketch_io(sketch, 0, "accept", "tcp listen 0.0.0.0:80", 0, accepted_ms,
			  accepted_ms + 20);
		served_call(sketch, 1, "read", "tcp 1.2.3.4:80>1.2.3.4:4999", 10, accepted_ms + 20,
			    accepted_ms + 20);
	}
	sketch_end(sketch);
}

static enum clients_sort sort_of(struct sketch *sketch, bool *is_told)
{
	struct clients clients;

	clients_build(&clients, &sketch->rec, &sketch->classes, (struct clients_wanted){ 0 });
	enum clients_sort sort = clients.sort;
	*is_told = clients.is_told;
	if (sort == CLIENTS_CLOSED)
		ck_assert_uint_eq(clients.count, CLIENTS);
	clients_free(&clients);
	sketch_free(sketch);
	return sort;
}

/* Each thinks for any time, mostly for longer than its answer takes. */
static void expect_closed(bool ends_early)
{
	struct sketch sketch;
	double begun_ms[CONNECTIONS], taken_ms[CONNECTIONS], next_ms[CLIENTS] = { 1, 2, 3 };
	bool is_told;

	for (int i = 0; i < CONNECTIONS; i++) {
		int client = 0;

		for (int k = 1; k < CLIENTS; k++)
			client = next_ms[k] < next_ms[client] ? k : client;
		begun_ms[i] = next_ms[client];
		taken_ms[i] = 1 + 7 * chance();
		next_ms[client] += taken_ms[i] + 10 * chance();
	}
	serve(&sketch, begun_ms, taken_ms, ends_early);
	ck_assert_int_eq(sort_of(&sketch, &is_told), CLIENTS_CLOSED);
	ck_assert(is_told);
}

START_TEST(clients_make_no_connection_while_all_have_one)
{
	expect_closed(false);
}
END_TEST

/* It ends as it begins. */
START_TEST(the_recording_may_end_as_a_connection_begins)
{
	expect_closed(true);
}
END_TEST

/* As many in a second, which answers take as long. */
START_TEST(connections_may_come_by_themselves)
{
	struct sketch sketch;
	double begun_ms[CONNECTIONS], taken_ms[CONNECTIONS], at_ms = 1;
	bool is_told;

	for (int i = 0; i < CONNECTIONS; i++) {
		begun_ms[i] = at_ms;
		taken_ms[i] = 1 + 7 * chance();
		at_ms -= 3 * log(1 - chance());
	}
	serve(&sketch, begun_ms, taken_ms, false);
	ck_assert_int_eq(sort_of(&sketch, &is_told), CLIENTS_OPEN);
	ck_assert(!is_told);
}
END_TEST

/* One thread accepts and serves: nobody could come while it was at work. */
START_TEST(a_server_at_work_accepts_nobody)
{
	struct sketch sketch;
	double at_ms = 1, accepted_ms = 0;
	bool is_told;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "serve", 0, 5000);
	for (int i = 0; i < CONNECTIONS; i++) {
		double taken_ms = 1 + 3 * chance();

		sketch_io(&sketch, 0, "accept", "tcp listen 0.0.0.0:80", 0, accepted_ms, at_ms);
		served_request(&sketch, 0, ident_of(i), at_ms, at_ms, taken_ms);
		accepted_ms = at_ms + taken_ms + 0.1;
		at_ms += taken_ms + 0.2 + 12 * chance();
	}
	sketch_end(&sketch);
	ck_assert_int_eq(sort_of(&sketch, &is_told), CLIENTS_OPEN);
	ck_assert(!is_told);
}
END_TEST

SUITE()
{
	TEST(clients_make_no_connection_while_all_have_one);
	TEST(the_recording_may_end_as_a_connection_begins);
	TEST(connections_may_come_by_themselves);
	TEST(a_server_at_work_accepts_nobody);
}

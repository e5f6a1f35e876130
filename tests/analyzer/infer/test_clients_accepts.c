/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a connection that carries nothing, as of a health check, has an accept of another one.
 * Or if the server waits for it in the replay. */
#include "client_server.h"
#include "infer/clients.h"
#include "suite.h"

enum { CONNECTIONS = 8, CHECKED = 3 };

/* Connection i comes at 10 * i + 5 ms, the check at this time. */
static const double check_ms = 10 * CHECKED + 1;

static double begun_ms(int number)
{
	return 10 * number + 5;
}

static const char *named(int number)
{
	static char names[CONNECTIONS][40];

	snprintf(names[number], sizeof(names[number]), "tcp 1.2.3.4:80>1.2.3.4:%d", 5000 + number);
	return names[number];
}

static void serve(struct sketch *sketch, bool is_check_recorded)
{
	double from_ms = 0;

	sketch_begin(sketch);
	sketch_thread(sketch, "serve", 0, 200);
	sketch_thread(sketch, "check", 0, 200);
	for (int i = 0; i < CONNECTIONS; i++) {
		if (i == CHECKED) {
			sketch_io(sketch, 0, "accept", "tcp listen 0.0.0.0:80", 0, from_ms,
				  check_ms);
			from_ms = check_ms;
		}
		sketch_io(sketch, 0, "accept", "tcp listen 0.0.0.0:80", 0, from_ms, begun_ms(i));
		served_request(sketch, 0, named(i), begun_ms(i), begun_ms(i), 1);
		from_ms = begun_ms(i) + 2;
	}
	if (is_check_recorded)
		sketch_io(sketch, 1, "connect", "tcp 1.2.3.4:4999>1.2.3.4:80", 0, check_ms,
			  check_ms);
	sketch_end(sketch);
}

START_TEST(accepts_without_bytes_are_of_a_client_of_their_own)
{
	struct sketch sketch;
	struct clients clients;
	size_t connects = 0, checks = 0;

	serve(&sketch, _i);
	clients_build(&clients, &sketch.rec, &sketch.classes,
		      (struct clients_wanted){ .word = CLIENTS_TAKEN_OPEN });
	const struct recording *rec = &clients.recording;

	for (size_t i = clients.first_op; i < rec->op_count; i++) {
		const struct rec_op *op = &rec->ops[i];

		if (strcmp(rec->strings[op->name], "connect") != 0)
			continue;
		if (op->thread == clients.first_thread + CONNECTIONS) {
			ck_assert_uint_eq(op->start_ns, (uint64_t)(check_ms * 1e6));
			ck_assert_str_eq(rec->strings[op->ident], "tcp 1.2.3.4:5000>1.2.3.4:80");
			checks++;
		} else {
			ck_assert_uint_eq(op->start_ns, (uint64_t)(begun_ms((int)connects) * 1e6));
			connects++;
		}
	}
	ck_assert_uint_eq(connects, CONNECTIONS);
	/* nothing is made up where the recording has it */
	ck_assert_uint_eq(checks, _i ? 0 : 1);
	ck_assert_uint_eq(clients.count, CONNECTIONS + checks);
	clients_free(&clients);
	sketch_free(&sketch);
}
END_TEST

/* Names of connections to a path have that, and a number of their own. */
START_TEST(accepts_at_a_path_are_known)
{
	struct sketch sketch;
	struct clients clients;
	size_t connects = 0;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "serve", 0, 200);
	for (int i = 0; i < CONNECTIONS; i++) {
		static char names[CONNECTIONS][40];
		char *name = names[i];

		snprintf(name, sizeof(names[i]), "unix /run/%s#%d", i % 2 ? "b" : "a", 5000 + i);
		sketch_io(&sketch, 0, "accept", i % 2 ? "unix listen /run/b" : "unix listen /run/a",
			  0, i ? begun_ms(i - 1) + 2 : 0, begun_ms(i));
		served_request(&sketch, 0, name, begun_ms(i), begun_ms(i), 1);
	}
	sketch_end(&sketch);
	clients_build(&clients, &sketch.rec, &sketch.classes,
		      (struct clients_wanted){ .word = CLIENTS_TAKEN_OPEN });
	const struct recording *rec = &clients.recording;

	for (size_t i = clients.first_op; i < rec->op_count; i++) {
		if (strcmp(rec->strings[rec->ops[i].name], "connect") != 0)
			continue;
		ck_assert_uint_eq(rec->ops[i].start_ns % 10000000, 5000000);
		connects++;
	}
	ck_assert_uint_eq(connects, CONNECTIONS);
	clients_free(&clients);
	sketch_free(&sketch);
}
END_TEST

/* A check comes while an answer is written to a client that was there before the recording. */
START_TEST(a_connection_is_not_older_than_its_accept)
{
	struct sketch sketch;
	struct clients clients;
	size_t connects = 0;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "serve", 0, 100);
	sketch_thread(&sketch, "accept", 0, 100);
	served_call(&sketch, 0, "write", "tcp 1.2.3.4:80>1.2.3.4:5000", 20, 5, 30);
	sketch_io(&sketch, 1, "accept", "tcp listen 0.0.0.0:80", 0, 0, 10);
	sketch_end(&sketch);
	clients_build(&clients, &sketch.rec, &sketch.classes, (struct clients_wanted){ 0 });
	const struct recording *rec = &clients.recording;

	ck_assert_uint_eq(clients.count, 2);
	for (size_t i = clients.first_op; i < rec->op_count; i++) {
		const struct rec_op *op = &rec->ops[i];

		ck_assert_uint_le(op->start_ns, op->end_ns);
		connects += strcmp(rec->strings[op->name], "connect") == 0;
	}
	ck_assert_uint_eq(connects, 1);
	clients_free(&clients);
	sketch_free(&sketch);
}
END_TEST

static void accept_named(struct sketch *sketch, int number, double from_ms, double to_ms)
{
	uint32_t op = sketch_io(sketch, 0, "accept", "tcp listen 0.0.0.0:80", 0, from_ms, to_ms);

	sketch->rec.extras[op].other_ident = sketch_string(sketch, named(number));
}

/* One thread accepts; another serves each some time later, but not the last ones. */
START_TEST(accepted_connections_wait_for_their_turn)
{
	struct sketch sketch;
	struct clients clients;
	int connects = 0;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "accept", 0, 200);
	sketch_thread(&sketch, "serve", 0, 200);
	for (int i = 0; i < CONNECTIONS; i++)
		accept_named(&sketch, i, i ? begun_ms(i - 1) : 0, begun_ms(i));
	for (int i = 0; i < CONNECTIONS - CHECKED; i++)
		served_request(&sketch, 1, named(i), begun_ms(i) + 25, begun_ms(i) + 25, 5);
	if (_i) /* nobody speaks with the last one, which is closed */
		sketch_io(&sketch, 0, "close", named(CONNECTIONS - 1), 0, 190, 190);
	sketch_end(&sketch);
	clients_build(&clients, &sketch.rec, &sketch.classes,
		      (struct clients_wanted){ .word = CLIENTS_TAKEN_OPEN });
	const struct recording *rec = &clients.recording;

	ck_assert_uint_eq(clients.asker_count, CONNECTIONS - _i);
	ck_assert_uint_eq(clients.count, CONNECTIONS);
	for (size_t i = clients.first_op; i < rec->op_count; i++) {
		const struct rec_op *op = &rec->ops[i];
		int port;

		if (strcmp(rec->strings[op->name], "connect") != 0)
			continue;
		ck_assert_int_eq(sscanf(rec->strings[op->ident], "tcp 1.2.3.4:%d", &port), 1);
		if (connects < CONNECTIONS - _i)
			ck_assert_uint_eq(op->start_ns, (uint64_t)(begun_ms(port - 5000) * 1e6));
		connects++;
	}
	ck_assert_int_eq(connects, CONNECTIONS);
	clients_free(&clients);
	sketch_free(&sketch);
}
END_TEST

/* One poll found the first of two connections. */
START_TEST(a_second_accept_may_be_of_a_later_connection)
{
	struct sketch sketch;
	struct clients clients;
	double connects_ms[2] = { 0 };

	sketch_begin(&sketch);
	sketch_thread(&sketch, "serve", 0, 100);
	served_poll(&sketch, 0, 1, 1, 10);
	accept_named(&sketch, 0, 10, 10.01);
	accept_named(&sketch, 1, 12, 12.01);
	for (int i = 0; i < 2; i++)
		served_request(&sketch, 0, named(i), 20 + 10 * i, 20 + 10 * i, 5);
	sketch_end(&sketch);
	clients_build(&clients, &sketch.rec, &sketch.classes,
		      (struct clients_wanted){ .word = CLIENTS_TAKEN_OPEN });
	const struct recording *rec = &clients.recording;

	for (size_t i = clients.first_op; i < rec->op_count; i++)
		if (strcmp(rec->strings[rec->ops[i].name], "connect") == 0)
			connects_ms[strstr(rec->strings[rec->ops[i].ident], ":5001>") != NULL] =
				(double)rec->ops[i].start_ns / SKETCH_MS;
	ck_assert_double_eq(connects_ms[0], 10);
	ck_assert_double_gt(connects_ms[1], 10);
	clients_free(&clients);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(a_second_accept_may_be_of_a_later_connection);
	LOOP(accepted_connections_wait_for_their_turn, 0, 2);
	TEST(accepts_at_a_path_are_known);
	TEST(a_connection_is_not_older_than_its_accept);
	LOOP(accepts_without_bytes_are_of_a_client_of_their_own, 0, 2);
}

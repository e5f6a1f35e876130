/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a made-up client is not the mirror image of what its server did, or if a recorded one is
 * made up again. */
#include "infer/clients.h"

#include "client_server.h"
#include "suite.h"

static const char one[] = "tcp 1.2.3.4:80>1.2.3.4:5001", two[] = "tcp 1.2.3.4:80>1.2.3.4:5002";

struct expected_op {
	double start_ms;
	double end_ms;
	uint64_t bytes;
	const char *call;
};

static void expect_ops(const struct clients *clients, const struct expected_op *expected,
		       size_t count)
{
	const struct recording *rec = &clients->recording;

	ck_assert_uint_eq(rec->op_count - clients->first_op, count);
	for (size_t i = 0; i < count; i++) {
		const struct rec_op *op = &rec->ops[clients->first_op + i];

		ck_assert_str_eq(rec->strings[op->name], expected[i].call);
		ck_assert_uint_eq(rec->extras[clients->first_op + i].amount, expected[i].bytes);
		ck_assert_double_eq_tol((double)op->start_ns / 1e6, expected[i].start_ms, 0.001);
		ck_assert_double_eq_tol((double)op->end_ns / 1e6, expected[i].end_ms, 0.001);
	}
}

START_TEST(a_client_does_the_opposite)
{
	struct sketch sketch;
	struct clients clients;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "serve", 0, 100);
	served_request(&sketch, 0, one, 0, 10, 5);
	served_call(&sketch, 0, "write", one, 7, 16, 17);
	served_request(&sketch, 0, one, 20, 30, 5);
	sketch_end(&sketch);
	clients_build(&clients, &sketch.rec, &sketch.classes, (struct clients_wanted){ 0 });
	static const struct expected_op expected[] = {
		{ 10, 10, 10, "send" },
		{ 10, 17, 27, "recv" },
		{ 30, 30, 10, "send" },
		{ 30, 35.5, 20, "recv" },
	};

	ck_assert_uint_eq(clients.count, 1);
	ck_assert_uint_eq(clients.question_count, 2);
	expect_ops(&clients, expected, 4);
	ck_assert_uint_eq(clients.recording.thread_count, 2);
	ck_assert_str_eq(clients.recording.strings[clients.recording.ops[clients.first_op].ident],
			 "tcp 1.2.3.4:5001>1.2.3.4:80");
	ck_assert_uint_eq(clients.classes.of_op[clients.first_op], sketch_class(&sketch, "read"));
	ck_assert_uint_eq(clients.send_of[clients.asked[2]], clients.first_op + 2);
	clients_free(&clients);
	sketch_free(&sketch);
}
END_TEST

/* It took one descriptor, and had no room for the other one. */
static void poll_for_one(struct sketch *sketch, double from_ms, double to_ms)
{
	served_poll(sketch, 0, 1, from_ms, to_ms);
	sketch->rec.extras[sketch->rec.op_count - 1].full = true;
}

/* Both clients think for 59.5 ms. The last poll but one left the second one's question. */
START_TEST(a_poll_may_leave_a_question)
{
	enum { ROUNDS = 10 };
	struct sketch sketch;
	struct clients clients;
	double at_ms = 0;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "serve", 0, 2000);
	for (int i = 0; i < ROUNDS; i++, at_ms += 100) {
		poll_for_one(&sketch, at_ms + 2, at_ms + 12);
		served_request(&sketch, 0, one, at_ms + 12, at_ms + 12, 40);
		poll_for_one(&sketch, at_ms + 53, at_ms + 55);
		served_request(&sketch, 0, two, at_ms + 55, at_ms + 55, 40);
	}
	poll_for_one(&sketch, at_ms + 70, at_ms + 70);
	served_request(&sketch, 0, one, at_ms + 70, at_ms + 70, 5);
	poll_for_one(&sketch, at_ms + 85, at_ms + 85);
	served_request(&sketch, 0, two, at_ms + 85, at_ms + 85, 5);
	sketch_end(&sketch);
	clients_build(&clients, &sketch.rec, &sketch.classes, (struct clients_wanted){ 0 });
	uint32_t last = clients.recording.op_count - 2;

	ck_assert_uint_eq(clients.count, 2);
	ck_assert_str_eq(clients.recording.strings[clients.recording.ops[last].name], "send");
	ck_assert_double_eq_tol((double)clients.recording.ops[last].start_ns / 1e6, at_ms + 55,
				0.001);
	clients_free(&clients);
	sketch_free(&sketch);
}
END_TEST

/* A connection of which both ends are recorded, or that was not accepted, has a client already. Of
 * one that nobody is known to read or write there is none to be told. */
START_TEST(only_missing_ends_are_made_up)
{
	struct sketch sketch;
	struct clients clients;

	for (int known = 0; known < 4; known++) {
		sketch_begin(&sketch);
		sketch_thread(&sketch, "serve", 0, 100);
		sketch_thread(&sketch, "client", 0, 100);
		const char *call = known == 3 ? "ioctl" : "read";
		uint32_t read = served_call(&sketch, 0, call, one, 10, 0, 10);
		sketch.rec.extras[read].accepted = known != 1;
		if (known == 2)
			sketch_io(&sketch, 1, "write", "tcp 1.2.3.4:5001>1.2.3.4:80", 10, 1, 2);
		sketch_end(&sketch);
		clients_build(&clients, &sketch.rec, &sketch.classes, (struct clients_wanted){ 0 });
		ck_assert_uint_eq(clients.count, !known);
		clients_free(&clients);
		sketch_free(&sketch);
	}
}
END_TEST

/* Its client has a name of its own, under which the bytes of both ends are one flow. */
START_TEST(a_client_may_come_through_a_path)
{
	struct sketch sketch;
	struct clients clients;
	struct flows flows;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "serve", 0, 100);
	served_request(&sketch, 0, "unix /run/x#77", 0, 10, 5);
	served_request(&sketch, 0, "unix /run/x#78", 20, 30, 5);
	struct rec_peer peers[] = { { 78, 99, 0 }, { 5, 6, 0 } };
	sketch.rec.peers = peers;
	sketch.rec.peer_count = 2;
	sketch_end(&sketch);
	clients_build(&clients, &sketch.rec, &sketch.classes, (struct clients_wanted){ 0 });
	ck_assert_uint_eq(clients.count, 2);
	flows_build(&flows, &clients.recording);
	for (uint32_t i = clients.first_op; i < clients.recording.op_count; i++)
		ck_assert_uint_ne(flows.transfer_of[i], NO_INDEX);
	ck_assert_uint_eq(flows.flow_count, 4);
	ck_assert_uint_eq(clients.recording.peer_count, 3);
	sketch.rec.peers = NULL;
	sketch.rec.peer_count = 0;
	flows_free(&flows);
	clients_free(&clients);
	sketch_free(&sketch);
}
END_TEST

/* Later parts came as the server waited for them. */
START_TEST(a_question_may_come_in_parts)
{
	struct sketch sketch;
	struct clients clients;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "serve", 0, 100);
	served_call(&sketch, 0, "read", one, 10, 0, 10);
	served_call(&sketch, 0, "read", one, 20, 15, 15.001);
	served_call(&sketch, 0, "read", one, 40, 16, 30);
	served_call(&sketch, 0, "write", one, 5, 31, 32);
	sketch_end(&sketch);
	clients_build(&clients, &sketch.rec, &sketch.classes, (struct clients_wanted){ 0 });
	static const struct expected_op expected[] = {
		{ 10, 10, 30, "send" },
		{ 30, 30, 40, "send" },
		{ 30, 32, 5, "recv" },
	};

	expect_ops(&clients, expected, 3);
	ck_assert_uint_eq(clients.question_count, 1);
	clients_free(&clients);
	sketch_free(&sketch);
}
END_TEST

/* One poll found both: the second one is read later, and came as early. A question that was there
 * before the poll began came its client's usual time after the answer. */
START_TEST(a_question_came_with_the_poll)
{
	struct sketch sketch;
	struct clients clients;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "serve", 0, 100);
	served_poll(&sketch, 0, 2, 0, 10);
	served_request(&sketch, 0, one, 10, 10, 5);
	served_request(&sketch, 0, two, 16, 16, 5);
	served_poll(&sketch, 0, 1, 22, 30);
	served_request(&sketch, 0, one, 30, 30, 20);
	served_poll(&sketch, 0, 1, 51, 51.001);
	served_request(&sketch, 0, two, 52, 52, 5);
	sketch_end(&sketch);
	clients_build(&clients, &sketch.rec, &sketch.classes, (struct clients_wanted){ 0 });
	static const struct expected_op expected[] = {
		{ 10, 10, 10, "send" },   { 10, 15.5, 20, "recv" }, { 30, 30, 10, "send" },
		{ 30, 50.5, 20, "recv" }, { 10, 10, 10, "send" },   { 10, 21.5, 20, "recv" },
		{ 36, 36, 10, "send" },   { 36, 57.5, 20, "recv" },
	};

	ck_assert_uint_eq(clients.think_ns, (uint64_t)(14.5 * 1e6) - 1);
	expect_ops(&clients, expected, 8);
	clients_free(&clients);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_request_begins_when_its_client_sent_it)
{
	struct sketch sketch;
	struct clients clients;
	struct timeline timeline;
	struct flows flows;
	struct requests requests;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "serve", 0, 100);
	served_poll(&sketch, 0, 1, 0, 10);
	served_request(&sketch, 0, one, 14, 14, 5);
	sketch_end(&sketch);
	timeline_build(&timeline, &sketch.rec);
	flows_build(&flows, &sketch.rec);
	requests_build(&requests, &sketch.rec, &sketch.classes, &flows, &timeline);
	clients_build(&clients, &sketch.rec, &sketch.classes, (struct clients_wanted){ 0 });
	clients_date(&clients, &requests);
	ck_assert_uint_eq(requests.count, 1);
	ck_assert_uint_eq(requests.requests[0].start_ns, 10 * SKETCH_MS);
	ck_assert_uint_eq(requests.requests[0].taken_ns, (uint64_t)(9.5 * 1e6));
	clients_free(&clients);
	requests_free(&requests);
	flows_free(&flows);
	timeline_free(&timeline);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(a_poll_may_leave_a_question);
	TEST(a_client_does_the_opposite);
	TEST(only_missing_ends_are_made_up);
	TEST(a_client_may_come_through_a_path);
	TEST(a_question_may_come_in_parts);
	TEST(a_question_came_with_the_poll);
	TEST(a_request_begins_when_its_client_sent_it);
}

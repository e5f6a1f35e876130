/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, requests of a server would be cut in pieces, or several be one. */
#include "infer/exchanges.h"

#include "sketch.h"
#include "suite.h"

enum { CALLS_MAX = 16, FOUND_MAX = 6, NEVER = -1 };

/* Descriptors of two connections, as clients and the server have them. */
#define CLIENT "tcp 10.0.0.1:50>10.0.0.2:80"
#define SERVER "tcp 10.0.0.2:80>10.0.0.1:50"
#define OTHER  "tcp 10.0.0.2:80>10.0.0.1:51"

struct call {
	const char *name;
	const char *ident;
	uint64_t bytes;
	double from_ms, to_ms;
	uint32_t thread; /* even ones are of process 0, odd ones of process 1 */
};

struct found_row {
	double from_ms, to_ms; /* NEVER = not answered */
	bool is_served;
};

static const struct {
	const char *what;
	struct call calls[CALLS_MAX];
	struct found_row found[FOUND_MAX]; /* served ones first, each by its connection */
} rows[] = {
	{ "header and body are one answer",
	  { { "read", SERVER, 9, 0, 10, 1 },
	    { "write", SERVER, 9, 12, 12, 1 },
	    { "writev", SERVER, 90, 14, 15, 1 },
	    { "read", SERVER, 9, 15, 20, 1 },
	    { "write", SERVER, 9, 21, 21, 1 } },
	  { { 10, 15, true }, { 20, 21, true } } },
	{ "a large question comes in several reads",
	  { { "read", SERVER, 9, 0, 10, 1 },
	    { "read", SERVER, 9, 10, 12, 1 },
	    { "write", SERVER, 9, 13, 14, 1 } },
	  { { 10, 14, true } } },
	{ "a greeting is no request",
	  { { "write", SERVER, 9, 1, 1, 1 },
	    { "read", SERVER, 9, 1, 10, 1 },
	    { "write", SERVER, 9, 13, 14, 1 } },
	  { { 10, 14, true } } },
	{ "one thread reads, another one of the same process or of another answers",
	  { { "read", SERVER, 9, 0, 10, 1 },
	    { "write", SERVER, 9, 13, 14, 3 },
	    { "read", SERVER, 9, 15, 20, 1 },
	    { "write", SERVER, 9, 23, 24, 2 } },
	  { { 10, 14, true }, { 20, 24, true } } },
	{ "connections have exchanges of their own",
	  { { "read", SERVER, 9, 0, 10, 1 },
	    { "read", OTHER, 9, 10, 11, 1 },
	    { "write", SERVER, 9, 13, 14, 1 },
	    { "write", OTHER, 9, 14, 15, 1 } },
	  { { 10, 14, true }, { 11, 15, true } } },
	{ "what is unanswered at the end of the recording is unfinished",
	  { { "read", SERVER, 9, 0, 10, 1 },
	    { "write", SERVER, 9, 13, 14, 1 },
	    { "read", SERVER, 9, 14, 20, 1 } },
	  { { 10, 14, true }, { 20, NEVER, true } } },
	{ "a question behind which the connection is closed is a farewell",
	  { { "read", SERVER, 9, 0, 10, 1 },
	    { "write", SERVER, 9, 13, 14, 1 },
	    { "read", SERVER, 9, 14, 20, 1 },
	    { "close", SERVER, 0, 21, 21, 1 } },
	  { { 10, 14, true } } },
	{ "but not if another process closes it, which has it too",
	  { { "read", SERVER, 9, 0, 10, 1 },
	    { "close", SERVER, 0, 11, 11, 2 },
	    { "write", SERVER, 9, 13, 14, 1 } },
	  { { 10, 14, true } } },
	{ "nor if what is closed is a copy, and the answer follows",
	  { { "read", SERVER, 9, 0, 10, 1 },
	    { "close", SERVER, 0, 11, 11, 1 },
	    { "write", SERVER, 9, 13, 14, 1 } },
	  { { 10, 14, true } } },
	{ "a descriptor that is used again has no stale begin",
	  { { "read", SERVER, 9, 0, 10, 1 },
	    { "close", SERVER, 0, 11, 11, 1 },
	    { "read", SERVER, 9, 14, 20, 1 },
	    { "write", SERVER, 9, 23, 24, 1 } },
	  { { 20, 24, true } } },
	{ "a client that hears the answer while it is half closed",
	  { { "read", SERVER, 9, 0, 10, 1 },
	    { "read", SERVER, 0, 11, 11, 1 },
	    { "write", SERVER, 9, 13, 14, 1 } },
	  { { 10, 14, true } } },
	{ "an answer by splice and sendfile",
	  { { "read", SERVER, 9, 0, 10, 1 },
	    { "send", SERVER, 9, 13, 14, 1 },
	    { "sendfile", SERVER, 9, 15, 16, 1 } },
	  { { 10, 16, true } } },
	{ "both ends: it arrives when it is written, and is answered when it is read",
	  { { "write", CLIENT, 9, 5, 6, 0 },
	    { "read", SERVER, 9, 0, 10, 1 },
	    { "write", SERVER, 9, 13, 14, 1 },
	    { "read", CLIENT, 9, 6, 17, 0 } },
	  { { 5, 14, true }, { 5, 17, false } } },
	{ "several questions under way: bytes tell them apart",
	  { { "write", CLIENT, 9, 1, 1, 0 },
	    { "write", CLIENT, 9, 2, 2, 0 },
	    { "read", SERVER, 9, 0, 3, 1 },
	    { "write", SERVER, 20, 4, 4, 1 },
	    { "read", SERVER, 9, 4, 5, 1 },
	    { "read", CLIENT, 20, 4, 6, 0 },
	    { "write", CLIENT, 9, 7, 7, 0 },
	    { "write", SERVER, 20, 8, 8, 1 },
	    { "read", SERVER, 9, 8, 9, 1 },
	    { "read", CLIENT, 20, 8, 10, 0 },
	    { "write", SERVER, 20, 11, 11, 1 },
	    { "read", CLIENT, 20, 11, 12, 0 } },
	  { { 1, 4, true },
	    { 2, 8, true },
	    { 7, 11, true },
	    { 1, 6, false },
	    { 2, 10, false },
	    { 7, 12, false } } },
	{ "a question that nobody has read yet is unfinished",
	  { { "write", CLIENT, 9, 1, 1, 0 },
	    { "read", SERVER, 9, 0, 3, 1 },
	    { "write", SERVER, 20, 4, 4, 1 },
	    { "read", CLIENT, 20, 4, 6, 0 },
	    { "write", CLIENT, 9, 7, 7, 0 } },
	  { { 1, 4, true }, { 1, 6, false }, { 7, NEVER, false } } },
	{ "a client alone, whose server is not recorded",
	  { { "connect", CLIENT, 0, 0, 1, 0 },
	    { "read", CLIENT, 60, 1, 3, 0 },
	    { "write", CLIENT, 9, 4, 4, 0 },
	    { "read", CLIENT, 20, 4, 6, 0 },
	    { "read", CLIENT, 20, 6, 7, 0 },
	    { "write", CLIENT, 9, 9, 9, 0 },
	    { "read", CLIENT, 20, 9, 12, 0 } },
	  { { 4, 7, false }, { 9, 12, false } } },
};

static void sketch_calls(struct sketch *sketch, struct rec_process *processes,
			 const struct call *calls, size_t count)
{
	sketch_begin(sketch);
	for (uint32_t i = 0; i < 4; i++)
		sketch->rec.threads[sketch_thread(sketch, "t", 0, 100)].process = i % 2;
	processes[0] = (struct rec_process){ .pid = 1, .op = NO_INDEX };
	processes[1] = (struct rec_process){ .pid = 2, .op = NO_INDEX };
	sketch->rec.processes = processes;
	sketch->rec.process_count = 2;
	for (const struct call *call = calls; call < calls + count && call->name; call++) {
		uint32_t op = sketch_io(sketch, call->thread, call->name, call->ident, call->bytes,
					call->from_ms, call->to_ms);
		sketch->rec.extras[op].accepted = strcmp(call->ident, CLIENT) != 0;
		sketch->rec.extras[op].fd = 5;
	}
	sketch_end(sketch);
}

START_TEST(the_end_of_a_process_closes_its_connections)
{
	struct sketch sketch;
	struct flows flows;
	struct carriers carriers;
	struct exchanges exchanges;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 100);
	sketch_io(&sketch, 0, "read", SERVER, 9, 0, 10);
	sketch_end(&sketch);
	sketch.rec.extras[sketch.process.op].open = _i > 0;
	flows_build(&flows, &sketch.rec);
	carriers_build(&carriers, &flows, &sketch.rec);
	exchanges_build(&exchanges, &sketch.rec, &flows, &carriers);
	ck_assert_uint_eq(exchanges.count, _i > 0);
	exchanges_free(&exchanges);
	carriers_free(&carriers);
	flows_free(&flows);
	sketch_free(&sketch);
}
END_TEST

START_TEST(exchanges_are_cut)
{
	struct sketch sketch;
	struct rec_process processes[2];
	struct flows flows;
	struct carriers carriers;
	struct exchanges exchanges;
	bool is_several = strstr(rows[_i].what, "several questions") != NULL;
	size_t expected = 0;

	sketch_calls(&sketch, processes, rows[_i].calls, CALLS_MAX);
	flows_build(&flows, &sketch.rec);
	carriers_build(&carriers, &flows, &sketch.rec);
	exchanges_build(&exchanges, &sketch.rec, &flows, &carriers);
	/* served ones and asked ones come in turn, of one connection */
	for (int is_asked = 0; is_asked < 2; is_asked++)
		for (size_t i = 0; i < exchanges.count; i++) {
			const struct exchange *exchange = &exchanges.exchanges[i];
			const struct found_row *row = &rows[_i].found[expected];

			if (exchange->is_served == is_asked)
				continue;
			ck_assert_msg(row->from_ms > 0, "%s: too many", rows[_i].what);
			expected++;
			ck_assert_msg(exchange->is_served == row->is_served, "%s", rows[_i].what);
			ck_assert_int_eq(exchange->sharing, is_several && exchange->ordinal > 0
								    ? EXCHANGE_PIPELINED
								    : EXCHANGE_PLAIN);
			ck_assert_double_eq_tol((double)exchange->start_ns / 1e6, row->from_ms,
						1e-6);
			if (row->to_ms == NEVER)
				ck_assert_uint_eq(exchange->last_op, NO_INDEX);
			else
				ck_assert_double_eq_tol(
					(double)sketch.rec.ops[exchange->last_op].end_ns / 1e6,
					row->to_ms, 1e-6);
			ck_assert_uint_le(exchange->early_ns, exchange->start_ns);
			if (exchange->of != NO_INDEX)
				ck_assert_uint_eq(exchanges.exchanges[exchange->of].of, i);
		}
	ck_assert_msg(expected == FOUND_MAX || rows[_i].found[expected].from_ms == 0, "%s: too few",
		      rows[_i].what);
	exchanges_free(&exchanges);
	carriers_free(&carriers);
	flows_free(&flows);
	sketch_free(&sketch);
}
END_TEST

/* As MySQL's server reads: the header tells nothing, the body does. Whatever comes later is of no
 * interest, and both ends know. */
START_TEST(the_first_read_that_tells_it_is_the_kind)
{
	struct sketch sketch;
	struct rec_process processes[2];
	struct flows flows;
	struct carriers carriers;
	struct exchanges exchanges;
	const struct call calls[] = {
		{ "write", CLIENT, 27, 1, 1, 0 },  { "read", SERVER, 9, 0, 3, 1 },
		{ "read", SERVER, 9, 3, 4, 1 },    { "read", SERVER, 9, 4, 5, 1 },
		{ "write", SERVER, 9, 6, 7, 1 },   { "read", CLIENT, 9, 2, 8, 0 },
		{ "write", CLIENT, 9, 9, 9, 0 },   { "read", SERVER, 9, 7, 10, 1 },
		{ "write", SERVER, 9, 11, 12, 1 }, { "read", CLIENT, 9, 10, 13, 0 },
	};
	static const char *const kinds[] = { "", "", "GET", "SET", "", "", "", "", "", "" };

	sketch_calls(&sketch, processes, calls, sizeof(calls) / sizeof(calls[0]));
	uint32_t get = sketch_string(&sketch, "GET");
	for (uint32_t op = 0, i = 0; op < sketch.rec.op_count; op++)
		if (sketch.rec.ops[op].kind == KIND_IO)
			sketch.rec.extras[op].request_kind = sketch_string(&sketch, kinds[i++]);
	flows_build(&flows, &sketch.rec);
	carriers_build(&carriers, &flows, &sketch.rec);
	exchanges_build(&exchanges, &sketch.rec, &flows, &carriers);
	ck_assert_uint_eq(exchanges.count, 4);
	for (size_t i = 0; i < exchanges.count; i++)
		ck_assert_uint_eq(exchanges.exchanges[i].kind,
				  exchanges.exchanges[i].ordinal == 0 ? get : 0);
	exchanges_free(&exchanges);
	carriers_free(&carriers);
	flows_free(&flows);
	sketch_free(&sketch);
}
END_TEST

/* The kinds of the served exchanges and what they share, of reads with these kinds, each with its
 * answer. */
static const struct {
	const char *read[4];
	const char *kinds[4];
	enum exchange_sharing sharing;
} shared[] = {
	/* 0 */ { { "GET /", "", "GET /a" }, { "GET /", "", "GET /a" }, EXCHANGE_PLAIN },
	/* 1 */ { { "HTTP/2", "", "GET /" }, { "HTTP/2", "HTTP/2", "HTTP/2" }, EXCHANGE_STREAMS },
	/* 2 */ { { "", "HTTP/2", "" }, { "HTTP/2", "HTTP/2", "HTTP/2" }, EXCHANGE_STREAMS },
	/* 3 */
	{ { "TLS handshake", "TLS handshake", "TLS", "" }, { "TLS", "TLS" }, EXCHANGE_HIDDEN },
	/* 4 */ { { "TLS handshake", "TLS", "GET /" }, { "TLS", "TLS" }, EXCHANGE_HIDDEN },
	/* 5 */ { { "TLS", "TLS handshake" }, { "TLS" }, EXCHANGE_HIDDEN }, /* an alert */
	/* 6 */ { { "TLS handshake" }, { NULL }, EXCHANGE_HIDDEN },
};

START_TEST(requests_share_a_connection)
{
	struct sketch sketch;
	struct flows flows;
	struct carriers carriers;
	struct exchanges exchanges;
	size_t count = 0;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 100);
	for (size_t i = 0; i < 4 && shared[_i].read[i]; i++) {
		double at_ms = (double)(10 * i);
		uint32_t op = sketch_io(&sketch, 0, "read", SERVER, 9, at_ms, at_ms + 1);

		sketch.rec.extras[op].request_kind = sketch_string(&sketch, shared[_i].read[i]);
		sketch_io(&sketch, 0, "write", SERVER, 9, at_ms + 2, at_ms + 3);
	}
	sketch_end(&sketch);
	flows_build(&flows, &sketch.rec);
	carriers_build(&carriers, &flows, &sketch.rec);
	exchanges_build(&exchanges, &sketch.rec, &flows, &carriers);
	while (count < 4 && shared[_i].kinds[count])
		count++;
	ck_assert_uint_eq(exchanges.count, count);
	for (size_t i = 0; i < count; i++) {
		const struct exchange *exchange = &exchanges.exchanges[i];

		ck_assert_str_eq(sketch.rec.strings[exchange->kind], shared[_i].kinds[i]);
		ck_assert_int_eq(exchange->sharing, shared[_i].sharing);
		ck_assert_uint_eq(exchange->ordinal, i);
	}
	exchanges_free(&exchanges);
	carriers_free(&carriers);
	flows_free(&flows);
	sketch_free(&sketch);
}
END_TEST

/* The first request of a read says how long it is: 4 of 9 bytes, of which a part comes later. */
START_TEST(a_read_has_a_batch_in_it)
{
	static const uint64_t bytes[] = { 9, 18, 45, 46 };
	struct sketch sketch;
	struct flows flows;
	struct carriers carriers;
	struct exchanges exchanges;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 100);
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t op = sketch_io(&sketch, 0, "read", SERVER, bytes[i], 10 * i, 10 * i + 1);

		sketch.rec.extras[op].request_kind = sketch_string(&sketch, "GET");
		sketch.rec.extras[op].request_bytes = bytes[i] > 9 ? 9 : 0;
		if (i == 3)
			sketch_io(&sketch, 0, "read", SERVER, 44, 32, 33);
		sketch_io(&sketch, 0, "write", SERVER, 9, 10 * i + 4, 10 * i + 5);
	}
	sketch_end(&sketch);
	flows_build(&flows, &sketch.rec);
	carriers_build(&carriers, &flows, &sketch.rec);
	exchanges_build(&exchanges, &sketch.rec, &flows, &carriers);
	ck_assert_uint_eq(exchanges.count, 4);
	for (uint32_t i = 0; i < 4; i++) {
		ck_assert_int_eq(exchanges.exchanges[i].sharing,
				 i ? EXCHANGE_BATCH : EXCHANGE_PLAIN);
		ck_assert_uint_eq(exchanges.exchanges[i].within, i == 3 ? 10 : bytes[i] / 9);
	}
	exchanges_free(&exchanges);
	carriers_free(&carriers);
	flows_free(&flows);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(a_read_has_a_batch_in_it);
	EACH(requests_share_a_connection, shared);
	EACH(exchanges_are_cut, rows);
	LOOP(the_end_of_a_process_closes_its_connections, 0, 2);
	TEST(the_first_read_that_tells_it_is_the_kind);
}

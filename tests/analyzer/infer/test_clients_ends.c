/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if clients of a socket for datagrams are not made up by their addresses. Or if what comes
 * to a socket that asks, or from recorded senders, is taken for theirs. */
#include "client_server.h"
#include "infer/clients.h"
#include "infer/flows.h"
#include "suite.h"

static const char here[] = "udp 1.1.1.1:53>*";

/* One datagram at a time, for 1 ms: '<' came in, '>' went out. */
struct act {
	char way;
	const char *socket;
	const char *peer; /* NULL = the call does not say */
};

enum { ACTS_MAX = 6 };

static const struct {
	struct act acts[ACTS_MAX];
	size_t clients;
	const char *calls; /* of theirs, in order of clients: s, r */
} rows[] = {
	/* 0: two of them */
	{ { { '<', here, "2.2.2.2:1" },
	    { '>', here, "2.2.2.2:1" },
	    { '<', here, "2.2.2.2:2" },
	    { '<', here, "2.2.2.2:1" },
	    { '>', here, "2.2.2.2:1" },
	    { '>', here, "2.2.2.2:2" } },
	  2,
	  "srsrsr" },
	/* 1: each datagram is one by itself, and one is not answered */
	{ { { '<', here, "2.2.2.2:1" },
	    { '<', here, "2.2.2.2:1" },
	    { '>', here, "2.2.2.2:1" },
	    { '>', here, "2.2.2.2:1" },
	    { '<', here, "2.2.2.2:1" } },
	  1,
	  "ssrrs" },
	/* 2: who asks has a server */
	{ { { '>', here, "2.2.2.2:1" }, { '<', here, "2.2.2.2:1" }, { '>', here, "2.2.2.2:1" } },
	  0,
	  "" },
	/* 3: who answers nothing may ask no one knows whom */
	{ { { '<', here, "2.2.2.2:1" }, { '<', here, "2.2.2.2:1" } }, 0, "" },
	/* 4: one of nobody knows where */
	{ { { '<', here, "2.2.2.2:1" }, { '>', here, "2.2.2.2:1" }, { '<', here, NULL } }, 0, "" },
	/* 5: the sender is recorded */
	{ { { '>', "udp 2.2.2.2:1>*", "1.1.1.1:53" },
	    { '<', here, "2.2.2.2:1" },
	    { '>', here, "2.2.2.2:1" },
	    { '<', "udp 2.2.2.2:1>*", "1.1.1.1:53" } },
	  0,
	  "" },
	/* 6: a socket with one peer alone says nothing of who asks */
	{ { { '<', "udp 1.1.1.1:53>2.2.2.2:1", "2.2.2.2:1" },
	    { '>', "udp 1.1.1.1:53>2.2.2.2:1", "2.2.2.2:1" } },
	  0,
	  "" },
	/* 7: two sockets, the second one asks */
	{ { { '<', here, "2.2.2.2:1" },
	    { '>', "udp 1.1.1.1:9>*", "3.3.3.3:53" },
	    { '<', "udp 1.1.1.1:9>*", "3.3.3.3:53" },
	    { '>', here, "2.2.2.2:1" } },
	  1,
	  "sr" },
};

static void play(struct sketch *sketch, const struct act *acts)
{
	sketch_begin(sketch);
	sketch_thread(sketch, "serve", 0, 100);
	for (int i = 0; i < ACTS_MAX && acts[i].way; i++) {
		bool is_write = acts[i].way == '>';
		uint32_t op = sketch_io(sketch, 0, is_write ? "sendto" : "recvfrom", acts[i].socket,
					8, 10 * i, 10 * i + 1);

		if (acts[i].peer)
			sketch->rec.extras[op].other_ident = sketch_string(sketch, acts[i].peer);
	}
	sketch_end(sketch);
}

START_TEST(senders_of_datagrams_are_clients)
{
	struct sketch sketch;
	struct clients clients;
	char calls[2 * ACTS_MAX] = "";

	play(&sketch, rows[_i].acts);
	clients_build(&clients, &sketch.rec, &sketch.classes, (struct clients_wanted){ 0 });
	ck_assert_uint_eq(clients.count, rows[_i].clients);
	for (size_t i = 0; clients.count && clients.first_op + i < clients.recording.op_count;
	     i++) {
		const struct rec_op *op = &clients.recording.ops[clients.first_op + i];

		calls[i] = clients.recording.strings[op->name][0];
	}
	ck_assert_str_eq(calls, rows[_i].calls);
	clients_free(&clients);
	sketch_free(&sketch);
}
END_TEST

/* A server reads what its clients send, and the other way round. */
START_TEST(their_datagrams_arrive)
{
	struct sketch sketch;
	struct clients clients;
	struct flows flows;

	play(&sketch, rows[0].acts);
	clients_build(&clients, &sketch.rec, &sketch.classes, (struct clients_wanted){ 0 });
	flows_build(&flows, &clients.recording);
	ck_assert_uint_eq(flows.transfer_count, 12);
	for (size_t op = 0; op < clients.recording.op_count; op++) {
		if (clients.recording.ops[op].kind != KIND_IO)
			continue;
		ck_assert_uint_ne(flows.transfer_of[op], NO_INDEX);
		ck_assert(flows.flows[flows.transfers[flows.transfer_of[op]].flow].is_whole);
	}
	flows_free(&flows);
	clients_free(&clients);
	sketch_free(&sketch);
}
END_TEST

/* Requests to an address, so many of them from a recorded thread; of the others it is not known. */
static const struct {
	int recorded;
	int others;
	size_t clients;
} askers[] = {
	/* 0: no recorded program asks there */ { 0, 2, 2 },
	/* 1: these were there before */ { 3, 2, 0 },
	/* 2: one of many that ask */ { 1, 3, 3 },
};

START_TEST(connections_of_recorded_programs_are_theirs)
{
	static char names[16][32];
	struct rec_peer peers[4];
	struct sketch sketch;
	struct clients clients;
	int recorded = askers[_i / 2].recorded, all = recorded + askers[_i / 2].others;
	bool is_unix = _i % 2;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "serve", 0, 100);
	sketch_thread(&sketch, "asks", 0, 100);
	for (int i = 0; i < all; i++) {
		snprintf(names[i], sizeof(names[i]),
			 is_unix ? "unix /run/x#%d" : "tcp 1.1.1.1:5>1.1.1.1:%d", 10 + i);
		served_request(&sketch, 0, names[i], 10 * i, 10 * i + 2, 1);
		if (i >= recorded)
			continue;
		snprintf(names[8 + i], sizeof(names[0]),
			 is_unix ? "unix /run/x#%d" : "tcp 1.1.1.1:%d>1.1.1.1:5",
			 is_unix ? 20 + i : 10 + i);
		sketch_io(&sketch, 1, "write", names[8 + i], 10, 10 * i + 1, 10 * i + 2);
		sketch_io(&sketch, 1, "read", names[8 + i], 20, 10 * i + 2, 10 * i + 4);
		peers[i] = (struct rec_peer){ 10 + (uint64_t)i, 20 + (uint64_t)i, 0 };
	}
	sketch.rec.peers = peers;
	sketch.rec.peer_count = (size_t)recorded;
	sketch_end(&sketch);
	clients_build(&clients, &sketch.rec, &sketch.classes, (struct clients_wanted){ 0 });
	ck_assert_uint_eq(clients.count, askers[_i / 2].clients);
	sketch.rec.peers = NULL;
	sketch.rec.peer_count = 0;
	clients_free(&clients);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	LOOP(connections_of_recorded_programs_are_theirs, 0,
	     2 * sizeof(askers) / sizeof(askers[0]));
	LOOP(senders_of_datagrams_are_clients, 0, sizeof(rows) / sizeof(rows[0]));
	TEST(their_datagrams_arrive);
}

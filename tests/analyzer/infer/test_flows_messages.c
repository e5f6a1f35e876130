/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a read is said to have got a message that it did not get. Some are lost, come from
 * elsewhere, or were sent before the recording. */
#include "infer/flows.h"

#include "sketch.h"
#include "suite.h"

#include <stdlib.h>

/*
 * A call: who made it, from when to when, and what it was: s sends, x fails to, r reads, f fails
 * to, p polls. Of a read, when its message was sent (0: nobody was seen to), and whether it waited.
 */
struct act {
	uint32_t thread;
	double from_ms, to_ms;
	char what;
	uint32_t messages;
	double sent_ms;
	bool has_waited;
};

enum { ACTS_MAX = 12 };

static const struct {
	const char *ident; /* of the reader */
	struct act acts[ACTS_MAX];
} runs[] = {
	/* 0: in order */
	{ "udp",
	  { { 0, 1, 1.1, 's', 0, 0, false },
	    { 0, 2, 2.1, 's', 0, 0, false },
	    { 1, 3, 3.01, 'r', 0, 1, false },
	    { 1, 4, 4.01, 'r', 0, 2, false } } },
	/* 1: the reader waits */
	{ "udp",
	  { { 0, 5, 5.1, 's', 0, 0, false },
	    { 1, 3, 5.2, 'r', 0, 5, true },
	    { 0, 9, 9.1, 's', 0, 0, false },
	    { 1, 6, 9.2, 'r', 0, 9, true } } },
	/* 2: the first is lost, which the wait shows */
	{ "udp",
	  { { 0, 1, 1.1, 's', 0, 0, false },
	    { 0, 5, 5.1, 's', 0, 0, false },
	    { 1, 3, 5.2, 'r', 0, 5, true } } },
	/* 3: a read that fails shows it */
	{ "udp",
	  { { 0, 1, 1.1, 's', 0, 0, false },
	    { 1, 2, 2.01, 'f', 0, 0, false },
	    { 0, 5, 5.1, 's', 0, 0, false },
	    { 1, 6, 6.01, 'r', 0, 5, false } } },
	/* 4: so does a poll that waits */
	{ "udp",
	  { { 0, 1, 1.1, 's', 0, 0, false },
	    { 0, 5, 5.1, 's', 0, 0, false },
	    { 1, 2, 5.2, 'p', 0, 0, false },
	    { 1, 6, 6.01, 'r', 0, 5, false } } },
	/* 5: if nothing is lost, a slow read is no wait */
	{ "udp",
	  { { 0, 1, 1.1, 's', 0, 0, false },
	    { 0, 5, 5.1, 's', 0, 0, false },
	    { 1, 3, 5.2, 'r', 0, 1, false },
	    { 1, 6, 6.01, 'r', 0, 5, false } } },
	/* 6: a message from elsewhere, and then one from here */
	{ "udp",
	  { { 1, 1, 2, 'r', 0, 0, false },
	    { 0, 5, 5.1, 's', 0, 0, false },
	    { 1, 3, 5.2, 'r', 0, 5, true } } },
	/* 7: the last ones are never read */
	{ "udp",
	  { { 0, 5, 5.1, 's', 0, 0, false },
	    { 1, 3, 5.2, 'r', 0, 5, true },
	    { 0, 9, 9.1, 's', 0, 0, false } } },
	/* 8: several at once, of which the first is waited for */
	{ "udp",
	  { { 0, 5, 5.1, 's', 3, 0, false },
	    { 1, 3, 5.2, 'r', 2, 5, true },
	    { 1, 6, 6.01, 'r', 0, 5, false } } },
	/* 9: a counter gives all that was put in */
	{ "eventfd",
	  { { 0, 1, 1.1, 's', 0, 0, false },
	    { 0, 2, 2.1, 's', 0, 0, false },
	    { 1, 3, 3.01, 'r', 0, 1, false },
	    { 1, 4, 6.1, 'r', 0, 6, true },
	    { 0, 6, 6.05, 's', 0, 0, false } } },
	/* 10: a semaphore one, or what is left of a write of several */
	{ "eventfd",
	  { { 0, 1, 1.1, 's', 0, 0, false },
	    { 0, 2, 2.1, 's', 0, 0, false },
	    { 1, 3, 3.01, 'r', 0, 1, false },
	    { 1, 4, 4.01, 'r', 0, 2, false } } },
	/* 11: connections, of which the kernel finishes one behind the program's back */
	{ "tcp",
	  { { 0, 5, 5.1, 's', 0, 0, false },
	    { 1, 3, 5.2, 'r', 0, 5, true },
	    { 1, 5.3, 5.31, 'f', 0, 0, false },
	    { 0, 8, 8.1, 'x', 0, 0, false },
	    { 1, 6, 8.2, 'r', 0, 8, true } } },
	/* 12: the reader is recorded later than the sender, and longer */
	{ "udp",
	  { { 0, 1, 1.1, 's', 0, 0, false },
	    { 0, 2, 2.1, 's', 0, 0, false },
	    { 0, 5, 5.1, 's', 0, 0, false },
	    { 1, 3, 5.2, 'r', 0, 5, true },
	    { 0, 9, 9.1, 's', 0, 0, false },
	    { 1, 6, 9.2, 'r', 0, 9, true },
	    { 0, 12, 12.1, 's', 0, 0, false },
	    { 1, 10, 12.2, 'r', 0, 12, true },
	    { 1, 13, 15, 'r', 0, 0, false },
	    { 1, 16, 18, 'r', 0, 0, false } } },
	/* 13: each connection is begun by a call, and a second one asks what came of it */
	{ "tcp",
	  { { 0, 5, 5.1, 'x', 0, 0, false },
	    { 1, 3, 5.2, 'r', 0, 5, true },
	    { 0, 5.3, 5.31, 's', 0, 0, false },
	    { 0, 8, 8.1, 'x', 0, 0, false },
	    { 0, 8.3, 8.31, 's', 0, 0, false },
	    { 1, 9, 9.01, 'r', 0, 8, false } } },
};

static uint32_t play(struct sketch *sketch, const struct act *act, const char *ident)
{
	bool is_udp = ident[0] == 'u', is_tcp = ident[0] == 't';
	bool is_write = act->what == 's' || act->what == 'x';
	const char *call = is_tcp   ? is_write ? "connect" : "accept"
			   : is_udp ? is_write ? "sendto" : "recvfrom"
				    : (is_write ? "write" : "read");
	const char *end = is_udp   ? is_write ? "udp 1.1.1.1:5>*" : "udp 1.1.1.1:7>*"
			  : is_tcp ? is_write ? "tcp 1.1.1.1:5>1.1.1.1:7" : "tcp listen 1.1.1.1:7"
				   : "eventfd:[4:1]";
	uint32_t op =
		sketch_io(sketch, act->thread, call, end, is_tcp ? 0 : 8, act->from_ms, act->to_ms);

	sketch->rec.extras[op].messages = act->messages;
	if (is_write && is_udp)
		sketch->rec.extras[op].other_ident = sketch_string(sketch, "1.1.1.1:7");
	if (act->what == 'f' || act->what == 'x') {
		sketch->rec.ops[op].outcome = OUTCOME_ERROR;
		sketch->rec.extras[op].amount = 0;
	}
	if (act->what == 'p')
		sketch->rec.ops[op].kind = KIND_POLL;
	return op;
}

START_TEST(a_read_gets_the_message_that_it_got)
{
	const struct act *acts = runs[_i].acts;
	struct sketch sketch;
	struct flows flows;
	uint32_t ops[ACTS_MAX];

	sketch_begin(&sketch);
	sketch_thread(&sketch, "a", 0, 100);
	sketch_thread(&sketch, "b", 0, 100);
	for (int i = 0; i < ACTS_MAX && acts[i].what; i++)
		ops[i] = play(&sketch, &acts[i], runs[_i].ident);
	sketch_end(&sketch);
	flows_build(&flows, &sketch.rec);
	for (int i = 0; i < ACTS_MAX && acts[i].what; i++) {
		if (acts[i].what != 'r')
			continue;
		uint32_t transfer = flows.transfer_of[ops[i]];
		ck_assert_int_eq(transfer != NO_INDEX, acts[i].sent_ms > 0);
		if (transfer == NO_INDEX)
			continue;
		ck_assert_uint_eq(flows.transfers[transfer].first_ns,
				  (uint64_t)(acts[i].sent_ms * SKETCH_MS));
		ck_assert_int_eq(flows.transfers[transfer].has_waited, acts[i].has_waited);
	}
	flows_free(&flows);
	sketch_free(&sketch);
}
END_TEST

/* Whether several readers of it are a pool. */
static const struct {
	const char *ident;
	bool is_pool;
} pools[] = { { "udp", true }, { "tcp", true }, { "eventfd", false } };

START_TEST(several_readers_are_a_pool)
{
	static const struct act acts[] = { { 0, 5, 5.1, 's', 0, 0, false },
					   { 1, 3, 5.2, 'r', 0, 5, true },
					   { 0, 9, 9.1, 's', 0, 0, false },
					   { 2, 6, 9.2, 'r', 0, 9, true } };
	struct sketch sketch;
	struct flows flows;
	uint32_t last = 0;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "a", 0, 100);
	sketch_thread(&sketch, "b", 0, 100);
	sketch_thread(&sketch, "c", 0, 100);
	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
		last = play(&sketch, &acts[i], pools[_i].ident);
	sketch_end(&sketch);
	flows_build(&flows, &sketch.rec);
	uint32_t transfer = flows.transfer_of[last];
	ck_assert_uint_ne(transfer, NO_INDEX);
	ck_assert_int_eq(flows.flows[flows.transfers[transfer].flow].is_shared, pools[_i].is_pool);
	flows_free(&flows);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(a_read_gets_the_message_that_it_got, runs);
	EACH(several_readers_are_a_pool, pools);
}

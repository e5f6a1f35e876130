/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if an accept() is said to have another connection than it has. */
#include "infer/flows.h"

#include "sketch.h"
#include "suite.h"

/*
 * A word each: cN connects number N, aN accepts it, and a? one that nobody here has asked for; a-
 * does not say which. Each comes 1 ms after the one before.
 */
static const struct {
	const char *does;
	const char *stays; /* of each word: + = its connect() and its accept() are both there */
} rows[] = {
	/* 0 */ { "c1 a1 c2 a2", "++++" },
	/* 1: accepted in another order, as by several threads */
	{ "c1 c2 a2 a1", "++++" },
	/* 2: the first ones were asked for before */
	{ "c1 c2 a8 a9 c3 a1 a2 a3", "++--++++" },
	/* 3: others ask as well */
	{ "c1 a? c2 a1 a?", "+--+-" },
	/* 4: without names it is the order that tells */
	{ "c1 c2 a- a-", "++++" },
};

static char names[10][2][48];

static void names_make(bool is_unix)
{
	for (int i = 0; i < 10; i++) {
		snprintf(names[i][0], sizeof(names[i][0]),
			 is_unix ? "unix /s#%d" : "tcp 1.1.1.1:%d>1.1.1.1:80", 100 + i);
		snprintf(names[i][1], sizeof(names[i][1]),
			 is_unix ? "unix /s#%d" : "tcp 1.1.1.1:80>1.1.1.1:%d",
			 is_unix ? 200 + i : 100 + i);
	}
}

static uint32_t call_add(struct sketch *sketch, const char *word, double at_ms, bool is_unix)
{
	bool connects = *word == 'c';
	bool has_name = word[1] >= '0' && word[1] <= '9';
	const char *listener = is_unix ? "unix listen /s" : "tcp listen 1.1.1.1:80";
	uint32_t op = sketch_io(sketch, connects ? 0 : 1, connects ? "connect" : "accept",
				connects ? names[word[1] - '0'][0] : listener, 0, at_ms, at_ms);

	sketch->rec.ops[op].outcome = OUTCOME_OK;
	if (!connects && has_name)
		sketch->rec.extras[op].other_ident = sketch_string(sketch, names[word[1] - '0'][1]);
	else if (!connects && word[1] == '?')
		sketch->rec.extras[op].other_ident =
			sketch_string(sketch, is_unix ? "unix /s#9" : "tcp 1.1.1.1:80>1.1.1.2:1");
	return op;
}

START_TEST(an_accept_has_the_connection_that_it_names)
{
	for (int is_unix = 0; is_unix < 2; is_unix++) {
		struct rec_peer peers[10];
		struct sketch sketch;
		struct flows flows;
		uint32_t ops[10];
		size_t count = 0;

		names_make(is_unix);
		sketch_begin(&sketch);
		sketch_thread(&sketch, "asks", 0, 100);
		sketch_thread(&sketch, "serves", 0, 100);
		for (const char *word = rows[_i].does; word; word = strchr(word, ' ')) {
			word += *word == ' ';
			ops[count] = call_add(&sketch, word, (double)count + 1, is_unix);
			count++;
		}
		for (int i = 0; i < 10; i++)
			peers[i] = (struct rec_peer){ 100 + (uint64_t)i, 200 + (uint64_t)i, 0 };
		sketch.rec.peers = peers;
		sketch.rec.peer_count = is_unix ? 10 : 0;
		sketch_end(&sketch);
		flows_build(&flows, &sketch.rec);
		for (size_t i = 0; i < count; i++)
			ck_assert_msg((flows.transfer_of[ops[i]] != NO_INDEX) ==
					      (rows[_i].stays[i] == '+'),
				      "call %zu of %s", i, rows[_i].does);
		flows_free(&flows);
		sketch_free(&sketch);
	}
}
END_TEST

SUITE()
{
	LOOP(an_accept_has_the_connection_that_it_names, 0, sizeof(rows) / sizeof(rows[0]));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if two sockets are taken for the ends of one connection that are not. */
#include "infer/peers.h"

#include "sketch.h"
#include "suite.h"

enum { CONNECTIONS = 26, CLIENT = 100, SERVER = 200, CLIENTS_THREAD = 0, FIRST_SERVER = 1 };

/* From the accept() to the answer. */
#define ASKED_MS    1.0
#define ANSWERED_MS 3.0

static struct sketch sketch;
static char names[2][CONNECTIONS][32];

static void setup(void)
{
	sketch_begin(&sketch);
	sketch_thread(&sketch, "asks", 0, 500);
	sketch_thread(&sketch, "serves", 0, 500);
	sketch_thread(&sketch, "serves", 0, 500);
	for (int i = 0; i < CONNECTIONS; i++) {
		snprintf(names[0][i], sizeof(names[0][i]), "unix /run/s#%d", CLIENT + i);
		snprintf(names[1][i], sizeof(names[1][i]), "unix /run/s#%d", SERVER + i);
	}
}

static void teardown(void)
{
	free(sketch.rec.peers);
	sketch_free(&sketch);
}

static void call(uint32_t thread, const char *name, const char *ident, double from_ms, double to_ms)
{
	uint32_t op = sketch_io(&sketch, thread, name, ident, strcmp(name, "connect") ? 10 : 0,
				from_ms, to_ms);

	sketch.rec.extras[op].accepted = thread != CLIENTS_THREAD;
}

static void connects(int i, double at_ms)
{
	call(CLIENTS_THREAD, "connect", names[0][i], at_ms, at_ms + 0.01);
}

static void accepts(int i, double at_ms)
{
	uint32_t op = sketch_io(&sketch, FIRST_SERVER + (uint32_t)i % 2, "accept4",
				"unix listen /run/s", 0, at_ms - 0.01, at_ms);

	sketch.rec.extras[op].other_ident = sketch_string(&sketch, names[1][i]);
}

/* It asks as it has connected; the answer comes when it was accepted, and `work_ms` later. */
static void talks(int i, double at_ms, double accepted_ms, double work_ms, bool is_seen)
{
	uint32_t thread = FIRST_SERVER + (uint32_t)i % 2;

	call(thread, "read", names[1][i], accepted_ms, accepted_ms + 0.01);
	call(thread, "write", names[1][i], accepted_ms + work_ms, accepted_ms + work_ms + 0.01);
	if (!is_seen)
		return;
	call(CLIENTS_THREAD, "write", names[0][i], at_ms + 0.02, at_ms + 0.03);
	call(CLIENTS_THREAD, "read", names[0][i], accepted_ms, accepted_ms + work_ms + 0.1);
}

/* Each connects every 4 ms, and waits until the eighth after it has connected: there are always
 * some that were not accepted yet. */
enum { WAITS = 8, EVERY_MS = 4 };

static double connected_ms(int i)
{
	return EVERY_MS * i + 1;
}

static double accepted_ms(int i)
{
	return EVERY_MS * (i + WAITS) + 2 + i % 3 * 0.1;
}

/* The other end of connection i; -1 = none is told. */
static int told(int i)
{
	for (size_t k = 0; k < sketch.rec.peer_count; k++)
		if (sketch.rec.peers[k].inode == (uint64_t)(CLIENT + i))
			return (int)sketch.rec.peers[k].peer - SERVER;
	return -1;
}

static const struct {
	int older;  /* the first of them were made before */
	int unseen; /* one accept() in so many took no time, 0 = none */
	int later;  /* the end that connects is recorded from this one on */
	int others; /* one in so many is made by a program that is not recorded, 0 = none */
} rows[] = {
	/* 0 */ { 0, 0, 0, 0 },
	/* 1 */ { 5, 0, 0, 0 },
	/* 2 */ { 3, 9, 0, 0 },
	/* 3 */ { 0, 0, 5, 0 },
	/* 4 */ { 0, 0, 0, 2 },
};

static bool is_in(int i, int every)
{
	return every && i % every == every - 1;
}

START_TEST(connections_are_accepted_in_their_order)
{
	setup();
	for (int i = 0; i < CONNECTIONS; i++) {
		bool is_seen = i >= rows[_i].later && !is_in(i, rows[_i].others);

		if (is_seen && i >= rows[_i].older)
			connects(i, connected_ms(i));
		if (!is_in(i, rows[_i].unseen))
			accepts(i, accepted_ms(i));
		talks(i, connected_ms(i), accepted_ms(i), ANSWERED_MS, is_seen);
	}
	sketch_end(&sketch);
	peers_find(&sketch.rec);
	for (int i = 0; i < CONNECTIONS; i++) {
		bool is_known = i >= rows[_i].older && i >= rows[_i].later && !rows[_i].others &&
				!is_in(i, rows[_i].unseen);

		ck_assert_msg(told(i) == i || (told(i) == -1 && !is_known), "%d is told for %d",
			      told(i), i);
	}
	teardown();
}
END_TEST

SUITE()
{
	LOOP(connections_are_accepted_in_their_order, 0, sizeof(rows) / sizeof(rows[0]));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, the time before a server's first client would count as that of its requests. Or
 * clients that think would be no load. */
#include "infer/asking.h"

#include "base/assumptions.h"
#include "sketch.h"
#include "suite.h"

enum { REQUESTS = 2000, MS = 1000000 };

#define CLIENT   "tcp 10.0.0.1:50>10.0.0.2:80"
#define SERVER   "tcp 10.0.0.2:80>10.0.0.1:50"
#define LISTENER "tcp listen 10.0.0.2:80"

/* One request of 1 ms after the other; each `every` of them comes `pause_ms` later. */
static const struct {
	const char *what;
	size_t count, every;
	uint64_t apart_ms, pause_ms, paused_ms;
	size_t pauses;
	bool is_load;
} rows[] = {
	{ "one burst", 100, 0, 0, 0, 0, 0, true },
	{ "two bursts with a pause", 200, 100, 0, 500, 500, 1, true },
	{ "clients that think as long as they wait", 100, 0, 1, 0, 0, 0, true },
	{ "clients that think long", 100, 0, 500, 0, 0, 0, true },
	{ "now and then one is late", 100, 10, 0, 15, 0, 0, true },
	{ "as long as 24 take to come", 120, 60, 0, 30, 30, 1, true },
	{ "as long as 18", 120, 60, 0, 20, 0, 0, true },
	{ "a small part of the time", 2000, 1000, 0, 90, 0, 0, true },
	{ "not so small a part", 2000, 1000, 0, 110, 110, 1, true },
	{ "hardly anybody asks", 19, 0, 0, 0, 0, 0, false },
	{ "nobody does", 0, 0, 0, 0, 0, 0, false },
};

START_TEST(a_pause_is_when_nobody_asks)
{
	struct asking_span spans[REQUESTS];
	struct asking asking;
	uint64_t at_ms = 1000, end_ms = 1000;
	for (size_t i = 0; i < rows[_i].count; i++) {
		if (i)
			at_ms +=
				rows[_i].apart_ms +
				(rows[_i].every && i % rows[_i].every == 0 ? rows[_i].pause_ms : 0);
		/* in another order */
		spans[rows[_i].count - 1 - i] =
			(struct asking_span){ at_ms * MS, (at_ms + 1) * MS };
		end_ms = ++at_ms;
	}
	ck_assert_msg(asking_measure(&asking, spans, rows[_i].count) == rows[_i].is_load, "%s",
		      rows[_i].what);
	if (!rows[_i].is_load)
		return;
	ck_assert_uint_eq(asking.from_ns, (uint64_t)1000 * MS);
	ck_assert_uint_eq(asking.to_ns, end_ms * MS);
	ck_assert_msg(asking.paused_ns == rows[_i].paused_ms * MS, "%s", rows[_i].what);
	ck_assert_uint_eq(asking.pause_count, rows[_i].pauses);
}
END_TEST

START_TEST(a_long_request_is_no_pause)
{
	struct asking_span spans[REQUESTS];
	struct asking asking;
	for (size_t i = 0; i < 100; i++)
		spans[i] = (struct asking_span){ (i + (i >= 50) * 5000) * MS,
						 (i + 1 + (i >= 50) * 5000) * MS };
	ck_assert(asking_measure(&asking, spans, 100));
	ck_assert_uint_eq(asking.pause_count, 1);
	spans[3].end_ns = spans[50].start_ns;
	ck_assert(asking_measure(&asking, spans, 100));
	ck_assert_uint_eq(asking.pause_count, 0);
}
END_TEST

/* Thirty requests, the first one at 100 ms, each answered after a while. Thread 1 asks, or nobody
 * that is recorded. */
static void serve(struct sketch *sketch, bool is_accepted, bool has_client)
{
	for (int i = 0; i < 30; i++) {
		double at_ms = 100 + 10 * i;
		uint32_t read = sketch_io(sketch, 0, "read", SERVER, 9, at_ms - 5, at_ms);
		uint32_t write = sketch_io(sketch, 0, "write", SERVER, 9, at_ms + 2, at_ms + 3);
		sketch->rec.extras[read].accepted = is_accepted;
		sketch->rec.extras[write].accepted = is_accepted;
		if (has_client) {
			sketch_io(sketch, 1, "write", CLIENT, 9, at_ms - 1, at_ms - 1);
			sketch_io(sketch, 1, "read", CLIENT, 9, at_ms - 1, at_ms + 4);
		}
	}
}

static const struct {
	const char *what;
	bool is_accepted, is_open;
	uint32_t clients; /* processes: 0 = not recorded, 1 = the server itself */
	uint64_t from_ms, to_ms;
} servers[] = {
	{ "a server", true, false, 0, 100, 393 },
	{ "one that is asked a last time", true, true, 0, 100, 1000 },
	{ "one whose client is recorded", true, false, 2, 99, 393 },
	{ "a program that asks itself", true, false, 1, 0, 0 },
	{ "a client that is told to do things", false, false, 0, 0, 0 },
};

START_TEST(a_server_is_asked_from_its_first_request_to_its_last_answer)
{
	struct sketch sketch;
	struct asking asking;
	sketch_begin(&sketch);
	sketch.rec.process_count = 2;
	sketch.rec.processes[1].op = NO_INDEX;
	sketch_thread(&sketch, "main", 0, 1000);
	sketch_thread(&sketch, "client", 0, 1000);
	sketch.rec.threads[1].process = servers[_i].clients == 2;
	sketch.rec.extras[sketch.rec.processes[0].op].open = true;
	sketch.rec.end_ns = (uint64_t)1000 * MS;
	serve(&sketch, servers[_i].is_accepted, servers[_i].clients > 0);
	if (servers[_i].is_open)
		sketch.rec.extras[sketch_io(&sketch, 0, "read", SERVER, 9, 600, 700)].accepted =
			true;
	bool is_any = asking_find(&asking, &sketch.rec);
	ck_assert_msg(is_any == (servers[_i].to_ms > 0), "%s", servers[_i].what);
	ck_assert_msg(asking.from_ns == servers[_i].from_ms * MS, "%s", servers[_i].what);
	ck_assert_uint_eq(asking.to_ns, servers[_i].to_ms * MS);
	sketch_free(&sketch);
}
END_TEST

/* The first client connected before the server was up, and asked at once. */
START_TEST(whoever_waits_to_be_accepted_is_part_of_it)
{
	static const struct {
		double connected_ms, accepted_ms;
		uint64_t from_ms;
	} clients[] = {
		/* still waiting as it asks */ { 90, 99.5, 90 },
		/* accepted before that */ { 90, 98.5, 99 },
		/* never accepted */ { 90, 0, 99 },
	};

	for (size_t i = 0; i < sizeof(clients) / sizeof(clients[0]); i++) {
		struct sketch sketch;
		struct asking asking;
		sketch_begin(&sketch);
		sketch.rec.process_count = 2;
		sketch.rec.processes[1].op = NO_INDEX;
		sketch_thread(&sketch, "main", 0, 1000);
		sketch_thread(&sketch, "client", 0, 1000);
		sketch.rec.threads[1].process = 1;
		sketch_io(&sketch, 1, "connect", CLIENT, 0, clients[i].connected_ms,
			  clients[i].connected_ms + 0.1);
		if (clients[i].accepted_ms > 0)
			sketch_io(&sketch, 0, "accept4", LISTENER, 0, 1, clients[i].accepted_ms);
		serve(&sketch, true, true);
		ck_assert(asking_find(&asking, &sketch.rec));
		ck_assert_uint_eq(asking.from_ns, clients[i].from_ms * MS);
		sketch_free(&sketch);
	}
}
END_TEST

SUITE()
{
	EACH(a_pause_is_when_nobody_asks, rows);
	TEST(a_long_request_is_no_pause);
	EACH(a_server_is_asked_from_its_first_request_to_its_last_answer, servers);
	TEST(whoever_waits_to_be_accepted_is_part_of_it);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, requests would not have waited before they were read, or for too long. */
#include "infer/exchanges_parts.h"

#include "sketch.h"
#include "suite.h"

#define HERE  "tcp b:80>c:50"
#define THERE "tcp b:80>c:51"

/* A poll; its thread, what it names, how many it found. */
struct poll {
	double from_ms, to_ms;
	const char *ident;
	uint64_t found;
	uint32_t thread;
};

/* Added to what a poll found: it had no room for more. */
enum { FULL = 100 };

/* Thread 1 reads from HERE at 50 ms; its end was used at 20 ms, if at all. */
static const struct {
	struct poll polls[3];
	double read_from_ms; /* it ends at 50 */
	double before_ms;
	double early_ms, start_ms;
} rows[] = {
	/* 0: a poll that slept for it */
	{ { { 30, 40, HERE, 1, 1 } }, 50, 20, 40, 40 },
	/* 1: the same, of another thread */
	{ { { 30, 40, HERE, 1, 2 } }, 50, 20, 40, 40 },
	/* 2: it was one of several */
	{ { { 30, 40, THERE, 3, 1 } }, 50, 20, 40, 40 },
	/* 3: it was not that one; no poll tells */
	{ { { 30, 40, THERE, 1, 1 } }, 50, 20, 20, 50 },
	/* 4: a poll that had not slept: it came after the poll before, or after the last use */
	{ { { 29, 30, THERE, 1, 1 }, { 40, 40, HERE, 2, 1 } }, 50, 20, 30, 40 },
	{ { { 29, 30, THERE, 1, 1 }, { 40, 40, HERE, 2, 1 } }, 50, 35, 35, 40 },
	/* 6: a poll before the last use found something else */
	{ { { 10, 15, HERE, 1, 1 } }, 50, 20, 20, 50 },
	/* 7: the first one that found it counts */
	{ { { 25, 30, HERE, 1, 2 }, { 40, 40, HERE, 1, 2 } }, 50, 20, 30, 30 },
	/* 8: a read that waited */
	{ { { .found = 0 } }, 30, 20, 50, 50 },
	/* 9: nothing is known */
	{ { { .found = 0 } }, 50, 0, 0, 50 },
	/* 10: the poll before had no room for it, and the one before that had */
	{ { { 29, 30, THERE, FULL + 2, 1 }, { 40, 40, HERE, 2, 1 } }, 50, 10, 10, 40 },
	{ { { 19, 20, THERE, 2, 1 }, { 29, 30, THERE, FULL + 2, 1 }, { 40, 40, HERE, 2, 1 } },
	  50,
	  10,
	  20,
	  40 },
};

START_TEST(arrivals_are_found)
{
	struct sketch sketch;
	const struct poll *polls = rows[_i].polls;

	sketch_begin(&sketch);
	for (uint32_t i = 0; i < 3; i++)
		sketch_thread(&sketch, "t", 0, 100);
	uint32_t read = sketch_io(&sketch, 1, "read", HERE, 9, rows[_i].read_from_ms, 50);
	for (size_t i = 0; i < 3 && polls[i].ident; i++) {
		uint32_t op = sketch_op(&sketch, KIND_POLL, "epoll_wait", polls[i].thread,
					polls[i].from_ms, polls[i].to_ms);
		sketch.rec.ops[op].ident = sketch_string(&sketch, polls[i].ident);
		sketch.rec.extras[op].amount = polls[i].found % FULL;
		sketch.rec.extras[op].full = polls[i].found >= FULL;
	}
	struct arrival_polls *found = arrival_polls_new(&sketch.rec);
	struct connection_end end = { .ident = sketch_string(&sketch, HERE), .peer = NO_INDEX };
	struct exchange exchange = { .first_op = read, .is_served = true };

	arrival_find(found, &end, &exchange, (uint64_t)(rows[_i].before_ms * 1e6));
	ck_assert_double_eq_tol((double)exchange.early_ns / 1e6, rows[_i].early_ms, 1e-6);
	ck_assert_double_eq_tol((double)exchange.start_ns / 1e6, rows[_i].start_ms, 1e-6);
	const struct rec_op *op = &sketch.rec.ops[exchange.arrival_op];
	ck_assert_uint_eq(exchange.start_ns, exchange.is_at_end ? op->end_ns : op->start_ns);
	arrival_polls_free(found);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(arrivals_are_found, rows);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads that ask a server by two connections, which they borrow: in turn the one and the
 * other. In each round a asks first, and has its answer first. Apart from that they have nothing to
 * do with each other, and b does something else at its end.
 */
#ifndef WCPROF_TESTS_BORROWED_H
#define WCPROF_TESTS_BORROWED_H

#include "sketch.h"

enum { BORROWED_ASKER = 1, BORROWED_SERVER = 3, BORROWED_THREADS = 5 };
enum { BORROWED_ROUNDS = 10, BORROWED_ROUND_MS = 20 };

struct borrowed {
	bool is_fixed;   /* each asker has its own connection */
	bool is_one;     /* the same thread serves both */
	bool is_kept;    /* a server keeps a lock until it has read the next question */
	bool is_crossed; /* both ask before one is answered, by the same connection */
	bool is_closed;  /* in the end main closes the connections, and the servers find that */
	bool has_other;  /* another server thread has two connections, and keeps a lock */
};

/* 0 or 1 */
static inline int borrowed_connection(const struct borrowed *of, int asker, int round)
{
	return of->is_crossed ? 0 : of->is_fixed ? asker : (asker + round) % 2;
}

static inline void borrowed_asks(struct sketch *sketch, const struct borrowed *of, int asker,
				 int round)
{
	static const char *const ours[] = { "tcp c>s1", "tcp c>s2" };
	static const char *const theirs[] = { "tcp s1>c", "tcp s2>c" };
	double ms = BORROWED_ROUND_MS * round, asked_ms = ms + 2 + asker,
	       done_ms = asker ? ms + 11 : ms + 8;
	int connection = borrowed_connection(of, asker, round);
	uint32_t server = BORROWED_SERVER + (of->is_one ? 0 : (uint32_t)connection);
	uint32_t thread = BORROWED_ASKER + (uint32_t)asker;
	double free_ms =
		round ? ms - BORROWED_ROUND_MS +
				(borrowed_connection(of, 1, round - 1) == connection ? 11 : 8)
		      : 0;

	sketch_sleep(sketch, thread, "think", round ? done_ms - BORROWED_ROUND_MS + 0.02 : 0,
		     asked_ms);
	sketch_io(sketch, thread, "write", ours[connection], 20, asked_ms, asked_ms);
	sketch_io(sketch, server, "read", theirs[connection], 20,
		  of->is_one || of->is_crossed ? asked_ms : free_ms + 0.02, asked_ms + 0.01);
	sketch_sleep(sketch, server, asker ? "work_b" : "work_a", asked_ms + 0.01, done_ms);
	sketch_io(sketch, server, "write", theirs[connection], 30, done_ms, done_ms + 0.01);
	sketch_io(sketch, thread, "read", ours[connection], 30, asked_ms, done_ms + 0.02);
	if (of->is_kept && round == 3) {
		uint32_t hold = sketch_op(sketch, KIND_HOLD, "lock", server, done_ms - 1,
					  ms + BORROWED_ROUND_MS + 5);

		sketch->rec.extras[hold].address = 7;
	}
}

static inline void borrowed_close(struct sketch *sketch)
{
	double end_ms = BORROWED_ROUND_MS * BORROWED_ROUNDS;

	sketch_io(sketch, 0, "close", "tcp c>s1", 0, end_ms - 5, end_ms - 5);
	sketch_io(sketch, 0, "close", "tcp c>s2", 0, end_ms - 4, end_ms - 4);
	sketch_io(sketch, BORROWED_SERVER, "read", "tcp s1>c", 0, end_ms - 8, end_ms - 4.99);
	sketch_io(sketch, BORROWED_SERVER + 1, "read", "tcp s2>c", 0, end_ms - 8, end_ms - 3.99);
}

/* One question by another thread, which has its own connections. */
static inline void borrowed_other(struct sketch *sketch, const char *ours, const char *theirs,
				  double ms)
{
	sketch_io(sketch, BORROWED_THREADS, "write", ours, 20, ms, ms);
	sketch_io(sketch, BORROWED_THREADS + 1, "read", theirs, 20, 0, ms + 0.01);
	sketch_io(sketch, BORROWED_THREADS + 1, "write", theirs, 30, ms + 1, ms + 1);
	sketch_io(sketch, BORROWED_THREADS, "read", ours, 30, ms, ms + 1.01);
}

static inline void borrowed_sketch(struct sketch *sketch, const struct borrowed *of)
{
	static const char *const names[] = {
		"main", "a", "b", "server", "server", "other", "server"
	};
	double end_ms = BORROWED_ROUND_MS * BORROWED_ROUNDS;

	sketch_begin(sketch);
	for (uint32_t i = 0; i < BORROWED_THREADS + (of->has_other ? 2 : 0); i++)
		sketch_thread(sketch, names[i], 0, i == BORROWED_ASKER + 1 ? end_ms + 80 : end_ms);
	if (of->has_other)
		borrowed_other(sketch, "tcp c>s0", "tcp s0>c", 1);
	for (int round = 0; round < BORROWED_ROUNDS; round++)
		for (int asker = 0; asker < 2; asker++)
			borrowed_asks(sketch, of, asker, round);
	if (of->is_closed)
		borrowed_close(sketch);
	if (of->has_other) {
		borrowed_other(sketch, "tcp c>s3", "tcp s3>c", end_ms - 5);
		uint32_t hold =
			sketch_op(sketch, KIND_HOLD, "lock", BORROWED_THREADS + 1, 3, end_ms - 10);

		sketch->rec.extras[hold].address = 8;
	}
	sketch_sleep(sketch, BORROWED_ASKER + 1, "last", end_ms, end_ms + 80);
	sketch_end(sketch);
}

#endif

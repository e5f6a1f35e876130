/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a wait hung on something else than what ended it, or the graph were not the run. */
#include "script/edges.h"

#include "random.h"
#include "sketch.h"
#include "suite.h"

#include <inttypes.h>

/* When the moment is, by the graph alone. */
static uint64_t at_ns(const struct edges *edges, uint32_t index)
{
	const struct edge_moment *moment = &edges->moments[index];
	uint64_t own_ns = moment->length_ns, caused_ns = 0;

	if (moment->before != NO_INDEX)
		own_ns += at_ns(edges, moment->before);
	if (moment->cause != NO_INDEX)
		caused_ns = at_ns(edges, moment->cause) + moment->latency_ns;
	return own_ns > caused_ns ? own_ns : caused_ns;
}

static uint64_t finish_ms(const struct edges *edges, uint32_t thread)
{
	return at_ns(edges, edges->finish[thread]) / SKETCH_MS;
}

static size_t causes_of(const struct edges *edges)
{
	size_t count = 0;

	for (size_t i = 0; i < edges->count; i++) {
		ck_assert(edges->moments[i].before == NO_INDEX || edges->moments[i].before < i);
		ck_assert(edges->moments[i].cause == NO_INDEX || edges->moments[i].cause < i);
		count += edges->moments[i].cause != NO_INDEX;
	}
	return count;
}

/* One has the lock from 2 to 6, the other waits for it from 3 on. */
static void lock(struct sketch *sketch)
{
	sketch_hold(sketch, 1, "lock", 1, 2, 6);
	sketch_wait(sketch, 2, REASON_MUTEX, "lock", 3, 6.5, NO_INDEX);
	sketch_hold(sketch, 2, "lock", 2, 6.5, 9);
}

static void condition(struct sketch *sketch)
{
	sketch_link(sketch, 1, LINK_WAKE, "condition", 6, 1, NO_INDEX);
	sketch_wait(sketch, 2, REASON_COND, "condition", 3, 6.5, NO_INDEX);
}

static void permit(struct sketch *sketch)
{
	sketch_link(sketch, 1, LINK_POST, "semaphore", 6, 1, NO_INDEX);
	sketch_wait(sketch, 2, REASON_SEM, "semaphore", 3, 6.5, NO_INDEX);
}

static void barrier(struct sketch *sketch)
{
	sketch_wait(sketch, 2, REASON_BARRIER, "barrier", 3, 6.5, NO_INDEX);
	sketch_wait(sketch, 1, REASON_BARRIER, "barrier", 6, 6.2, NO_INDEX);
}

static void bytes(struct sketch *sketch)
{
	sketch_io(sketch, 1, "write", "pipe:[7]", 8, 6, 6.2);
	sketch_io(sketch, 2, "read", "pipe:[7]", 8, 3, 6.5);
}

static const struct {
	const char *name;
	void (*build)(struct sketch *);
	size_t causes; /* beside two starts and two joins */
} meetings[] = {
	{ "lock", lock, 1 },       { "condition", condition, 1 }, { "permit", permit, 1 },
	{ "barrier", barrier, 1 }, { "bytes", bytes, 1 },
};

START_TEST(a_wait_hangs_on_what_ended_it)
{
	struct sketch sketch;
	struct edges edges;

	sketch_begin(&sketch);
	sketch_join_two(&sketch, "giver", "taker", 10, 12);
	meetings[_i].build(&sketch);
	sketch_end(&sketch);
	edges_build(&edges, &sketch.rec, &sketch.classes);
	ck_assert_msg(causes_of(&edges) == 4 + meetings[_i].causes && edges.lost_edges == 0,
		      "%s: %zu, %" PRIu64 " lost", meetings[_i].name, causes_of(&edges),
		      edges.lost_edges);
	ck_assert_uint_eq(finish_ms(&edges, 0), 12);
	/* The giver's work before that moves the taker's end. */
	for (size_t i = 0; i < edges.count; i++)
		if (edges.moments[i].length_ns == 2 * SKETCH_MS ||
		    edges.moments[i].length_ns == 6 * SKETCH_MS)
			edges.moments[i].length_ns += 100 * SKETCH_MS;
	ck_assert_uint_eq(finish_ms(&edges, 2), 112);
	edges_free(&edges);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_wait_that_nobody_ended_stays_as_long_as_it_was)
{
	struct sketch sketch;
	struct edges edges;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 10);
	sketch_wait(&sketch, 0, REASON_COND, "condition", 2, 7, NO_INDEX);
	sketch_end(&sketch);
	edges_build(&edges, &sketch.rec, &sketch.classes);
	ck_assert_uint_eq(edges.lost_edges, 1);
	ck_assert_uint_eq(causes_of(&edges), 0);
	ck_assert_uint_eq(finish_ms(&edges, 0), 10);
	edges_free(&edges);
	sketch_free(&sketch);
}
END_TEST

/* Whoever has the lock when, the graph of it takes as long as it took. */
START_TEST(the_graph_of_any_run_is_as_long_as_it)
{
	enum { THREADS = 4, ROUNDS = 30 };
	uint64_t state = (uint64_t)_i + 1;
	double free_ms = 2;
	struct sketch sketch;
	struct edges edges;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 500);
	for (uint32_t t = 1; t < THREADS; t++) {
		sketch_thread(&sketch, "worker", 1, 400 + t);
		sketch_link(&sketch, 0, LINK_SPAWN, "", 0.5, 0, sketch.rec.threads[t].op);
	}
	for (int i = 0; i < ROUNDS; i++) {
		uint32_t thread = 1 + (uint32_t)random_number(&state, THREADS - 1);
		double held_ms = 1 + (double)random_number(&state, 8);

		if (random_number(&state, 2))
			sketch_wait(&sketch, thread, REASON_MUTEX, "lock", free_ms - 0.5, free_ms,
				    NO_INDEX);
		sketch_hold(&sketch, thread, "lock", 1, free_ms, free_ms + held_ms);
		free_ms += held_ms + 1;
	}
	sketch_end(&sketch);
	edges_build(&edges, &sketch.rec, &sketch.classes);
	(void)causes_of(&edges);
	for (uint32_t t = 1; t < THREADS; t++)
		ck_assert_uint_eq(finish_ms(&edges, t), 400 + t);
	edges_free(&edges);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(a_wait_hangs_on_what_ended_it, meetings);
	TEST(a_wait_that_nobody_ended_stays_as_long_as_it_was);
	LOOP(the_graph_of_any_run_is_as_long_as_it, 0, 50);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if an answer that a loop has put off for some time passes for one that takes longer. */
#include "infer/loops.h"

#include "sketch.h"
#include "suite.h"

enum { EVENTS_MAX = 8 };

/* The loop polls until then. It finds a question of that connection, and reads that; or it finds
 * nothing, as a timer has run, and answers. In a turn of a question it may answer others, too. */
struct turn_of {
	double at_ms;
	char reads; /* 0: its timer ends the poll */
	char writes;
};

static const struct {
	struct turn_of turns[EVENTS_MAX];
	double timers_ms[EVENTS_MAX]; /* of visits, in order; 0 = no timer */
} rows[] = {
	/* 0: one timer, that of the other connection, and again of the first one */
	{ { { 2, 'A', 0 },
	    { 5, 'B', 0 },
	    { 12, 0, 'A' },
	    { 15, 0, 'B' },
	    { 20, 'A', 0 },
	    { 30, 0, 'A' } },
	  { 0, 0, 10, 10, 0, 10 } },
	/* 1: it had run at some time before the turn, as usual ones have */
	{ { { 2, 'A', 0 }, { 12, 0, 'A' }, { 20, 'A', 0 }, { 24, 'B', 0 }, { 33, 'B', 'A' } },
	  { 0, 10, 0, 0, 0, 10 } },
	/* 2: it was shorter than usual ones */
	{ { { 2, 'A', 0 }, { 12, 0, 'A' }, { 20, 'A', 0 }, { 24, 'B', 0 }, { 27, 'B', 'A' } },
	  { 0, 10, 0, 0, 0, 7 } },
	/* 3: it was longer */
	{ { { 2, 'A', 0 }, { 12, 0, 'A' }, { 20, 'A', 0 }, { 33, 'B', 0 }, { 37, 'B', 'A' } },
	  { 0, 10, 0, 0, 0, 13 } },
	/* 4: no timer of the loop is known: there was room to write */
	{ { { 2, 'A', 'A' }, { 20, 'A', 0 }, { 24, 'B', 'B' }, { 33, 'B', 'A' } }, { 0 } },
};

static void transfer(struct sketch *sketch, char name, bool is_read, double at_ms)
{
	const char *loop = name == 'A' ? "tcp l>a" : "tcp l>b";
	const char *asker = name == 'A' ? "tcp a>l" : "tcp b>l";

	sketch_io(sketch, 1, is_read ? "read" : "write", loop, 1, at_ms, at_ms);
	sketch_io(sketch, 0, is_read ? "write" : "read", asker, 1, at_ms, at_ms);
}

START_TEST(a_timer_runs_from_where_its_connection_is_left)
{
	struct sketch sketch;
	struct timeline timeline;
	struct flows flows;
	struct loops loops;
	double from_ms = 0;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "clients", 0, 60);
	sketch_thread(&sketch, "loop", 0, 60);
	for (const struct turn_of *turn = rows[_i].turns; turn->at_ms > 0; turn++) {
		uint32_t poll =
			sketch_op(&sketch, KIND_POLL, "epoll_wait", 1, from_ms, turn->at_ms);

		sketch.rec.extras[poll].amount = turn->reads != 0;
		sketch.rec.extras[poll].timer = !turn->reads;
		sketch.rec.extras[poll].fd = 3;
		if (turn->reads)
			transfer(&sketch, turn->reads, true, turn->at_ms);
		if (turn->writes)
			transfer(&sketch, turn->writes, false, turn->at_ms);
		from_ms = turn->at_ms;
	}
	sketch_end(&sketch);
	timeline_build(&timeline, &sketch.rec);
	flows_build(&flows, &sketch.rec);
	bool *puts = memory_new(sketch.rec.op_count, sizeof(*puts));

	loops_build(&loops, &sketch.rec, &timeline, &flows, puts);
	free(puts);
	ck_assert_uint_gt(loops.visit_count, 4);
	for (size_t i = 0; i + 1 < loops.visit_count; i++) {
		const struct visit *visit = &loops.visits[i];

		ck_assert_uint_eq(visit->timer_ns, rows[_i].timers_ms[i] * SKETCH_MS);
		ck_assert_int_eq(visit->sort == VISIT_TIMER, rows[_i].timers_ms[i] > 0);
	}
	loops_free(&loops);
	flows_free(&flows);
	timeline_free(&timeline);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(a_timer_runs_from_where_its_connection_is_left, rows);
}

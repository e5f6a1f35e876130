/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, an op would be replayed in another order than it ran, or with other self time.
 */
#include "sketch.h"

#include "recording/actions.h"
#include "suite.h"

/* "s10+5" a self segment, "c3@10" child 3, "w0@10" wait 0. */
static void describe(const struct recording *recording, uint32_t op, char *text)
{
	struct graph graph;
	struct actions actions;
	struct action action;
	graph_build(&graph, recording);
	actions_begin(&actions, &graph, op);
	text[0] = '\0';
	while (actions_next(&actions, &action)) {
		text += strlen(text);
		if (action.type == ACTION_SELF)
			sprintf(text, " s%lu+%lu", (unsigned long)action.at_ns,
				(unsigned long)action.length_ns);
		else
			sprintf(text, " %c%u@%lu", action.type == ACTION_CHILD ? 'c' : 'w',
				action.index, (unsigned long)action.at_ns);
	}
	ck_assert(!actions_next(&actions, &action));
	graph_free(&graph);
}

struct interval {
	char what; /* child, beside (a child on another thread), wait; 0 ends the row */
	uint64_t start_ns;
	uint64_t end_ns;
};

static const struct {
	struct interval intervals[5];
	const char *expected;
} rows[] = {
	/* the op itself runs from 10 to 20 */
	/*  0: nothing below */ { { { 0 } }, " s10+10" },
	/*  1 */ { { { 'c', 12, 15 } }, " s10+2 c1@12 s15+5" },
	/*  2 */ { { { 'w', 12, 15 } }, " s10+2 w0@12 s15+5" },
	/*  3: all of it */ { { { 'c', 10, 20 } }, " c1@10" },
	/*  4: overlapping */ { { { 'c', 11, 15 }, { 'c', 13, 18 } }, " s10+1 c1@11 c2@13 s18+2" },
	/*  5: one in the other */
	{ { { 'c', 11, 18 }, { 'w', 13, 15 } }, " s10+1 c1@11 w0@13 s18+2" },
	/*  6: child goes first */
	{ { { 'w', 12, 14 }, { 'c', 12, 14 } }, " s10+2 c1@12 w0@12 s14+6" },
	/*  7: before the op */ { { { 'c', 5, 12 } }, " c1@5 s12+8" },
	/*  8: after the op */ { { { 'c', 25, 30 } }, " s10+10 c1@25" },
	/*  9: beyond its end */ { { { 'w', 15, 30 } }, " s10+5 w0@15" },
	/* 10: empty, segment first */ { { { 'w', 15, 15 } }, " s10+5 s15+5 w0@15" },
	/* 11: empty at the start */ { { { 'w', 10, 10 } }, " s10+10 w0@10" },
	/* 12: empty, covered */
	{ { { 'c', 12, 18 }, { 'w', 15, 15 } }, " s10+2 c1@12 w0@15 s18+2" },
	/* 13: empty, then not */
	{ { { 'w', 12, 12 }, { 'w', 12, 14 } }, " s10+2 w0@12 w1@12 s14+6" },
	/* 14: two empty */ { { { 'w', 12, 12 }, { 'w', 12, 12 } }, " s10+2 s12+8 w0@12 w1@12" },
	/* 15: empty at the end */ { { { 'w', 20, 20 } }, " s10+10 w0@20" },
	/* 16: beside covers nothing */ { { { 'b', 12, 18 } }, " s10+2 c1@12 s12+8" },
	/* 17 */ { { { 'b', 12, 18 }, { 'c', 14, 16 } }, " s10+2 c1@12 s12+2 c2@14 s16+4" },
	/* 18: empty wait, then child */
	{ { { 'w', 12, 12 }, { 'c', 15, 16 } }, " s10+2 s12+3 w0@12 c1@15 s16+4" },
};

START_TEST(actions_come_in_the_order_in_which_they_happened)
{
	struct sketch sketch;
	char text[512];
	sketch_begin(&sketch);
	uint32_t op = sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 10, 20);
	sketch.rec.ops[op].thread = 0;
	for (const struct interval *at = rows[_i].intervals; at->what; at++) {
		if (at->what == 'w') {
			sketch_bare_wait(&sketch, op, NO_INDEX, REASON_LOCK, at->start_ns,
					 at->end_ns);
		} else {
			uint32_t child =
				sketch_bare_op(&sketch, op, KIND_CALL, 1, at->start_ns, at->end_ns);
			sketch.rec.ops[child].thread = at->what == 'b' ? 1 : 0;
		}
	}
	describe(&sketch.rec, op, text);
	ck_assert_str_eq(text, rows[_i].expected);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(actions_come_in_the_order_in_which_they_happened, rows);
}

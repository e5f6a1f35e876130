/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, the blocking chain would lead past what the end really waited for.
 */
#include "sketch.h"

#include "measure/chain.h"
#include "suite.h"

static void expect_chain(const struct recording *recording, size_t depth_max, const char *expected)
{
	struct graph graph;
	struct chain chain;
	char text[256] = "";
	graph_build(&graph, recording);
	chain_build(&chain, &graph, depth_max);
	for (size_t i = 0; i < chain.op_count; i++)
		sprintf(text + strlen(text), " %u", chain.ops[i]);
	ck_assert_str_eq(text, expected);
	chain_free(&chain);
	graph_free(&graph);
}

START_TEST(chain_follows_the_latest_child_or_wait_target)
{
	struct sketch sketch;
	sketch_begin(&sketch);
	/* 0 */ sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 0, 100);
	/* 1: the root that ends last */ sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 0, 200);
	/* 2 */ sketch_bare_op(&sketch, 1, KIND_CALL, 1, 10, 150);
	/* 3: as late as 2, but after it */ sketch_bare_op(&sketch, 1, KIND_CALL, 1, 20, 150);
	/* 4: waited for by 2 */ sketch_bare_op(&sketch, 0, KIND_CALL, 1, 20, 140);
	/* 5 */ sketch_bare_op(&sketch, 2, KIND_CALL, 1, 20, 130);
	sketch_bare_wait(&sketch, 2, 4, REASON_LOCK, 20, 140);
	sketch_bare_wait(&sketch, 4, 2, REASON_LOCK, 20, 30); /* back: taken already */
	expect_chain(&sketch.rec, 25, " 1 2 4");
	expect_chain(&sketch.rec, 2, " 1 2");
	expect_chain(&sketch.rec, 0, "");
	sketch_free(&sketch);
}
END_TEST

START_TEST(children_go_before_wait_targets_of_the_same_end)
{
	struct sketch sketch;
	sketch_begin(&sketch);
	/* 0 */ sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 0, 100);
	/* 1 */ sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 0, 90);
	/* 2 */ sketch_bare_op(&sketch, 0, KIND_CALL, 1, 0, 90);
	sketch_bare_wait(&sketch, 0, 1, REASON_LOCK, 0, 90);
	expect_chain(&sketch.rec, 25, " 0 2");
	sketch_free(&sketch);
}
END_TEST

START_TEST(an_empty_recording_has_no_chain)
{
	struct sketch sketch;
	sketch_begin(&sketch);
	expect_chain(&sketch.rec, 25, "");
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(chain_follows_the_latest_child_or_wait_target);
	TEST(children_go_before_wait_targets_of_the_same_end);
	TEST(an_empty_recording_has_no_chain);
}

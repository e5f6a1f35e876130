/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if a free thread does not have the next piece of work that threads share out. Pieces that
 * may have been given out beforehand are shared out only in the other way.
 */
#include "script/script_parts.h"

#include "replayed.h"
#include "sharing.h"
#include "suite.h"

enum { ROUNDS = 4 };

static void sketch_shared(struct sketch *sketch, int rounds)
{
	sharing_threads(sketch, rounds * SHARING_ROUND_MS);
	sharing_rounds(sketch, rounds);
}

/* With long pieces of 4 ms a round takes 16 ms; with none of any length each does 6 short ones. */
static const struct {
	double factor;
	double round_ms;
} rows[] = { { 1, 20 }, { 0.5, 16 }, { 0, 12 } };

START_TEST(who_is_free_has_the_next_piece)
{
	struct sketch sketch;

	sketch_shared(&sketch, ROUNDS);
	sketch_end(&sketch);
	replayed_expect(&sketch, _i, "long", rows[_i].factor,
			ROUNDS * (rows[_i].round_ms + SHARING_BARRIER_MS));
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_round_that_may_be_chance_is_shared_out_if_asked)
{
	struct sketch sketch;

	sketch_shared(&sketch, 1);
	sketch_end(&sketch);
	replayed_expect(&sketch, 0, "long", 0.5, 20.5);
	const struct replay_answer answer =
		replayed_trial(&sketch, (struct trial){ .shares_all = true }, "long", 0.5);
	ck_assert_double_eq_tol(answer.makespan_ns / 1e6, 16.5, 0.01);
	sketch_free(&sketch);
}
END_TEST

/* In each round a piece of thread 2 waits for data. */
START_TEST(pieces_that_wait_for_others_stay_where_they_were)
{
	struct sketch sketch;

	sketch_shared(&sketch, ROUNDS);
	sketch_thread(&sketch, "tells", 0, ROUNDS * SHARING_ROUND_MS);
	for (int i = 0; i < ROUNDS; i++) {
		double from_ms = i * SHARING_ROUND_MS;

		sketch_io(&sketch, 2, "read", "pipe:[1]", 1, from_ms + 0.1, from_ms + 1.5);
		sketch_io(&sketch, 3, "write", "pipe:[1]", 1, from_ms + 1.4, from_ms + 1.5);
	}
	sketch_end(&sketch);
	ck_assert_double_gt(replayed_ms(&sketch, "long", 0.5), ROUNDS * 20);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(who_is_free_has_the_next_piece, rows);
	TEST(a_round_that_may_be_chance_is_shared_out_if_asked);
	TEST(pieces_that_wait_for_others_stay_where_they_were);
}

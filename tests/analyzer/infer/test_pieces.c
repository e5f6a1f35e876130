/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if pieces that threads share out are not found, or others are taken for such. */
#include "infer/pieces.h"

#include "sharing.h"
#include "suite.h"

enum { ROUNDS = 4 };

static void pieces_of(struct sketch *sketch, struct pieces *pieces)
{
	struct timeline timeline;

	sketch_end(sketch);
	timeline_build(&timeline, &sketch->rec);
	pieces_build(pieces, &sketch->rec, &sketch->classes, &timeline, sketch->rec.thread_count);
	timeline_free(&timeline);
}

/* The threads of each round end at one time with a chance of 10%. */
START_TEST(pieces_are_found_and_are_sure_from_four_rounds_on)
{
	int rounds = _i + 1;
	struct sketch sketch;
	struct pieces pieces;

	sharing_threads(&sketch, rounds * SHARING_ROUND_MS);
	sharing_rounds(&sketch, rounds);
	pieces_of(&sketch, &pieces);
	ck_assert_uint_eq(pieces.round_count, (size_t)rounds);
	ck_assert_uint_eq(pieces.piece_count, (size_t)rounds * SHARING_PIECES);
	for (size_t i = 0; i < pieces.round_count; i++) {
		ck_assert_uint_eq(pieces.rounds[i].count, SHARING_PIECES);
		if (rounds != ROUNDS - 1) /* where it is 0.1% all in all */
			ck_assert(pieces.rounds[i].is_sure == (rounds >= ROUNDS));
	}
	/* Each thread has an end besides. */
	ck_assert_uint_eq(pieces.mark_count, pieces.piece_count + 2 * pieces.round_count);
	pieces_free(&pieces);
	sketch_free(&sketch);
}
END_TEST

/* The difference from four rounds of two threads: what they do in each of them. */
static const struct {
	double one_ms; /* of the first thread's pieces, */
	double two_ms; /* and of the second one's */
	double two_works_ms;
	double two_waits_ms;
	bool is_shared;
} others[] = {
	/* 0: as many each */ { 2, 2, 20, 20, false },
	/* 1: one is more than the other by a remainder */ { 2, 2, 18, 18, false },
	/* 2: a thread is idle while there are pieces left */ { 2, 2, 12, 12, false },
	/* 3: one piece each */ { 20, 20, 20, 20, false },
	/* 4: a thread waits for a CPU behind its last piece */ { 2, 2, 16, 18.5, true },
	/* 5: and still sees that there are pieces left */ { 2, 2, 16, 17.5, false },
};

START_TEST(what_was_given_out_beforehand_is_left)
{
	struct sketch sketch;
	struct pieces pieces;

	sharing_threads(&sketch, ROUNDS * SHARING_ROUND_MS);
	for (int i = 0; i < ROUNDS; i++) {
		double from_ms = i * SHARING_ROUND_MS;

		sharing_work(&sketch, 1, "piece", others[_i].one_ms, from_ms,
			     from_ms + SHARING_WORK_MS);
		sharing_work(&sketch, 2, "piece", others[_i].two_ms, from_ms,
			     from_ms + others[_i].two_works_ms);
		sharing_meet(&sketch, from_ms + others[_i].two_waits_ms, from_ms + SHARING_WORK_MS);
	}
	pieces_of(&sketch, &pieces);
	ck_assert_uint_eq(pieces.round_count, others[_i].is_shared ? ROUNDS : 0);
	for (size_t i = 0; i < pieces.round_count; i++)
		ck_assert(!pieces.rounds[i].is_sure);
	pieces_free(&pieces);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	LOOP(pieces_are_found_and_are_sure_from_four_rounds_on, 0, ROUNDS);
	EACH(what_was_given_out_beforehand_is_left, others);
}

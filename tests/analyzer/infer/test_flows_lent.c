/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a thread that borrows a connection would wait for the one that it had in the
 * recording, while another one is free. Or threads that have their own would be mixed up.
 */
#include "infer/flows_lent.h"

#include "borrowed.h"
#include "replayed.h"
#include "suite.h"

static const struct {
	struct borrowed of;
	bool is_lent;
} rows[] = {
	/* 0 */ { { .is_fixed = false }, true },
	/* 1 */ { { .is_fixed = true }, false },
	/* 2 */ { { .is_one = true }, false },
	/* 3 */ { { .is_kept = true }, false },
	/* 4 */ { { .is_crossed = true }, false },
	/* 5 */ { { .has_other = true }, true },
	/* 6 */ { { .is_closed = true }, true },
	/* 7 */ { { .is_fixed = true, .is_closed = true }, false },
};

START_TEST(connections_that_are_borrowed_are_found)
{
	struct sketch sketch;
	struct flows flows;
	size_t messages = 0;

	borrowed_sketch(&sketch, &rows[_i].of);
	flows_build(&flows, &sketch.rec);
	size_t count = flows.flow_count;

	flows_lend(&flows, &sketch.rec);
	for (uint32_t op = 0; op < sketch.rec.op_count; op++)
		messages += flows.other_of[op] != NO_INDEX;
	ck_assert_uint_eq(messages, rows[_i].is_lent ? 4 * BORROWED_ROUNDS : 0);
	ck_assert_uint_eq(flows.flow_count,
			  rows[_i].is_lent ? count + 1 + 4 * BORROWED_ROUNDS : count);
	flows_free(&flows);
	sketch_free(&sketch);
}
END_TEST

START_TEST(borrowers_have_nothing_to_do_with_each_other)
{
	static const struct {
		const char *class;
		double factor, expected_ms;
	} made[] = { { NULL, 1, 280 },
		     { "work_a", 2, 280 },
		     { "work_a", 0, 280 },
		     { "last", 0, 200 },
		     { "work_b", 0.5, 240 } };
	struct sketch sketch;

	borrowed_sketch(&sketch, &(const struct borrowed){ .is_closed = _i });
	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++)
		ck_assert_double_eq_tol(replayed_ms(&sketch, made[i].class, made[i].factor),
					made[i].expected_ms, 1);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(connections_that_are_borrowed_are_found, rows);
	LOOP(borrowers_have_nothing_to_do_with_each_other, 0, 2);
}

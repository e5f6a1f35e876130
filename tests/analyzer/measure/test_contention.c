/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this fails, a heat map shows waits at the wrong time or of another lock, or the wrong hold is
 * blamed for them.
 */
#include "format.h"
#include "measure/contention.h"
#include "suite.h"

enum { NONE, TABLE, CACHE, SITE_A, SITE_B, STRINGS }; /* string ids */
enum { SLOT = 100, END = CONTENTION_SLOTS * SLOT };

static const char *strings[STRINGS] = { "", "table_lock", "cache", "get a.c:1", "put a.c:2" };
static const uint32_t stack_site[] = { NONE, SITE_A, SITE_B };

static struct rec_op ops[] = {
	{ .kind = KIND_HOLD, .name = TABLE, .start_ns = 0, .end_ns = 100 },
	{ .kind = KIND_HOLD, .name = TABLE, .start_ns = 100, .end_ns = 350 },
	{ .kind = KIND_HOLD, .name = CACHE, .start_ns = 100, .end_ns = 101 },
	{ .kind = KIND_IO, .name = TABLE, .start_ns = 0, .end_ns = 7 },
};
static struct rec_op_extra extras[] = { { .stack = 1 }, { .stack = 2 }, { .stack = 0 }, { 0 } };

static struct rec_wait waits[] = {
	/* two at once from 50 to 100, one from 100 to 350 */
	{ .reason = REASON_MUTEX, .ident = TABLE, .start_ns = 0, .end_ns = 100, .stack = 2 },
	{ .reason = REASON_MUTEX,
	  .ident = TABLE,
	  .start_ns = 50,
	  .end_ns = 350,
	  .target = 1,
	  .stack = 1 },
	/* of no length, and at the last moment */
	{ .reason = REASON_MUTEX, .ident = TABLE, .start_ns = 60, .end_ns = 60, .stack = 2 },
	{ .reason = REASON_MUTEX,
	  .ident = TABLE,
	  .start_ns = END - 1,
	  .end_ns = END,
	  .target = NO_INDEX },
	/* not for a lock */
	{ .reason = REASON_COND, .ident = TABLE, .start_ns = 0, .end_ns = 5000 },
	{ .reason = REASON_RWLOCK_READ, .ident = CACHE, .start_ns = 200, .end_ns = 201 },
};

static const struct recording recording = {
	.ops = ops,
	.extras = extras,
	.op_count = 4,
	.waits = waits,
	.wait_count = 6,
	.stack_count = 3,
	.strings = strings,
	.string_count = STRINGS,
};

static void build(struct contention *contention)
{
	struct lock_table locks;
	lock_table_build(&locks, &recording, NULL, NULL, stack_site);
	contention_build(contention, &locks, &recording, NULL, NULL, stack_site, 0, END);
	lock_table_free(&locks);
}

static void expect_cell(const struct contention *contention, uint32_t slot, uint64_t wait_ns,
			uint32_t most)
{
	ck_assert_uint_eq(contention->cells[slot].wait_ns, wait_ns);
	ck_assert_uint_eq(contention->cells[slot].most, most);
}

START_TEST(waiters_are_where_they_waited)
{
	struct contention contention;
	uint64_t total_ns = 0;
	build(&contention);
	ck_assert_uint_eq(contention.lock_count, 2);
	expect_cell(&contention, 0, 150, 2);
	expect_cell(&contention, 1, 100, 1);
	expect_cell(&contention, 3, 50, 1);
	expect_cell(&contention, 4, 0, 0);
	expect_cell(&contention, CONTENTION_SLOTS - 1, 1, 1);
	expect_cell(&contention, CONTENTION_SLOTS + 2, 1, 1); /* of the other lock */
	for (uint32_t i = 0; i < CONTENTION_SLOTS; i++)
		total_ns += contention.cells[i].wait_ns;
	ck_assert_uint_eq(total_ns, 401);
	contention_free(&contention);
}
END_TEST

START_TEST(pairs_are_hold_and_wait)
{
	struct contention contention;
	build(&contention);
	ck_assert_uint_eq(contention.pair_count, 3);
	ck_assert_uint_eq(contention.pairs[0].holder_site, SITE_B);
	ck_assert_uint_eq(contention.pairs[0].waiter_site, SITE_A);
	ck_assert_uint_eq(contention.pairs[0].wait_ns, 300);
	ck_assert_uint_eq(contention.pairs[1].holder_site, SITE_A);
	ck_assert_uint_eq(contention.pairs[1].waiter_site, SITE_B);
	ck_assert_uint_eq(contention.pairs[1].count, 2);
	ck_assert_uint_eq(contention.pairs[1].wait_ns, 100);
	ck_assert_uint_eq(contention.pairs[2].lock, 1);
	contention_free(&contention);
}
END_TEST

START_TEST(lengths_are_in_their_bins)
{
	struct contention contention;
	build(&contention);
	ck_assert_uint_eq(contention.hold_bins[contention_bin(100)], 1);
	ck_assert_uint_eq(contention.hold_bins[contention_bin(250)], 1);
	ck_assert_uint_eq(contention.hold_bins[CONTENTION_BINS + contention_bin(1)], 1);
	ck_assert_uint_eq(contention.wait_bins[contention_bin(0)], 1);
	ck_assert_uint_eq(contention.wait_bins[contention_bin(300)], 1);
	contention_free(&contention);
}
END_TEST

START_TEST(bins_have_no_gaps)
{
	for (uint32_t bin = 0; bin < CONTENTION_BINS; bin++) {
		uint64_t ns = contention_bin_ns(bin);
		ck_assert_uint_eq(contention_bin(ns), bin);
		ck_assert(bin == 0 || contention_bin(ns - 1) == bin - 1);
	}
	ck_assert_uint_eq(contention_bin(UINT64_MAX), CONTENTION_BINS - 1);
}
END_TEST

START_TEST(slots_fill_any_time)
{
	const struct contention contention = { .from_ns = 7, .to_ns = 7 + (uint64_t)_i * 1000003 };
	uint64_t last_ns = 7;
	ck_assert_uint_eq(contention_slot_ns(&contention, 0), 7);
	for (uint32_t slot = 1; slot <= CONTENTION_SLOTS; slot++) {
		uint64_t at_ns = contention_slot_ns(&contention, slot);
		ck_assert_uint_ge(at_ns, last_ns);
		ck_assert_uint_le(at_ns - last_ns, (uint64_t)_i * 1000003 / CONTENTION_SLOTS + 1);
		last_ns = at_ns;
	}
	ck_assert_uint_eq(last_ns, contention.to_ns);
}
END_TEST

START_TEST(no_locks_have_no_waiters)
{
	struct contention contention;
	const struct lock_table locks = { 0 };
	contention_build(&contention, &locks, &recording, NULL, NULL, NULL, 0, 0);
	ck_assert_uint_eq(contention.lock_count, 0);
	ck_assert_uint_eq(contention.pair_count, 0);
	contention_free(&contention);
}
END_TEST

SUITE()
{
	TEST(waiters_are_where_they_waited);
	TEST(pairs_are_hold_and_wait);
	TEST(lengths_are_in_their_bins);
	TEST(bins_have_no_gaps);
	LOOP(slots_fill_any_time, 0, 4);
	TEST(no_locks_have_no_waiters);
}

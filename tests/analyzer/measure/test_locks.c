/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a lock's figures are wrong, or the wrong holder is blamed for the waits. */
#include "format.h"
#include "measure/locks.h"
#include "suite.h"

enum { NONE, TABLE, CACHE, OTHER, SITE_A, SITE_B, STRINGS }; /* string ids */
enum { STACK_NONE, STACK_A, STACK_B, STACKS };
enum { OPS = 8, WAITS = 7 };

static struct rec_thread threads[] = { { .process = 0 }, { .process = 1 } };
static const char *strings[STRINGS] = {
	"", "table_lock", "cache", "other", "get a.c:1", "put a.c:2"
};
static const uint32_t stack_site[STACKS] = { NONE, SITE_A, SITE_B };

static struct rec_op ops[OPS] = {
	/* 0 */ { .kind = KIND_HOLD, .name = TABLE, .start_ns = 0, .end_ns = 100 },
	/* 1 */ { .kind = KIND_HOLD, .name = TABLE, .start_ns = 100, .end_ns = 110 },
	/* 2 */ { .kind = KIND_HOLD, .name = TABLE, .start_ns = 110, .end_ns = 1110 },
	/* 3 */ { .kind = KIND_HOLD, .name = TABLE, .start_ns = 5, .end_ns = 10, .thread = 1 },
	/* 4 */ { .kind = KIND_HOLD, .name = CACHE, .start_ns = 0, .end_ns = 5000 },
	/* 5 */ { .kind = KIND_THREAD, .name = OTHER, .start_ns = 0, .end_ns = 9000 },
	/* 6 */
	{ .kind = KIND_HOLD, .name = CACHE, .start_ns = 0, .end_ns = 7, .thread = NO_INDEX },
	/* 7 */ { .kind = KIND_HOLD, .name = CACHE, .start_ns = 10, .end_ns = 10 },
};

static struct rec_op_extra extras[OPS] = {
	/* 0 */ { .address = 0x10, .stack = STACK_A },
	/* 1 */ { .address = 0x10, .stack = STACK_A },
	/* 2 */ { .address = 0x10, .stack = STACK_B },
	/* 3 */ { .address = 0x10, .stack = STACK_B }, /* same address, another process */
	/* 4 */ { .address = 0x20, .stack = STACK_NONE },
	/* 5 */ { .address = 0x30 },
	/* 6 */ { .address = 0x20 },
	/* 7 */ { .address = 0x28, .stack = STACK_B },
};

static struct rec_wait waits[WAITS] = {
	/* 0 */ { .reason = REASON_MUTEX,
		  .ident = TABLE,
		  .end_ns = 90,
		  .target = 0,
		  .stack = STACK_B,
		  .address = 0x10 },
	/* 1 */
	{ .reason = REASON_MUTEX,
	  .ident = TABLE,
	  .end_ns = 95,
	  .target = 0,
	  .stack = STACK_A,
	  .address = 0x10 },
	/* 2 */
	{ .reason = REASON_LOCK,
	  .ident = TABLE,
	  .end_ns = 10,
	  .target = 2,
	  .stack = STACK_A,
	  .address = 0x18 },
	/* 3 */ { .reason = REASON_COND, .ident = TABLE, .end_ns = 99999, .target = 0 },
	/* 4 */
	{ .reason = REASON_RWLOCK_READ,
	  .ident = OTHER,
	  .end_ns = 50,
	  .target = 5,
	  .timed_out = true },
	/* 5 */ { .reason = REASON_RWLOCK_WRITE, .ident = OTHER, .end_ns = 30, .target = NO_INDEX },
	/* 6 */ { .reason = REASON_JOIN, .ident = OTHER, .end_ns = 77, .target = 5 },
};

static const struct recording recording = {
	.ops = ops,
	.extras = extras,
	.op_count = OPS,
	.waits = waits,
	.wait_count = WAITS,
	.threads = threads,
	.thread_count = 2,
	.stack_count = STACKS,
	.strings = strings,
	.string_count = STRINGS,
};

static void expect_site(const struct lock_site *site, uint32_t name, uint32_t count,
			uint64_t total_ns, uint64_t caused_ns)
{
	ck_assert_uint_eq(site->site, name);
	ck_assert_uint_eq(site->count, count);
	ck_assert_uint_eq(site->total_ns, total_ns);
	ck_assert_uint_eq(site->caused_ns, caused_ns);
}

static void expect_times(const struct percentiles *times, uint64_t p50_ns, uint64_t max_ns,
			 uint64_t total_ns)
{
	ck_assert_uint_eq(times->p50_ns, p50_ns);
	ck_assert_uint_eq(times->max_ns, max_ns);
	ck_assert_uint_eq(times->total_ns, total_ns);
}

START_TEST(figures_per_class)
{
	struct lock_table table;
	const struct lock_class *row;

	lock_table_build(&table, &recording, NULL, NULL, stack_site);
	ck_assert_uint_eq(table.count, 3);
	row = &table.rows[0];
	ck_assert_uint_eq(row->name, TABLE);
	ck_assert_uint_eq(row->acquisitions, 4);
	ck_assert_uint_eq(row->contended, 3);
	ck_assert_uint_eq(row->address_count, 3);
	expect_times(&row->wait, 90, 95, 195);
	expect_times(&row->hold, 100, 1000, 1115);
	ck_assert_uint_ge(row->instances[0].wait_ns, row->instances[1].wait_ns);
	ck_assert_uint_ge(row->instances[1].wait_ns, row->instances[2].wait_ns);
	ck_assert_uint_eq(row->instances[0].wait_ns + row->instances[1].wait_ns +
				  row->instances[2].wait_ns,
			  195);
	row = &table.rows[1];
	ck_assert_uint_eq(row->name, OTHER);
	ck_assert_uint_eq(row->acquisitions, 0);
	ck_assert_uint_eq(row->timed_out, 1);
	expect_times(&row->wait, 50, 50, 80);
	expect_times(&row->hold, 0, 0, 0);
	ck_assert_uint_eq(row->holder_count, 0);
	row = &table.rows[2];
	ck_assert_uint_eq(row->name, CACHE);
	ck_assert_uint_eq(row->acquisitions, 3);
	ck_assert_uint_eq(row->address_count, 2);
	ck_assert_uint_eq(row->instances[0].acquisitions + row->instances[1].acquisitions, 2);
	ck_assert_uint_eq(row->instances[0].hold_ns + row->instances[1].hold_ns, 5000);
	ck_assert_uint_gt(row->instances[0].hold_ns, row->instances[1].hold_ns);
	expect_times(&row->hold, 7, 5000, 5007);
	lock_table_free(&table);
}
END_TEST

START_TEST(blame_goes_to_who_made_others_wait)
{
	struct lock_table table;
	const struct lock_class *row;

	lock_table_build(&table, &recording, NULL, NULL, stack_site);
	row = &table.rows[0];
	ck_assert_uint_eq(row->holder_count, 2);
	/* Site B held ten times longer, but the waits were for site A's holds. */
	expect_site(&row->holders[0], SITE_A, 2, 110, 185);
	expect_site(&row->holders[1], SITE_B, 2, 1005, 10);
	ck_assert_uint_eq(row->waiter_count, 2);
	expect_site(&row->waiters[0], SITE_A, 2, 105, 0);
	expect_site(&row->waiters[1], SITE_B, 1, 90, 0);
	row = &table.rows[2];
	ck_assert_uint_eq(row->holder_count, 2);
	expect_site(&row->holders[0], NONE, 2, 5007, 0);
	expect_site(&row->holders[1], SITE_B, 1, 0, 0);
	lock_table_free(&table);
}
END_TEST

START_TEST(given_names_merge_classes)
{
	static const uint32_t op_name[OPS] = { TABLE, TABLE, TABLE, TABLE,
					       TABLE, OTHER, TABLE, TABLE };
	static const uint32_t wait_name[WAITS] = {
		TABLE, TABLE, TABLE, TABLE, TABLE, TABLE, TABLE
	};
	struct lock_table table;

	lock_table_build(&table, &recording, op_name, wait_name, NULL);
	ck_assert_uint_eq(table.count, 1);
	ck_assert_uint_eq(table.rows[0].acquisitions, 7);
	ck_assert_uint_eq(table.rows[0].contended, 5);
	ck_assert_uint_eq(table.rows[0].holder_count, 1);
	expect_site(&table.rows[0].holders[0], NONE, 7, 6122, 195);
	lock_table_free(&table);
}
END_TEST

START_TEST(no_locks_no_rows)
{
	struct recording empty = { .strings = strings, .string_count = 1 };
	struct lock_table table;

	lock_table_build(&table, &empty, NULL, NULL, NULL);
	ck_assert_uint_eq(table.count, 0);
	lock_table_free(&table);
}
END_TEST

SUITE()
{
	TEST(figures_per_class);
	TEST(blame_goes_to_who_made_others_wait);
	TEST(given_names_merge_classes);
	TEST(no_locks_no_rows);
}

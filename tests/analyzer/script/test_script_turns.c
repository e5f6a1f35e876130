/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong if a group commit has the recorded groups in the replay, whatever is changed: against the
 * same program worked out with the change.
 */
#include "script/script_parts.h"

#include "commits.h"
#include "replayed.h"
#include "suite.h"

/* In percent: wake-ups are a few microseconds off. */
static const double close_enough = 0.2;
/* Without a lock nothing tells a flush that nobody else waited for from other work. */
static const double lockless_close_enough = 2;
/* A thread that asked runs a little before it waits, also where it need not ask. */
static const double asked_close_enough = 3;

static void as_worked_out(struct commits commits)
{
	static const struct {
		double work;
		double flush;
	} rows[] = { { 1, 1 }, { 1, 0.5 }, { 1, 0 }, { 0.5, 1 }, { 0.2, 1 }, { 1, 1.5 } };
	struct commits recorded = commits;
	struct sketch sketch;

	commits_sketch(&recorded, &sketch);
	sketch_end(&sketch);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct commits changed = commits;

		changed.work *= rows[i].work;
		changed.flush_ms *= rows[i].flush;
		double expected_ms = commits_run(&changed);
		bool is_work = rows[i].work != 1;
		double got_ms = replayed_ms(&sketch, is_work ? "work" : "flush",
					    is_work ? rows[i].work : rows[i].flush);
		double off = 100 * (got_ms / expected_ms - 1);
		double within = commits.asks          ? asked_close_enough
				: commits.has_no_lock ? lockless_close_enough
						      : close_enough;
		ck_assert_msg(off < within && off > -within, "row %zu: %g ms, worked out %g", i,
			      got_ms, expected_ms);
	}
	sketch_free(&sketch);
}

START_TEST(any_thread_leads)
{
	as_worked_out((struct commits){ .work = 1, .flush_ms = 2.3 });
}
END_TEST

START_TEST(each_waits_alone)
{
	as_worked_out((struct commits){ .work = 1, .flush_ms = 2.3, .waits_alone = true });
}
END_TEST

START_TEST(no_lock_is_needed)
{
	as_worked_out((struct commits){
		.work = 1, .flush_ms = 2.3, .waits_alone = true, .has_no_lock = true });
}
END_TEST

START_TEST(who_asks_waits_later)
{
	as_worked_out((struct commits){ .work = 1,
					.flush_ms = 2.3,
					.waits_alone = true,
					.has_no_lock = true,
					.asks = true });
}
END_TEST

START_TEST(a_long_turn_is_made_once)
{
	struct commits commits = { .work = 1, .flush_ms = 2.3 }, first = commits;

	commits_run(&first);
	commits.long_flush = first.flushes; /* the last one */
	as_worked_out(commits);
}
END_TEST

START_TEST(one_thread_writes)
{
	as_worked_out((struct commits){ .work = 1, .flush_ms = 2.3, .has_writer = true });
}
END_TEST

SUITE()
{
	TEST(any_thread_leads);
	TEST(each_waits_alone);
	TEST(no_lock_is_needed);
	TEST(who_asks_waits_later);
	TEST(a_long_turn_is_made_once);
	TEST(one_thread_writes);
}

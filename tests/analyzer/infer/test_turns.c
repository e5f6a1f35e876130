/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if group commit is not found in a recording of one, or is found in one of anything else. */
#include "infer/turns.h"

#include "commits.h"
#include "monitored.h"
#include "suite.h"

struct made {
	struct monitored monitored;
	struct turns turns;
};

static void made_build(struct made *made, struct commits *commits)
{
	commits_sketch(commits, &made->monitored.sketch);
	monitored_build(&made->monitored);
	turns_build(&made->turns, &made->monitored.sketch.rec, &made->monitored.timeline,
		    &made->monitored.releases, &made->monitored.monitors);
}

static void made_free(struct made *made)
{
	turns_free(&made->turns);
	monitored_free(&made->monitored);
}

/* All turns are known, each for those that it was for: together all commits. */
static void all_commits_are_served(const struct made *made, const struct commits *commits)
{
	uint64_t items = 0;
	int count = 0;

	ck_assert_uint_eq(made->turns.group_count, 1);
	for (size_t i = 0; i < made->turns.count; i++) {
		if (made->turns.turns[i].group == NO_INDEX)
			continue;
		items += made->turns.turns[i].items;
		count++;
	}
	ck_assert_int_eq(count, commits->flushes);
	ck_assert_uint_eq(items, COMMITTERS * COMMITS);
}

START_TEST(any_thread_leads)
{
	struct commits commits = { .work = 1, .flush_ms = 2.3 };
	struct made made;

	made_build(&made, &commits);
	all_commits_are_served(&made, &commits);
	ck_assert(made.turns.groups[0].is_led);
	made_free(&made);
}
END_TEST

START_TEST(each_waits_alone)
{
	struct commits commits = { .work = 1, .flush_ms = 2.3, .waits_alone = true };
	struct made made;

	made_build(&made, &commits);
	all_commits_are_served(&made, &commits);
	ck_assert(made.turns.groups[0].is_led);
	made_free(&made);
}
END_TEST

/* One thread collects the results of several, and never does any of that work. */
START_TEST(who_only_ever_waits_is_of_no_group)
{
	struct commits commits = { .work = 1, .flush_ms = 2.3, .has_collector = true };
	struct made made;

	made_build(&made, &commits);
	ck_assert_uint_eq(made.turns.group_count, 0);
	made_free(&made);
}
END_TEST

static const struct {
	bool looks_again;
} lockless_rows[] = {
	/* 0 */ { false },
	/* 1: all are woken, one leads, and the others wait on */ { true },
};

START_TEST(no_lock_is_needed)
{
	struct commits commits = { .work = 1,
				   .flush_ms = 2.3,
				   .waits_alone = true,
				   .has_no_lock = true,
				   .looks_again = lockless_rows[_i].looks_again };
	uint64_t items = 0;
	struct made made;

	/* All but those who found nobody, and whom nobody waited for. */
	made_build(&made, &commits);
	ck_assert_uint_eq(made.turns.group_count, 1);
	for (size_t i = 0; i < made.turns.count; i++) {
		const struct turn *turn = &made.turns.turns[i];

		if (turn->group == NO_INDEX)
			continue;
		items += turn->items;
		ck_assert((turn->opening == NO_INDEX) == (turn->wait != NO_INDEX));
		ck_assert_uint_eq(turn->closing_hold, NO_INDEX);
	}
	ck_assert_uint_gt(items, COMMITTERS * COMMITS * 9 / 10);
	ck_assert_uint_le(items, COMMITTERS * COMMITS);
	made_free(&made);
}
END_TEST

/* Some only ask for a flush, and wait later. They come where they ask. */
START_TEST(who_asks_comes_before_it_waits)
{
	struct commits commits = {
		.work = 1, .flush_ms = 2.3, .waits_alone = true, .has_no_lock = true, .asks = true
	};
	struct made made;

	made_build(&made, &commits);
	const struct recording *rec = &made.monitored.sketch.rec;
	ck_assert_uint_eq(made.turns.group_count, 1);
	int asked = 0, waited = 0;
	for (uint32_t i = 0; i < rec->op_count; i++)
		asked += made.turns.asked_by[i] != NO_INDEX;
	for (uint32_t i = 0; i < rec->wait_count; i++)
		waited += made.turns.begins[i] != NO_INDEX && rec->waits[i].reason == REASON_COND;
	ck_assert_int_gt(asked, COMMITS / 2);
	ck_assert_int_eq(asked, waited);
	made_free(&made);
}
END_TEST

START_TEST(one_thread_writes)
{
	struct commits commits = { .work = 1, .flush_ms = 2.3, .has_writer = true };
	struct made made;

	made_build(&made, &commits);
	all_commits_are_served(&made, &commits);
	ck_assert(!made.turns.groups[0].is_led);
	ck_assert(made.turns.groups[0].is_asked);
	made_free(&made);
}
END_TEST

/* A thread calls one that waits alone, then those that wait under a lock, then another alone. The
 * turn under the lock stays what it is. */
START_TEST(a_call_after_a_turn_under_a_lock_is_not_its_end)
{
	struct made made;
	struct sketch *sketch = &made.monitored.sketch;

	sketch_begin(sketch);
	for (uint32_t i = 0; i < 6; i++)
		sketch_thread(sketch, "thread", 0, 100);
	for (int i = 0; i < 8; i++) {
		double at = 10 * i;

		sketch_io(sketch, 1, "write", "file", 1, at + 1, at + 2);
		sketch_wait(sketch, 2, REASON_FUTEX, "own 2", at + 0.5, at + 2.2, NO_INDEX);
		sketch_link(sketch, 1, LINK_WAKE, "own 2", at + 2.1, 1, NO_INDEX);
		sketch_hold(sketch, 1, "M", 1, at + 2.3, at + 2.5);
		for (uint32_t t = 4; t < 6; t++) {
			sketch_hold(sketch, t, "M", 2, at + 0.1 * t, at + 0.1 * t + 0.05);
			sketch_wait(sketch, t, REASON_COND, "done", at + 0.1 * t + 0.05,
				    at + 2.1 + 0.1 * t, NO_INDEX);
			sketch_hold(sketch, t, "M", 3, at + 2.1 + 0.1 * t, at + 2.15 + 0.1 * t);
		}
		sketch->rec.links[sketch_link(sketch, 1, LINK_WAKE, "done", at + 2.4, 2, NO_INDEX)]
			.all = true;
		sketch_wait(sketch, 3, REASON_FUTEX, "own 3", at + 0.5, at + 2.9, NO_INDEX);
		sketch_link(sketch, 1, LINK_WAKE, "own 3", at + 2.8, 1, NO_INDEX);
	}
	monitored_build(&made.monitored);
	turns_build(&made.turns, &sketch->rec, &made.monitored.timeline, &made.monitored.releases,
		    &made.monitored.monitors);
	for (size_t i = 0; i < made.turns.count; i++) {
		const struct turn *turn = &made.turns.turns[i];

		ck_assert(turn->closing_hold != NO_INDEX || turn->opening == NO_INDEX);
	}
	made_free(&made);
}
END_TEST

/* A worker gets work each time it has done what it had. At last it is told that there is no more,
 * while it works. */
START_TEST(work_that_is_handed_over_twice_is_not_one_stay)
{
	struct made made;
	struct sketch *sketch = &made.monitored.sketch;

	sketch_begin(sketch);
	sketch_thread(sketch, "main", 0, 100);
	sketch_thread(sketch, "worker", 0, 100);
	for (int i = 0; i < 3; i++) {
		sketch_hold(sketch, 0, "M", 1, 20 * i + 10, 20 * i + 12);
		sketch_link(sketch, 0, LINK_WAKE, "more", 20 * i + 11, 1, NO_INDEX);
	}
	for (int i = 0; i < 2; i++) {
		double told = 20 * i + 12;

		sketch_hold(sketch, 1, "M", 2, 20 * i + 8, 20 * i + 9);
		sketch_wait(sketch, 1, REASON_COND, "more", 20 * i + 9, told, NO_INDEX);
		sketch_hold(sketch, 1, "M", 3, told, told + 1);
	}
	monitored_build(&made.monitored);
	turns_build(&made.turns, &sketch->rec, &made.monitored.timeline, &made.monitored.releases,
		    &made.monitored.monitors);
	ck_assert_uint_eq(made.turns.group_count, 0);
	made_free(&made);
}
END_TEST

/* One job comes again and again. A thread waits until it is due, does it, puts it back and lets the
 * other one go. Often it has taken the job again by then, and the other one waits on. */
START_TEST(a_job_that_goes_round_is_done_once)
{
	enum { ROUNDS = 64 };
	static const char *const own[] = { "own 0", "own 1" };
	struct made made;
	struct sketch *sketch = &made.monitored.sketch;
	uint32_t doer = 0;

	sketch_begin(sketch);
	sketch_thread(sketch, "worker", 0, 10 * ROUNDS + 20);
	sketch_thread(sketch, "worker", 0, 10 * ROUNDS + 20);
	for (int i = 0; i < ROUNDS; i++) {
		double at = 10 * i;
		bool again = i % 8 < 5;

		sketch_sleep(sketch, doer, "due", at + 0.2, at + 5);
		sketch_sleep(sketch, doer, "do", at + 5, at + 10);
		sketch_wait(sketch, 1 - doer, REASON_FUTEX, own[1 - doer], at + 0.3, at + 10.1,
			    NO_INDEX);
		sketch_link(sketch, doer, LINK_WAKE, own[1 - doer], at + 10.05, 1, NO_INDEX);
		doer = again ? doer : 1 - doer;
	}
	monitored_build(&made.monitored);
	turns_build(&made.turns, &sketch->rec, &made.monitored.timeline, &made.monitored.releases,
		    &made.monitored.monitors);
	ck_assert_uint_eq(made.turns.group_count, 0);
	made_free(&made);
}
END_TEST

START_TEST(any_end_will_do)
{
	/* for all that come late, or for some of them */
	for (int i = 0; i < 12; i++) {
		struct commits commits = { .work = 1,
					   .flush_ms = 2.3,
					   .waits_alone = i >= 4,
					   .has_no_lock = i >= 8,
					   .takes_any = 1 + i % 4 };
		struct made made;

		made_build(&made, &commits);
		ck_assert_uint_eq(made.turns.group_count, 0);
		ck_assert_ptr_null(made.turns.begins);
		made_free(&made);
	}
}
END_TEST

SUITE()
{
	TEST(any_thread_leads);
	TEST(who_only_ever_waits_is_of_no_group);
	TEST(each_waits_alone);
	EACH(no_lock_is_needed, lockless_rows);
	TEST(who_asks_comes_before_it_waits);
	TEST(one_thread_writes);
	TEST(a_call_after_a_turn_under_a_lock_is_not_its_end);
	TEST(work_that_is_handed_over_twice_is_not_one_stay);
	TEST(a_job_that_goes_round_is_done_once);
	TEST(any_end_will_do);
}

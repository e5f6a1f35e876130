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

START_TEST(any_end_will_do)
{
	/* for all that come late, or for some of them */
	for (int takes_any = 1; takes_any <= 4; takes_any++) {
		struct commits commits = { .work = 1, .flush_ms = 2.3, .takes_any = takes_any };
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
	TEST(each_waits_alone);
	TEST(one_thread_writes);
	TEST(any_end_will_do);
}

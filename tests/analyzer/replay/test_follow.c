/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a hypothesis changed what it is not about, or the recorded order did not stay. */
#include "replay/follow.h"

#include "sketch.h"
#include "suite.h"

/* One has the lock until 6, then the other, that came for it at 3, until 9. */
static void build(struct sketch *sketch)
{
	sketch_begin(sketch);
	sketch_thread(sketch, "main", 0, 12);
	sketch_thread(sketch, "first", 0, 7);
	sketch_thread(sketch, "second", 0, 10);
	sketch_link(sketch, 0, LINK_SPAWN, "", 0, 0, sketch->rec.threads[1].op);
	sketch_link(sketch, 0, LINK_SPAWN, "", 0, 0, sketch->rec.threads[2].op);
	sketch_wait(sketch, 0, REASON_JOIN, "", 0, 11, sketch->rec.threads[2].op);
	sketch_hold(sketch, 1, "lock", 1, 2, 6);
	sketch_sleep(sketch, 1, "nap", 3, 5);
	sketch_wait(sketch, 2, REASON_MUTEX, "lock", 3, 6, NO_INDEX);
	sketch_hold(sketch, 2, "lock", 2, 6, 9);
	sketch_end(sketch);
}

static const struct {
	const char *class;
	double factor;
	double makespan_ms;
} questions[] = {
	{ "lock", 1, 12 },
	{ "lock", 0.5, 8.5 },
	{ "lock", 2, 19 },
	{ "nap", 0, 10 },
	/* its time under the lock is the lock's */
	{ "first", 0.5, 11 },
	{ "second", 0, 11 },
	{ "main", 0, 11 },
};

START_TEST(each_class_is_worth_its_part_of_the_longest_path)
{
	struct sketch sketch;
	struct edges edges;

	build(&sketch);
	edges_build(&edges, &sketch.rec, &sketch.classes);
	struct replayer replayer = follow_replayer(&edges);
	struct scaling scaling = { sketch_class(&sketch, questions[_i].class),
				   questions[_i].factor };
	struct trial trial = { .scalings = &scaling, .count = 1 };
	double makespan_ns = replayer_try(&replayer, &trial).makespan_ns;

	ck_assert_msg(makespan_ns == questions[_i].makespan_ms * 1e6, "%s*%g: %g ms",
		      questions[_i].class, questions[_i].factor, makespan_ns / 1e6);
	edges_free(&edges);
	sketch_free(&sketch);
}
END_TEST

static void *no_scratch(const struct replayer *replayer)
{
	ck_abort_msg("a scratch of %p is made, though there is a spare one",
		     (const void *)replayer);
	return NULL;
}

START_TEST(single_trials_share_the_spare_scratch)
{
	struct sketch sketch;
	struct edges edges;
	const struct trial unchanged = { .scalings = NULL };

	build(&sketch);
	edges_build(&edges, &sketch.rec, &sketch.classes);
	struct replayer replayer = follow_replayer(&edges);
	struct scaling scaling = { sketch_class(&sketch, "lock"), 2 };
	struct trial trial = { .scalings = &scaling, .count = 1 };

	replayer.spare = replayer.scratch_new(&replayer);
	replayer.scratch_new = no_scratch;
	ck_assert_double_eq(replayer_try(&replayer, &trial).makespan_ns, 19e6);
	ck_assert_double_eq(replayer_try(&replayer, &unchanged).makespan_ns, 12e6);
	replayer.scratch_free(replayer.spare);
	edges_free(&edges);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(single_trials_share_the_spare_scratch);
	EACH(each_class_is_worth_its_part_of_the_longest_path, questions);
}

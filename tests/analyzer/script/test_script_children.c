/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a parent that waits for any child waits for the recorded one, or takes an end twice. */
#include "script/script.h"

#include "sketch.h"
#include "suite.h"

enum { PARENT, CHILD, OTHER };

static const struct script_options as_recorded = { 0 };
static struct sketch sketch;
static struct rec_process processes[3];
static struct script script;

static uint32_t child_begins(uint32_t child, const char *client, double ends_ms)
{
	uint32_t thread = sketch_thread(&sketch, "child", 1, ends_ms);
	uint32_t op = sketch_op(&sketch, KIND_EXEC, "fork", PARENT, 1, ends_ms + 1);

	sketch.rec.threads[thread].process = child;
	sketch.rec.ops[op].ident = sketch_string(&sketch, client);
	processes[child] = (struct rec_process){ .pid = thread + 1,
						 .op = NO_INDEX,
						 .client = sketch.rec.ops[op].ident };
	return op;
}

static uint32_t ops[3];

static void setup(void)
{
	sketch_begin(&sketch);
	processes[0] = sketch.process;
	sketch.rec.processes = processes;
	sketch_thread(&sketch, "parent", 0, 100);
	ops[CHILD] = child_begins(CHILD, "2:7", 20);
	ops[OTHER] = child_begins(OTHER, "3:8", 40);
	sketch.rec.process_count = 3;
}

static void teardown(void)
{
	script_free(&script);
	sketch_free(&sketch);
}

static void wait_for(uint32_t child, uint64_t named, double from_ms, double to_ms)
{
	uint32_t wait = sketch_wait(&sketch, PARENT, REASON_EXEC, "", from_ms, to_ms, ops[child]);

	sketch.rec.waits[wait].address = named;
}

static void build(void)
{
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
}

/* How many steps of this type a thread has; the last one. */
static int count(uint32_t thread, enum step_type type, const struct step **last)
{
	const struct step *step = &script.steps[script.actors[thread].first_step];
	int found = 0;

	for (; step->type != STEP_END; step++)
		if (step->type == type) {
			found++;
			*last = step;
		}
	return found;
}

START_TEST(any_child_will_do)
{
	const struct step *permit, *post;

	wait_for(CHILD, 0, 10, 21);
	wait_for(OTHER, 0, 22, 43);
	build();
	ck_assert_int_eq(count(PARENT, STEP_PERMIT, &permit), 2);
	ck_assert_uint_eq(permit->ns, 3 * SKETCH_MS);
	ck_assert_int_eq(count(CHILD, STEP_POST, &post), 1);
	ck_assert_uint_eq(post->arg, permit->arg);
	ck_assert_int_eq(count(OTHER, STEP_POST, &post), 1);
	ck_assert_uint_eq(post->arg, permit->arg);
	ck_assert_int_eq(count(PARENT, STEP_JOIN, &permit), 0);
	ck_assert_uint_eq(script.permits[post->arg], 0);
	ck_assert_uint_eq(script.unresolved_waits, 0);
}
END_TEST

START_TEST(a_child_that_is_named_is_joined)
{
	const struct step *join, *post;

	wait_for(CHILD, 2, 10, 21);
	wait_for(OTHER, 3, 22, 43);
	build();
	ck_assert_int_eq(count(PARENT, STEP_JOIN, &join), 2);
	ck_assert_uint_eq(join->arg, OTHER);
	ck_assert_int_eq(count(PARENT, STEP_PERMIT, &join), 0);
	ck_assert_int_eq(count(CHILD, STEP_POST, &post), 0);
}
END_TEST

/* SIGCHLD ends the first wait; the second one asks for the status. */
START_TEST(of_two_waits_for_one_the_first_takes)
{
	const struct step *step;

	wait_for(CHILD, 0, 10, 21);
	wait_for(CHILD, 0, 22, 22);
	build();
	ck_assert_int_eq(count(PARENT, STEP_PERMIT, &step), 1);
	ck_assert_uint_eq(step->ns, 1 * SKETCH_MS);
}
END_TEST

/* Polls for a while, again and again, until the child's end interrupts one. */
START_TEST(a_row_of_polls_is_one_wait)
{
	const struct step *step;

	for (int i = 0; i < 3; i++) {
		double from_ms = 9 + 4 * i;
		uint32_t poll = sketch_op(&sketch, KIND_POLL, "poll", PARENT, from_ms, from_ms + 4);

		wait_for(CHILD, 0, from_ms, from_ms + 4);
		sketch.rec.waits[i].waiter = poll;
		sketch.rec.ops[poll].outcome = i < 2 ? OUTCOME_OK : OUTCOME_ERROR;
	}
	build();
	ck_assert_int_eq(count(PARENT, STEP_PERMIT, &step), 1);
	ck_assert_uint_eq(step->ns, 1 * SKETCH_MS);
	ck_assert(script_awaits_child(&script, step));
	ck_assert_int_eq(count(PARENT, STEP_RACE, &step), 0);
	ck_assert_int_eq(count(PARENT, STEP_DELAY, &step), 0);
}
END_TEST

START_TEST(one_that_is_named_later_is_joined_by_both)
{
	const struct step *step;

	wait_for(CHILD, 0, 10, 21);
	wait_for(CHILD, 2, 22, 22);
	build();
	ck_assert_int_eq(count(PARENT, STEP_JOIN, &step), 2);
	ck_assert_int_eq(count(CHILD, STEP_POST, &step), 0);
}
END_TEST

/* It was running when the recording ended: the wait's target has no end. */
START_TEST(a_child_without_an_end_posts_nothing)
{
	const struct step *step;

	sketch.rec.extras[sketch.rec.threads[CHILD].op].open = true;
	wait_for(CHILD, 0, 10, 21);
	build();
	ck_assert_int_eq(count(CHILD, STEP_POST, &step), 0);
	ck_assert_int_eq(count(PARENT, STEP_PERMIT, &step), 0);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(any_child_will_do);
	TEST(a_child_that_is_named_is_joined);
	TEST(of_two_waits_for_one_the_first_takes);
	TEST(a_row_of_polls_is_one_wait);
	TEST(one_that_is_named_later_is_joined_by_both);
	TEST(a_child_without_an_end_posts_nothing);
}

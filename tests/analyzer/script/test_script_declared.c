/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if time is counted twice that a program says it waits, or an op ends where it began. */
#include "script/script.h"

#include "sketch.h"
#include "steps.h"
#include "suite.h"

static const struct script_options as_recorded = { 0 };

START_TEST(a_wait_around_others_is_not_one_more)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 10);
	uint32_t other = sketch_thread(&sketch, "other", 0, 4);
	sketch_wait(&sketch, 0, REASON_CALL_EXEC, "job", 1, 6, NO_INDEX);
	sketch_wait(&sketch, 0, REASON_JOIN, "other", 2, 4.5, sketch.rec.threads[other].op);
	sketch_wait(&sketch, 0, REASON_CALL_EXEC, "job", 7, 9, NO_INDEX);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	/* before and after the join the program waited for something else, as it says */
	static const struct expected_step steps[] = {
		{ STEP_RUN, 1 }, { STEP_FIXED, 1 }, { STEP_JOIN, 0.5 }, { STEP_FIXED, 1.5 },
		{ STEP_RUN, 1 }, { STEP_FIXED, 2 }, { STEP_RUN, 1 },    { STEP_MARK, 0 },
	};
	expect_steps(&script, 0, steps, sizeof(steps) / sizeof(steps[0]));
	ck_assert_uint_eq(script.unresolved_waits, 1);
	ck_assert_uint_eq(script.unresolved_ns, 4500000);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* main begins a request, hands it over, and sleeps; the worker calls something for it. */
static void hand_over(struct sketch *sketch)
{
	sketch_begin(sketch);
	sketch_thread(sketch, "main", 0, 20);
	sketch_thread(sketch, "worker", 0, 12);
	uint32_t request = sketch_op(sketch, KIND_OP_USER, "request", 0, 1, 9);
	uint32_t pause = sketch_op(sketch, KIND_SLEEP, "pause", 0, 3, 18);
	uint32_t call = sketch_op(sketch, KIND_SLEEP, "call", 1, 5, 8);

	sketch->rec.ops[request].parent = sketch->rec.threads[0].op;
	sketch->rec.ops[pause].parent = sketch->rec.threads[0].op;
	sketch->rec.ops[call].parent = request;
	sketch_end(sketch);
}

static size_t stamps_of(const struct script *script, uint32_t thread)
{
	const struct step *step = &script->steps[script->actors[thread].first_step];
	size_t count = 0;

	for (; step->type != STEP_END; step++)
		count += step->type == STEP_STAMP;
	return count;
}

START_TEST(an_op_ends_on_the_thread_that_does_the_last_of_it)
{
	struct sketch sketch;
	struct script script;

	hand_over(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert_uint_eq(stamps_of(&script, 0), 1);
	ck_assert_uint_eq(stamps_of(&script, 1), 1);
	const struct step *step = &script.steps[script.actors[1].first_step];
	uint64_t at_ns = 0;
	for (; step->type != STEP_STAMP; step++)
		at_ns += step->ns;
	ck_assert_uint_eq(at_ns, 9 * SKETCH_MS);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

static uint32_t leaf_of_run(const struct script *script, uint32_t thread, size_t run)
{
	const struct step *step = &script->steps[script->actors[thread].first_step];

	for (; step->type != STEP_END; step++)
		if (step->type == STEP_RUN && run-- == 0)
			return script->scopes.scopes[step->arg].leaf;
	return NO_INDEX;
}

START_TEST(what_runs_belongs_to_who_works_for_it)
{
	struct sketch sketch;
	struct script script;

	hand_over(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	uint32_t request = sketch_class(&sketch, "request");
	/* main: before and after the request's begin; it has left it before its next call */
	ck_assert_uint_ne(leaf_of_run(&script, 0, 0), request);
	ck_assert_uint_ne(leaf_of_run(&script, 0, 1), request);
	/* the worker: until its call, until the request's end, and its own way out */
	ck_assert_uint_eq(leaf_of_run(&script, 1, 0), request);
	ck_assert_uint_eq(leaf_of_run(&script, 1, 1), request);
	ck_assert_uint_ne(leaf_of_run(&script, 1, 2), request);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

/* Other threads have done parts of it, but the one that began it saw to its end. */
START_TEST(an_op_that_was_shared_ends_where_it_began)
{
	struct sketch sketch;
	struct script script;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 20);
	uint32_t worker = sketch_thread(&sketch, "worker", 0, 12);
	uint32_t request = sketch_op(&sketch, KIND_OP_USER, "request", 0, 1, 15);
	uint32_t call = sketch_op(&sketch, KIND_SLEEP, "call", 1, 5, 8);
	uint32_t join = sketch_wait(&sketch, 0, REASON_JOIN, "worker", 2, 12.5,
				    sketch.rec.threads[worker].op);
	sketch.rec.ops[call].parent = request;
	sketch.rec.waits[join].waiter = request;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	ck_assert_uint_eq(stamps_of(&script, 0), 2);
	ck_assert_uint_eq(stamps_of(&script, 1), 0);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(a_wait_around_others_is_not_one_more);
	TEST(an_op_ends_on_the_thread_that_does_the_last_of_it);
	TEST(what_runs_belongs_to_who_works_for_it);
	TEST(an_op_that_was_shared_ends_where_it_began);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if time that passes becomes a step of another type, or of another scope. */
#include "script/script.h"

#include "sketch.h"
#include "steps.h"
#include "suite.h"

static const struct script_options as_recorded = { 0 };

/* The other end is not recorded: a write there takes CPU time all the same. */
static const char *const copied_to[] = { "tcp 1>2", "udp 1>*" };

START_TEST(a_crowded_write_copies)
{
	struct sketch sketch;
	struct script script;
	static struct rec_sample samples[] = {
		{ .at_ns = 0, .cpu_ns = 500, .thread = 0 },
		{ .at_ns = 10 * SKETCH_MS, .cpu_ns = 500 + 5 * SKETCH_MS, .thread = 0 },
	};

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 10);
	sketch_thread(&sketch, "other", 0, 10);
	sketch_io(&sketch, 0, "sendmsg", copied_to[_i], 10, 2, 8);
	sketch_io(&sketch, 0, "recv", "tcp 1>3", 10, 8, 8.01);
	sketch_io(&sketch, 0, "recv", "tcp 1>3", 10, 8.01, 9.01);
	sketch.rec.processes[0].cpus = 1;
	sketch.rec.samples = samples;
	sketch.rec.sample_count = 2;
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	static const enum step_type types[] = { STEP_RUN,   STEP_RUN, STEP_RUN, STEP_RUN,
						STEP_DELAY, STEP_RUN, STEP_MARK };
	const struct step *steps = &script.steps[script.actors[0].first_step];
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		ck_assert_msg(steps[i].type == types[i], "step %zu", i);
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

static uint32_t scope_class(const struct script *script, size_t step)
{
	return script->scopes.scopes[script->steps[script->actors[0].first_step + step].arg].leaf;
}

/* A run belongs to the innermost op, and to the locks held around it. */
START_TEST(a_run_is_of_the_innermost_op_and_the_locks_around_it)
{
	struct sketch sketch;
	struct script script;
	static const struct expected_step steps[] = { { STEP_RUN, 1 },     { STEP_ACQUIRE, 0 },
						      { STEP_RUN, 1 },     { STEP_RUN, 2 },
						      { STEP_RELEASE, 0 }, { STEP_RUN, 1 } };

	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 5);
	sketch_hold(&sketch, 0, "M", 1, 1, 4);
	sketch_op(&sketch, KIND_CALL, "work", 0, 2, 4);
	sketch_end(&sketch);
	script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
	expect_steps(&script, 0, steps, sizeof(steps) / sizeof(steps[0]));
	ck_assert_uint_eq(scope_class(&script, 0), sketch_class(&sketch, "main"));
	ck_assert_uint_eq(scope_class(&script, 2), sketch_class(&sketch, "M"));
	ck_assert_uint_eq(scope_class(&script, 3), sketch_class(&sketch, "work"));
	const struct scope *scope =
		&script.scopes.scopes[script.steps[script.actors[0].first_step + 3].arg];
	ck_assert_uint_eq(scope->count, 1);
	ck_assert_uint_eq(script.scopes.classes[scope->first], sketch_class(&sketch, "M"));
	script_free(&script);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(a_crowded_write_copies, copied_to);
	TEST(a_run_is_of_the_innermost_op_and_the_locks_around_it);
}

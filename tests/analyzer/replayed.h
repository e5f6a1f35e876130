/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makespans of a sketch, replayed as recorded or with a class scaled; for tests that know by pencil
 * and paper what they must be.
 */
#ifndef WCPROF_TESTS_REPLAYED_H
#define WCPROF_TESTS_REPLAYED_H

#include "replay/simulate.h"
#include "sketch.h"

#include <check.h>

/* The answer of a trial of a script, in which the class takes `factor` as long; NO_INDEX = none. */
static inline struct replay_answer replayed_script_trial(const struct script *script,
							 struct trial trial, uint32_t class,
							 double factor)
{
	struct machine machine;
	const struct scaling scaling = { class, factor };

	trial.scalings = &scaling;
	trial.count = class != NO_INDEX;
	machine_begin(&machine, script, 0);
	const struct replayer replayer = simulate_replayer(script, &machine);

	return replayer_try(&replayer, &trial);
}

static inline struct replay_answer replayed_script(const struct script *script, uint32_t class,
						   double factor)
{
	return replayed_script_trial(script, (struct trial){ 0 }, class, factor);
}

/* The same of a sketch; NULL = no class. */
static inline struct replay_answer replayed_trial(struct sketch *sketch, struct trial trial,
						  const char *class, double factor)
{
	uint32_t index = class ? sketch_class(sketch, class) : NO_INDEX;
	struct script script;

	script_build(&script, &sketch->rec, &sketch->classes, &(const struct script_options){ 0 });
	const struct replay_answer answer = replayed_script_trial(&script, trial, index, factor);
	script_free(&script);
	return answer;
}

static inline struct replay_answer replayed(struct sketch *sketch, const char *class, double factor)
{
	return replayed_trial(sketch, (struct trial){ 0 }, class, factor);
}

/* The makespan in ms, which nobody had to be forced to. */
static inline double replayed_ms(struct sketch *sketch, const char *class, double factor)
{
	const struct replay_answer answer = replayed(sketch, class, factor);

	ck_assert_uint_eq(answer.forced_steps, 0);
	return answer.makespan_ns / 1e6;
}

static inline void replayed_expect(struct sketch *sketch, int row, const char *class, double factor,
				   double expected_ms)
{
	double got_ms = replayed_ms(sketch, class, factor);

	ck_assert_msg(got_ms > expected_ms - 0.01 && got_ms < expected_ms + 0.01,
		      "row %d: %s x %g: %g ms, not %g", row, class ? class : "baseline", factor,
		      got_ms, expected_ms);
}

#endif

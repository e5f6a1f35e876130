/* SPDX-License-Identifier: Apache-2.0 */
/* The makespan of a recording made by hand, if something is changed that scales no class. */
#ifndef WCPROF_TEST_ASKING_H
#define WCPROF_TEST_ASKING_H

#include "ask/variant.h"
#include "replay/simulate.h"
#include "sketch.h"
#include "suite.h"

static const double NEVER = -1; /* the question is refused */

static inline double asking_ms(const struct sketch *sketch, const struct question *question,
			       char error[OPTIONS_ERROR_BYTES])
{
	struct script script;
	struct machine machine;
	struct variant variant;
	double ms = NEVER;

	script_build(&script, &sketch->rec, &sketch->classes, &(const struct script_options){ 0 });
	machine_begin(&machine, &script, 0);
	if (!variant_build(&variant, &script, &machine, &sketch->classes, question, 0, error)) {
		const struct replayer replayer =
			simulate_replayer(variant.script, &variant.machine);
		struct replay_answer answer = replayer_try(&replayer, &(const struct trial){ 0 });

		ck_assert_uint_eq(answer.forced_steps, 0);
		ms = answer.makespan_ns / 1e6;
		variant_free(&variant);
	}
	script_free(&script);
	return ms;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The steps that a script is expected to have; for tests of the files that build one. */
#ifndef WCPROF_TESTS_STEPS_H
#define WCPROF_TESTS_STEPS_H

#include "script/script.h"

#include <check.h>

/* The steps of a thread, checked one by one; type and milliseconds. */
struct expected_step {
	enum step_type type;
	double ms;
};

static inline void expect_steps(const struct script *script, uint32_t thread,
				const struct expected_step *expected, size_t count)
{
	const struct step *step = &script->steps[script->actors[thread].first_step];

	for (size_t i = 0; i < count; i++, step++)
		ck_assert_msg(step->type == expected[i].type &&
				      step->ns == (uint64_t)(expected[i].ms * 1e6 + 0.5),
			      "step %zu: type %u, %llu ns", i, step->type,
			      (unsigned long long)step->ns);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a lock with a quantum is not found in a recording of one, or is found in another one. */
#include "infer/quanta.h"

#include "interpreter.h"
#include "monitored.h"
#include "suite.h"

struct made {
	struct monitored monitored;
	struct quanta quanta;
};

static void made_build(struct made *made, const struct interpreter *interpreter)
{
	interpreter_sketch(&made->monitored.sketch, interpreter);
	monitored_build(&made->monitored);
	quanta_build(&made->quanta, &made->monitored.sketch.rec, &made->monitored.timeline,
		     &made->monitored.monitors);
}

static void made_free(struct made *made)
{
	quanta_free(&made->quanta);
	monitored_free(&made->monitored);
}

static uint32_t condition_named(const struct made *made, const char *name)
{
	const struct monitors *monitors = &made->monitored.monitors;

	for (uint32_t c = 0; c < monitors->condition_count; c++)
		if (monitors->conditions[c].address ==
		    0x1000 + sketch_string((struct sketch *)&made->monitored.sketch, name))
			return c;
	ck_abort_msg("no condition %s", name);
}

START_TEST(a_lock_is_handed_over_on_request)
{
	const struct interpreter interpreter = { .has_switch = _i };
	size_t asked[2] = { 0 };
	struct made made;

	made_build(&made, &interpreter);
	const struct monitors *monitors = &made.monitored.monitors;
	ck_assert_uint_eq((monitors->conditions[condition_named(&made, "free")].quantum_ns + 500) /
				  1000,
			  5000);
	for (size_t s = 0; s < monitors->section_count; s++)
		asked[monitors->sections[s].thread] += made.quanta.retakes[s] != NO_INDEX;
	ck_assert_uint_eq(asked[0], 0); /* it sleeps then */
	ck_assert_uint_eq(asked[1], INTERPRETER_ROUNDS);
	if (interpreter.has_switch)
		ck_assert(made.quanta.is_switch[condition_named(&made, "taken")]);
	ck_assert(!made.quanta.is_switch[condition_named(&made, "free")]);
	made_free(&made);
}
END_TEST

static const struct interpreter others[] = {
	{ .is_patient = true },
	{ .works = true },
	{ .is_late = true },
	{ .is_flag = true },
};

START_TEST(other_conditions_have_no_quantum)
{
	struct made made;

	made_build(&made, &others[_i]);
	ck_assert_uint_eq(
		made.monitored.monitors.conditions[condition_named(&made, "free")].quantum_ns, 0);
	ck_assert_ptr_null(made.quanta.takes);
	made_free(&made);
}
END_TEST

SUITE()
{
	LOOP(a_lock_is_handed_over_on_request, 0, 2);
	EACH(other_conditions_have_no_quantum, others);
}

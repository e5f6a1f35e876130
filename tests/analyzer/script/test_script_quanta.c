/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a thread that wants a lock with a quantum has it sooner or later than after that. */
#include "interpreter.h"
#include "replayed.h"
#include "suite.h"

/* The other thread runs on for 5 ms whenever main comes, until its 120 ms are done. With the
 * longest nap they are done 1 ms after main came for the eighth time. */
static const struct row {
	double factor;
	double expected_ms;
} rows[] = { { 1, 130 }, { 0.5, 95 }, { 0, 60 }, { 1.5, 151 } };

START_TEST(whoever_wants_it_waits_for_a_quantum)
{
	for (int has_switch = 0; has_switch <= 1; has_switch++) {
		const struct interpreter interpreter = { .has_switch = has_switch };
		struct sketch sketch;

		interpreter_sketch(&sketch, &interpreter);
		sketch_end(&sketch);
		double got_ms = replayed_ms(&sketch, "nap", rows[_i].factor);
		/* a look is up to a tenth of a quantum late */
		ck_assert_msg(got_ms > rows[_i].expected_ms - 1 &&
				      got_ms < rows[_i].expected_ms + 0.6 * INTERPRETER_ROUNDS,
			      "nap x %g: %g ms, not %g", rows[_i].factor, got_ms,
			      rows[_i].expected_ms);
		sketch_free(&sketch);
	}
}
END_TEST

SUITE()
{
	EACH(whoever_wants_it_waits_for_a_quantum, rows);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a clock that jumps dates a window backwards. The rest of the agent is run whole by
 * tests/agent/test_agent. */
#include "agent.h"

#include "suite.h"

static const struct {
	uint64_t wall_ns, taken_ns, now_ns, begin_ns, end_ns;
} rows[] = {
	/* 0 */ { 1000, 10, 60, 950, 1000 },
	/* 1: the clock was set back, to before all of it */ { 20, 10, 60, 0, 20 },
	/* 2 */ { 1000, 60, 10, 1000, 1000 },
};

START_TEST(a_window_is_as_long_as_it_was)
{
	uint64_t begin_ns, end_ns;

	agent_window(rows[_i].wall_ns, rows[_i].taken_ns, rows[_i].now_ns, &begin_ns, &end_ns);
	ck_assert_uint_eq(begin_ns, rows[_i].begin_ns);
	ck_assert_uint_eq(end_ns, rows[_i].end_ns);
}
END_TEST

SUITE()
{
	EACH(a_window_is_as_long_as_it_was, rows);
}

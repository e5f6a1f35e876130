/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if an answer is taken for that to another question, so that clocks are a question apart. */
#include "infer/crossings.h"

#include "suite.h"
#include "two_machines.h"

#include <math.h>

static const struct {
	double offset_ms;
	uint32_t first_from, second_from; /* questions that an end has not recorded */
	bool has_connect, is_regular;
	bool is_guessed;
} traffic[] = {
	/* 0 */ { 37, 0, 0, true, false, false },
	/* 1 */ { -1500, 0, 0, true, true, false },
	/* 2: the connection is older than both recordings, which began at once */
	{ 37, 0, 0, false, false, true },
	/* 3: one began later */ { -1500, 0, 30, false, false, true },
	/* 4 */ { 700, 41, 0, false, false, true },
	/* 5: as regular as a clock, but the wall clocks are nearly right */
	{ 2, 0, 30, false, true, true },
	/* 6: the connect() was seen, and the second machine came later */
	{ 37, 0, 12, true, false, true },
};

static void strictest(const struct crossing *crossing, double *least_ns, double *most_ns)
{
	*least_ns = -INFINITY;
	*most_ns = INFINITY;
	for (size_t i = 0; i < crossing->least_count; i++)
		*least_ns = fmax(*least_ns, crossing->least[i].offset_ns);
	for (size_t i = 0; i < crossing->most_count; i++)
		*most_ns = fmin(*most_ns, crossing->most[i].offset_ns);
}

START_TEST(bounds_are_as_near_as_messages_were_fast)
{
	struct two_machines machines;
	struct crossings crossings;
	double least_ns, most_ns;

	machines_begin(&machines, traffic[_i].offset_ms);
	if (traffic[_i].has_connect)
		connect_first(&machines);
	for (uint32_t i = 0; i < MESSAGES; i++)
		ask(&machines, i, traffic[_i].is_regular, i >= traffic[_i].first_from,
		    i >= traffic[_i].second_from);
	hosts_find(&machines.sketch.rec);
	crossings_find(&crossings, &machines.sketch.rec);
	ck_assert_uint_eq(crossings.count, 1);
	const struct crossing *crossing = &crossings.crossings[0];

	ck_assert_uint_eq(crossing->from, 0);
	ck_assert_uint_eq(crossing->to, 1);
	ck_assert_uint_eq(crossing->connections, 1);
	ck_assert_uint_eq(crossing->unmatched, 0);
	ck_assert_int_eq(crossing->is_guessed, traffic[_i].is_guessed);
	strictest(crossing, &least_ns, &most_ns);
	ck_assert_double_eq_tol(least_ns, traffic[_i].offset_ms * 1e6 - 50e3, 100);
	ck_assert_double_eq_tol(most_ns, traffic[_i].offset_ms * 1e6 + 50e3, 100);
	crossings_free(&crossings);
	sketch_free(&machines.sketch);
}
END_TEST

/* Nobody reads what is written, or it is read on the same machine. */
START_TEST(what_stays_on_a_machine_says_nothing)
{
	struct two_machines machines;
	struct crossings crossings;

	machines_begin(&machines, 5);
	sketch_io(&machines.sketch, 0, "write", "tcp 10.0.0.1:5>10.0.0.9:80", 10, 1, 2);
	sketch_io(&machines.sketch, 0, "write", "tcp 127.0.0.1:5>127.0.0.1:80", 10, 1, 2);
	sketch_io(&machines.sketch, 1, "read", "tcp 127.0.0.1:80>127.0.0.1:5", 10, 1, 2);
	sketch_io(&machines.sketch, 0, "write", "pipe:[7]", 10, 1, 2);
	sketch_io(&machines.sketch, 1, "read", "pipe:[7]", 10, 1, 2);
	hosts_find(&machines.sketch.rec);
	crossings_find(&crossings, &machines.sketch.rec);
	ck_assert_uint_eq(crossings.count, 0);
	crossings_free(&crossings);
	sketch_free(&machines.sketch);
}
END_TEST

SUITE()
{
	EACH(bounds_are_as_near_as_messages_were_fast, traffic);
	TEST(what_stays_on_a_machine_says_nothing);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if machines' times do not become those of one clock, or seem surer than they are. */
#include "infer/clocks.h"

#include "infer/flows.h"
#include "suite.h"
#include "two_machines.h"

#include <math.h>

static const struct {
	double offset_ms, drift;
} apart[] = {
	/* 0 */ { 0, 0 },
	/* 1 */ { 37, 0 },
	/* 2: times of the first machine would come before 0 */ { -1990, 0 },
	/* 3 */ { 250, 80e-6 },
	/* 4 */ { -250, -200e-6 },
};

START_TEST(a_message_is_read_after_it_was_written)
{
	struct two_machines machines;
	struct recording *rec = &machines.sketch.rec;
	struct flows flows;
	double worst_ns = 0;

	machines_begin(&machines, apart[_i].offset_ms);
	machines.drift = apart[_i].drift;
	connect_first(&machines);
	uint32_t first = (uint32_t)rec->op_count;
	for (uint32_t i = 0; i < MESSAGES; i++)
		ask(&machines, i, false, true, true);
	hosts_find(rec);
	clocks_align(rec);
	for (uint32_t op = first; op < rec->op_count; op += 4) {
		double there_ns = (double)rec->ops[op + 1].end_ns - (double)rec->ops[op].start_ns;
		double back_ns =
			(double)rec->ops[op + 3].end_ns - (double)rec->ops[op + 2].start_ns;

		ck_assert_double_ge(there_ns, -1);
		ck_assert_double_ge(back_ns, -1);
		worst_ns = fmax(worst_ns, fmax(fabs(there_ns - 50e3), fabs(back_ns - 50e3)));
	}
	ck_assert_double_le(worst_ns, clocks_error_ns(rec, 0, 1) + 1);
	ck_assert_double_lt(clocks_error_ns(rec, 0, 1), 75e3);
	ck_assert_double_eq(clocks_error_ns(rec, 0, 0), 0);
	flows_build(&flows, rec);
	ck_assert_uint_ne(flows.transfer_of[first + 1], NO_INDEX);
	flows_free(&flows);
	sketch_free(&machines.sketch);
}
END_TEST

START_TEST(who_shares_no_socket_keeps_its_clock)
{
	struct two_machines machines;
	struct recording *rec = &machines.sketch.rec;

	machines_begin(&machines, 37);
	connect_first(&machines);
	ask(&machines, 0, false, true, true);
	hosts_find(rec);
	clocks_align(rec);
	ck_assert_uint_eq(rec->clock_count, 3);
	ck_assert_uint_eq(rec->clocks[1].group, 0);
	ck_assert_uint_eq(rec->clocks[2].group, 2);
	ck_assert_double_eq(rec->clocks[2].offset_ns, 0);
	ck_assert(isinf(clocks_error_ns(rec, 0, 2)));
	sketch_free(&machines.sketch);
}
END_TEST

/* The first asks the second, the second the third: what is known adds up. */
START_TEST(errors_add_up_along_a_chain)
{
	struct two_machines machines;
	struct recording *rec = &machines.sketch.rec;

	machines_begin(&machines, 37);
	connect_first(&machines);
	for (uint32_t i = 0; i < MESSAGES; i++)
		ask(&machines, i, false, true, true);
	/* The third one's clock is 5 ms ahead of the second's; a message takes 0.1 ms. */
	double at_ms = second_ms(&machines, 3000);
	sketch_io(&machines.sketch, 1, "connect", "tcp 10.0.0.2:6>10.0.0.3:80", 0, at_ms - 1,
		  at_ms - 0.9);
	sketch_io(&machines.sketch, 1, "write", "tcp 10.0.0.2:6>10.0.0.3:80", 9, at_ms, at_ms);
	sketch_io(&machines.sketch, 2, "read", "tcp 10.0.0.3:80>10.0.0.2:6", 9, at_ms + 5,
		  at_ms + 5.1);
	sketch_io(&machines.sketch, 2, "write", "tcp 10.0.0.3:80>10.0.0.2:6", 9, at_ms + 5.2,
		  at_ms + 5.3);
	sketch_io(&machines.sketch, 1, "read", "tcp 10.0.0.2:6>10.0.0.3:80", 9, at_ms + 0.1,
		  at_ms + 0.3);
	hosts_find(rec);
	clocks_align(rec);
	ck_assert_uint_eq(rec->clocks[2].group, 0);
	ck_assert_double_eq_tol(rec->clocks[2].offset_ns, 32e6, 1e3);
	ck_assert_double_eq_tol(clocks_error_ns(rec, 1, 2), 100e3, 1e3);
	ck_assert_double_eq_tol(clocks_error_ns(rec, 0, 2),
				clocks_error_ns(rec, 0, 1) + clocks_error_ns(rec, 1, 2), 1);
	sketch_free(&machines.sketch);
}
END_TEST

START_TEST(a_clock_that_was_set_ties_nothing)
{
	struct two_machines machines;
	struct recording *rec = &machines.sketch.rec;
	struct flows flows;

	machines_begin(&machines, 0);
	connect_first(&machines);
	uint32_t first = (uint32_t)rec->op_count;
	for (uint32_t i = 0; i < 2 * MESSAGES; i++) {
		machines.offset_ms = i < MESSAGES ? 0 : -40;
		ask(&machines, i, false, true, true);
	}
	hosts_find(rec);
	clocks_align(rec);
	ck_assert_uint_eq(rec->clock_pair_count, 1);
	ck_assert(rec->clock_pairs[0].is_contradictory);
	ck_assert_uint_eq(rec->clocks[1].group, 1);
	flows_build(&flows, rec);
	ck_assert_uint_eq(flows.transfer_of[first + 1], NO_INDEX);
	flows_free(&flows);
	sketch_free(&machines.sketch);
}
END_TEST

SUITE()
{
	EACH(a_message_is_read_after_it_was_written, apart);
	TEST(who_shares_no_socket_keeps_its_clock);
	TEST(errors_add_up_along_a_chain);
	TEST(a_clock_that_was_set_ties_nothing);
}

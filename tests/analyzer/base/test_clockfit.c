/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if clocks are said to be nearer to each other than is known, or a false offset is taken. */
#include "base/clockfit.h"

#include "suite.h"

#include <math.h>
#include <stdint.h>

enum { BOUNDS = 400 };

#define SECOND_NS 1e9

static const struct {
	struct clock_bound least[3], most[3];
	size_t least_count, most_count;
	bool is_contradictory;
	double offset_ns, error_ns;
} fits[] = {
	/* 0: one message each way at one moment: the middle, and half of what is between */
	{ { { 5, 100 } }, { { 5, 160 } }, 1, 1, false, 130, 30 },
	/* 1: the strictest of each side count */
	{ { { 5, 100 }, { 5, 120 }, { 5, -9 } }, { { 5, 160 }, { 5, 1e6 } }, 3, 2, false, 140, 20 },
	/* 2 */ { { { 5, 100 } }, { { 5, 100 } }, 1, 1, false, 100, 0 },
	/* 3: a message came before it was sent, whatever the offset */
	{ { { 5, 100 } }, { { 5, 99 } }, 1, 1, true, 0, 0 },
	/* 4: one way only: not moved as long as nothing says so */
	{ { { 5, -100 } }, { { 0, 0 } }, 1, 0, false, 0, INFINITY },
	/* 5: moved no farther than it has to be */
	{ { { 5, 100 }, { 6, 70 } }, { { 0, 0 } }, 2, 0, false, 100, INFINITY },
	/* 6 */ { { { 0, 0 } }, { { 5, 3 } }, 0, 1, false, 0, INFINITY },
	/* 7 */ { { { 0, 0 } }, { { 5, -3 }, { 9, -7 } }, 0, 2, false, -7, INFINITY },
};

START_TEST(bounds_leave_an_interval)
{
	struct clock_bound least[3], most[3];
	struct clock_fit fit;

	for (size_t i = 0; i < 3; i++) {
		least[i] = fits[_i].least[i];
		most[i] = fits[_i].most[i];
	}
	clock_fit_find(&fit, least, fits[_i].least_count, most, fits[_i].most_count);
	ck_assert_int_eq(fit.is_contradictory, fits[_i].is_contradictory);
	if (fit.is_contradictory)
		return;
	ck_assert_double_eq_tol(fit.offset_ns, fits[_i].offset_ns, 1e-6);
	if (isinf(fits[_i].error_ns))
		ck_assert(isinf(fit.error_ns));
	else
		ck_assert_double_eq_tol(fit.error_ns, fits[_i].error_ns, 1e-6);
}
END_TEST

static uint64_t random_state;

static double random_part(void)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (double)(random_state >> 11) / 9007199254740992.0;
}

/* Ten seconds of messages both ways, each of which takes at least 20 us; the true line is known. */
static void messages_make(struct clock_bound least[BOUNDS], struct clock_bound most[BOUNDS],
			  double offset_ns, double drift)
{
	for (size_t i = 0; i < BOUNDS; i++) {
		double at_ns = 10 * SECOND_NS * random_part();

		least[i] = (struct clock_bound){ at_ns, offset_ns + drift * at_ns - 20e3 -
								200e3 * random_part() };
		at_ns = 10 * SECOND_NS * random_part();
		most[i] = (struct clock_bound){ at_ns, offset_ns + drift * at_ns + 20e3 +
							       200e3 * random_part() };
	}
}

START_TEST(the_true_line_is_within_the_error)
{
	struct clock_bound least[BOUNDS], most[BOUNDS];
	struct clock_fit fit;
	double offset_ns, drift;

	random_state = (uint64_t)_i + 1;
	offset_ns = (random_part() - 0.5) * 1e9;
	drift = (random_part() - 0.5) * 400e-6;
	messages_make(least, most, offset_ns, drift);
	clock_fit_find(&fit, least, BOUNDS, most, BOUNDS);
	ck_assert(!fit.is_contradictory);
	for (double at_ns = 0; at_ns <= 10 * SECOND_NS; at_ns += SECOND_NS) {
		double found_ns = fit.offset_ns + fit.drift * (at_ns - fit.middle_ns);

		ck_assert_double_le(fabs(found_ns - offset_ns - drift * at_ns), fit.error_ns * 1.1);
	}
	ck_assert_double_lt(fit.error_ns, 60e3);
	ck_assert_double_eq_tol(fit.drift, drift, 10e-6);
}
END_TEST

/* A clock that was set in between. */
START_TEST(no_line_fits_a_jump)
{
	struct clock_bound least[BOUNDS], most[BOUNDS];
	struct clock_fit fit;

	random_state = 7;
	messages_make(least, most, 0, 0);
	for (size_t i = 0; i < BOUNDS; i++) {
		least[i].offset_ns += least[i].at_ns > 5 * SECOND_NS ? 1e7 : 0;
		most[i].offset_ns += most[i].at_ns > 5 * SECOND_NS ? 1e7 : 0;
	}
	clock_fit_find(&fit, least, BOUNDS, most, BOUNDS);
	ck_assert(fit.is_contradictory);
}
END_TEST

SUITE()
{
	EACH(bounds_leave_an_interval, fits);
	LOOP(the_true_line_is_within_the_error, 0, 50);
	TEST(no_line_fits_a_jump);
}

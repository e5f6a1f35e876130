/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The offset of one clock from another; clockfit.h has the contract.
 *
 * Method. Of the least offsets only those on the upper convex hull matter, of the most those on the
 * lower one. For a given drift, the offset is between the highest of the one and the lowest of the
 * other. The width between them is concave in the drift: its top is found by thirds, and both ends
 * of what fits by halves. The answer is the middle of these drifts, and there the middle of the
 * offsets. Its error is the farthest that a line which fits is away from it. As lines are straight,
 * that is at one end of the time.
 *
 * Without bounds from both sides nothing says how far the clocks are apart. No offset is taken
 * unless a message would arrive before it was sent.
 */
#include "clockfit.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

/* The kernel lets no clock that is being set right run faster or slower than by this. */
static const double DRIFT_MOST = 500e-6;

enum { STEPS = 100 }; /* of a search: each takes a third of the range away */

struct bounds {
	const struct clock_bound *list;
	size_t count;
	double sign; /* 1: of the least, -1: of the most */
};

static int compare_bounds(const void *left, const void *right)
{
	const struct clock_bound *a = left, *b = right;

	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return (a->offset_ns > b->offset_ns) - (a->offset_ns < b->offset_ns);
}

/* Whether `b` is on or below the line from `a` to `c`; above it with a sign of -1. */
static bool is_within(const struct clock_bound *a, const struct clock_bound *b,
		      const struct clock_bound *c, double sign)
{
	double turn = (b->at_ns - a->at_ns) * (c->offset_ns - a->offset_ns) -
		      (b->offset_ns - a->offset_ns) * (c->at_ns - a->at_ns);

	return sign * turn >= 0;
}

/* Keeps what may be the strictest at some drift. */
static struct bounds hull_of(struct clock_bound *list, size_t count, double sign)
{
	size_t kept = 0;

	if (count)
		qsort(list, count, sizeof(*list), compare_bounds);
	for (size_t i = 0; i < count; i++) {
		while (kept > 1 && is_within(&list[kept - 2], &list[kept - 1], &list[i], sign))
			kept--;
		list[kept++] = list[i];
	}
	return (struct bounds){ list, kept, sign };
}

/* Both sides, and the moment that drifts turn about. */
struct fitting {
	struct bounds least;
	struct bounds most;
	double middle_ns;
};

static double strictest(const struct bounds *bounds, double drift, double middle_ns)
{
	double best = -INFINITY;

	for (size_t i = 0; i < bounds->count; i++) {
		const struct clock_bound *bound = &bounds->list[i];

		best = fmax(best,
			    bounds->sign * (bound->offset_ns - drift * (bound->at_ns - middle_ns)));
	}
	return bounds->sign * best;
}

static double least_at(const struct fitting *fitting, double drift)
{
	return strictest(&fitting->least, drift, fitting->middle_ns);
}

static double most_at(const struct fitting *fitting, double drift)
{
	return strictest(&fitting->most, drift, fitting->middle_ns);
}

static double width_at(const struct fitting *fitting, double drift)
{
	return most_at(fitting, drift) - least_at(fitting, drift);
}

/* How far up, or down, a line of this drift that fits can be at a moment, from the middle on. */
static double reach_at(const struct fitting *fitting, double drift, double from_middle_ns,
		       double sign)
{
	double offset_ns = sign > 0 ? most_at(fitting, drift) : least_at(fitting, drift);

	return sign * (offset_ns + drift * from_middle_ns);
}

/* The top of the width (from_middle_ns of NAN), or of the reach. */
static double top_of(const struct fitting *fitting, double low, double high, double from_middle_ns,
		     double sign)
{
	for (int i = 0; i < STEPS; i++) {
		double third = (high - low) / 3, a = low + third, b = high - third;
		double at_a = isnan(from_middle_ns) ? width_at(fitting, a)
						    : reach_at(fitting, a, from_middle_ns, sign);
		double at_b = isnan(from_middle_ns) ? width_at(fitting, b)
						    : reach_at(fitting, b, from_middle_ns, sign);

		if (at_a < at_b)
			low = a;
		else
			high = b;
	}
	return (low + high) / 2;
}

/* From a drift that fits towards `to`: the last one that fits. */
static double last_that_fits(const struct fitting *fitting, double from, double to)
{
	if (width_at(fitting, to) >= 0)
		return to;
	for (int i = 0; i < STEPS; i++) {
		double half = from + (to - from) / 2;

		if (width_at(fitting, half) >= 0)
			from = half;
		else
			to = half;
	}
	return from;
}

static double error_of(const struct fitting *fitting, const struct clock_fit *fit, double low,
		       double high, double end_ns)
{
	double error_ns = 0;

	for (double sign = -1; sign <= 1; sign += 2) {
		double drift = top_of(fitting, low, high, end_ns, sign);
		double line_ns = sign * (fit->offset_ns + fit->drift * end_ns);

		error_ns = fmax(error_ns, reach_at(fitting, drift, end_ns, sign) - line_ns);
	}
	return error_ns;
}

static void fit_both(const struct fitting *fitting, struct clock_fit *fit, double half_ns)
{
	double best = top_of(fitting, -DRIFT_MOST, DRIFT_MOST, NAN, 0);

	fit->is_contradictory = width_at(fitting, best) < 0;
	if (fit->is_contradictory)
		return;
	double low = last_that_fits(fitting, best, -DRIFT_MOST);
	double high = last_that_fits(fitting, best, DRIFT_MOST);

	fit->drift = (low + high) / 2;
	fit->offset_ns = (least_at(fitting, fit->drift) + most_at(fitting, fit->drift)) / 2;
	fit->error_ns = fmax(error_of(fitting, fit, low, high, -half_ns),
			     error_of(fitting, fit, low, high, half_ns));
}

/* The first and the last moment of any bound. */
static void span_of(const struct fitting *fitting, double *from_ns, double *to_ns)
{
	const struct bounds *sides[] = { &fitting->least, &fitting->most };

	*from_ns = DBL_MAX;
	*to_ns = -DBL_MAX;
	for (size_t i = 0; i < 2; i++) {
		if (!sides[i]->count)
			continue;
		*from_ns = fmin(*from_ns, sides[i]->list[0].at_ns);
		*to_ns = fmax(*to_ns, sides[i]->list[sides[i]->count - 1].at_ns);
	}
}

void clock_fit_find(struct clock_fit *fit, struct clock_bound *least, size_t least_count,
		    struct clock_bound *most, size_t most_count)
{
	struct fitting fitting = { .least = hull_of(least, least_count, 1),
				   .most = hull_of(most, most_count, -1) };
	double from_ns, to_ns;

	assert(least_count + most_count > 0);
	span_of(&fitting, &from_ns, &to_ns);
	fitting.middle_ns = from_ns + (to_ns - from_ns) / 2;
	*fit = (struct clock_fit){ .middle_ns = fitting.middle_ns };
	if (least_count && most_count) {
		fit_both(&fitting, fit, (to_ns - from_ns) / 2);
		return;
	}
	fit->error_ns = INFINITY;
	fit->offset_ns =
		least_count ? fmax(least_at(&fitting, 0), 0) : fmin(most_at(&fitting, 0), 0);
}

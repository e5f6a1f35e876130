/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The offset of one clock from another, from bounds on it.
 *
 * A message that went from clock A to clock B has been sent before it was received. So at least the
 * time of its sending by A, less that of its receipt by B, is to be added to B's times. A message
 * back tells the most. Both hold at one moment, as clocks run at different rates. A set of lines,
 * offset over time, fits all of them. Pure functions, one thread.
 */
#ifndef WCPROF_CLOCKFIT_H
#define WCPROF_CLOCKFIT_H

#include <stdbool.h>
#include <stddef.h>

struct clock_bound {
	double at_ns; /* by the clock whose offset is asked for */
	double offset_ns;
};

struct clock_fit {
	bool is_contradictory; /* no line fits; nothing below is said */
	double middle_ns;      /* the moment of the offset */
	double offset_ns;
	double drift;    /* by so much the offset grows, for each ns */
	double error_ns; /* the true offset is within that, from the first bound to the last;
			  * infinite: there are bounds of one side only */
};

/* The bounds are put in another order, and some are left out. At least one is needed. */
void clock_fit_find(struct clock_fit *, struct clock_bound *least, size_t least_count,
		    struct clock_bound *most, size_t most_count);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits of a rate: sleeps until the next one of some calls may be made.
 *
 * Threads that come sooner sleep longer there, and the limit lets as many of them go on in a second
 * as before.
 */
#ifndef WCPROF_RATES_H
#define WCPROF_RATES_H

#include "recording/classes.h"
#include "recording/recording.h"

struct rate {
	uint64_t distance_ns; /* of what it lets go on */
	uint64_t span_ns;     /* for how long threads came faster than it lets them */
	uint32_t op;          /* a sleep of those for it */
};

/* The one that lasts longest; false = there is none. */
bool rates_find(struct rate *rate, const struct recording *recording,
		const struct class_table *classes);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The places from which a thread asks for the time, as they lie in its slot. Data only (format.h).
 */
#ifndef WCPROF_CLOCKPLACES_H
#define WCPROF_CLOCKPLACES_H

#include <stdint.h>

/* A loop asks from one place; a measurement in it from two more. */
enum { CLOCK_PLACES = 4 };

/* A return address, and its calls: the first, the last but one and the last. 0 = none yet. */
struct clock_place {
	uint64_t pc;
	uint64_t first_ticks;
	uint64_t previous_ticks;
	uint64_t last_ticks;
	uint64_t count;
};

#endif

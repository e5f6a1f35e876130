/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording cut into stretches with the same amount of work in each, and the units of that work.
 *
 * The unit is a request where there are requests, else the whole run. A stretch has a number of
 * requests, or of ops of the class that comes most evenly. So a slow moment makes it longer.
 * Read-only once built.
 */
#ifndef WCPROF_STRETCHES_H
#define WCPROF_STRETCHES_H

#include "report/analysis.h"

enum diff_unit { UNIT_REQUEST, UNIT_RUN };

/* Fewer do not show how much they vary. */
enum { STRETCHES_LEAST = 8 };

struct stretches {
	enum diff_unit unit;
	uint64_t *borders_ns; /* stretch i is from border i to border i + 1, its end within */
	double *units;        /* by stretch: that ended in it; of a run the stretch's part of it */
	size_t count;
};

/* By requests, or by ops of one class if `by_requests` is false. */
void stretches_build(struct stretches *stretches, const struct analysis *analysis,
		     bool by_requests);
void stretches_free(struct stretches *stretches);

/* The requests that the unit stands for: of the judged class, not for a lock. */
bool stretches_is_unit(const struct requests *requests, const struct request *request);
bool stretches_has_requests(const struct analysis *analysis);

/* The stretch of a moment, or NO_INDEX: it is in none. */
uint32_t stretches_at(const struct stretches *stretches, uint64_t at_ns);

#endif

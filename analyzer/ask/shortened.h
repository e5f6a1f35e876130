/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much shorter requests are in one replay than in another, with a range: other requests of the
 * same sort would have other figures.
 *
 * The same requests are compared. A percentile's interval is that of its order statistics; those
 * of both replays are joined by how many requests are beyond it in both. Intervals are wider where
 * requests that follow each other are slow together. Pure functions. Any thread.
 */
#ifndef WCPROF_SHORTENED_H
#define WCPROF_SHORTENED_H

#include "replay/replayer.h"

struct shortened {
	double saved_ns;
	/* The range; of a figure that is not known without sense. */
	double least_ns;
	double most_ns;
	bool is_known; /* there are requests enough to know the figure in both replays */
};

/* `before` and `after` tell of the same requests. `order` has their indices in order of time. */
void shortened_find(struct shortened shortened[REQUEST_FIGURES], const struct request_time *before,
		    const struct request_time *after, const uint32_t *order, size_t count);

/* How many in a hundred are slower than a percentile; of the mean all. */
double shortened_slower_percent(enum request_figure figure);

/* Requests that a figure needs to be known. */
size_t shortened_least_count(enum request_figure figure);

#endif

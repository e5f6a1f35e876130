/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Savings of the best classes at every tenth between "as it is" and "no time at all": as many
 * classes as are drawn.
 *
 * A point at a factor of the what-if is that of its row. Read-only after curves_build, which runs
 * the replay on several threads and joins them.
 */
#ifndef WCPROF_CURVES_H
#define WCPROF_CURVES_H

#include "whatif.h"

enum { CURVES_MOST = 6, CURVE_POINTS = 11 };

struct curve_point {
	uint32_t class;
	double factor; /* 1, 0.9 ... 0 */
	struct estimate estimate;
};

/* Those of a class stand in a row, the best class first. Points at which nothing ended the replay
 * are missing. */
struct curves {
	struct curve_point *points;
	size_t count;
};

/* After whatif_build, of the same options. The last question to the estimator. */
void curves_build(struct curves *curves, const struct whatif *whatif, struct estimator *estimator,
		  const struct whatif_options *options);
void curves_free(struct curves *curves);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers that do not depend on chance: no run takes exactly as long again, and where threads meet
 * by a hair, a replay of the very lengths that were recorded may come out as hardly any real run
 * would.
 *
 * Thread-safe: each caller has a scratch of its own.
 */
#ifndef WCPROF_CHANCES_H
#define WCPROF_CHANCES_H

#include "replay/replayer.h"

enum { CHANCES_MAX = 6 }; /* replays beside the one of what was recorded */

/* Standard deviations to either side of an answer that is chance: 95% of what comes. */
static const double CONFIDENCE_WIDTH = 1.96;

/* The unchanged run; the first one has the lengths as they were recorded. */
struct chances {
	struct replay_answer baselines[CHANCES_MAX + 1];
};

struct chance_range {
	double shortest_ns; /* makespans */
	double longest_ns;
};

/* `baseline` is the replay of what was recorded. */
void chances_begin(struct chances *, const struct replayer *, const struct replay_answer *baseline,
		   void *scratch);

/*
 * `answer` is the replay of `trial`, with lengths as recorded. True: other lengths, as they may
 * come as well, bring threads into another order; then `answer` and the trial's finishes become the
 * middle one's of several, by what it saves, and `range` is set.
 */
bool chances_settle(const struct chances *, const struct replayer *, const struct trial *trial,
		    void *scratch, struct replay_answer *answer, struct chance_range *range);

#endif

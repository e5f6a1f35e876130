/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers that hold although no run takes exactly as long again. Where threads meet by a hair, a
 * replay of the very lengths that were recorded may come out as hardly any real run would.
 *
 * Jitter is the difference, up to assume.jitter, of a length from the recorded one. Thread-safe:
 * each caller has a scratch of its own.
 */
#ifndef WCPROF_JITTER_H
#define WCPROF_JITTER_H

#include "replay/replayer.h"

enum { JITTERS = 6 }; /* replays with jitter, beside the one without */

/* The unchanged run; the first one has the lengths as they were recorded. */
struct jitter {
	struct replay_answer baselines[JITTERS + 1];
};

struct jitter_range {
	double shortest_ns; /* makespan: both set if jitter_settle() is true */
	double longest_ns;
	bool ran_away; /* one of the replays was stopped: there is no range */
	/* By figure of requests. */
	double least_ns[REQUEST_FIGURES];
	double median_ns[REQUEST_FIGURES];
	double most_ns[REQUEST_FIGURES];
};

/* `baseline` is the replay of what was recorded. */
void jitter_begin(struct jitter *jitter, const struct replayer *replayer,
		  const struct replay_answer *baseline, void *scratch);

/*
 * `answer` is the replay of `trial`, with lengths as recorded, which has set the trial's finishes.
 * True: jitter brings threads into another order. Then `answer` and the trial's finishes become
 * those of the median of several replays, ordered by their savings. `range` is set in any case.
 */
bool jitter_settle(const struct jitter *jitter, const struct replayer *replayer,
		   const struct trial *trial, void *scratch, struct replay_answer *answer,
		   struct jitter_range *range);

#endif

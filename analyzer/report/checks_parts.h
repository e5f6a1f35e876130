/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks that have a file of their own; checks.c calls them. Private to the checks.
 */
#ifndef WCPROF_CHECKS_PARTS_H
#define WCPROF_CHECKS_PARTS_H

#include "checks.h"

static inline double checks_percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

/* checks_threads.c */
struct thread_drift {
	uint64_t p95_ns; /* 95th percentile of the errors of ends, either way */
	double worst_ns; /* positive: too late */
	uint32_t worst;  /* thread, NO_INDEX = the replay does not tell */
};

struct thread_drift checks_thread_drift(const struct analysis *analysis);
void checks_threads(struct check *check, const struct analysis *analysis);

/* Adds where the replay leaves the recording to the lines of checks of times that fail. */
void checks_name_astray(struct checks *checks, const struct analysis *analysis,
			const struct replayer *replayer);

/* checks_pinned.c */
void checks_pinned(struct check *check, const struct analysis *analysis,
		   const struct replayer *replayer);

/* checks_variation.c */
void checks_variation(struct check *check, const struct analysis *analysis);

/* checks_order.c */
void checks_order(struct check *check, const struct analysis *analysis);

/* checks_looks.c */
void checks_looks(struct check *check, const struct analysis *analysis,
		  const struct replayer *replayer);

/* checks_idle.c */
void checks_idle(struct check *check, const struct analysis *analysis,
		 const struct replayer *replayer);

/* checks_enders.c */
void checks_enders(struct check *check, const struct analysis *analysis,
		   const struct replayer *replayer);

/* checks_stops.c */
void checks_stops(struct check *check, const struct analysis *analysis);

/* checks_clock.c */
void checks_clock(struct check *check, const struct analysis *analysis);

/* checks_rate.c */
void checks_rate(struct check *check, const struct analysis *analysis);

/* checks_unseen.c */
void checks_unseen(struct check *check, const struct analysis *analysis);

/* checks_leftout.c */
void checks_leftout(struct check *check, const struct analysis *analysis);

/* owncost.c */
void checks_own(struct check *check, const struct analysis *analysis);

/* checks_way.c: by class of threads, whether more of the way to the end is theirs than what fails
 * that check. To be freed. */
bool *checks_on_the_way(const struct analysis *analysis, const struct replayer *replayer,
			enum check_id id);

/* checks_unruly.c */
void checks_unruly(struct check *check, const struct analysis *analysis,
		   const struct replayer *replayer);

/* checks_groups.c */
void checks_groups(struct check *check, const struct analysis *analysis,
		   const struct replayer *replayer);

#endif

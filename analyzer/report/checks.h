/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a replay is good enough to rank anything by it: what it gets wrong about the run as it
 * was, and why.
 *
 * Read-only after checks_build and verdict_reach. One thread.
 */
#ifndef WCPROF_CHECKS_H
#define WCPROF_CHECKS_H

#include <stdbool.h>
#include <stddef.h>

#include "places.h"
#include "replay/replayer.h"

struct analysis;

enum check_id {
#define CHECK(id, name, failed_above, withheld_above, advice, meaning) CHECK_##id,
#include "checks.def"
	CHECK_COUNT
};

enum check_state {
	CHECK_UNKNOWN, /* the recording does not say */
	CHECK_PASSED,
	CHECK_FAILED,
	CHECK_WITHHOLDS /* so badly that answers would mislead */
};

enum { CHECK_LINE_BYTES = 480 };

struct check {
	double value; /* percent, see checks.def */
	enum check_state state;
	char line[CHECK_LINE_BYTES]; /* the cause, "" = the check does not fail */
	struct place place;          /* the wait that is the cause, if one is */
};

struct checks {
	struct check rows[CHECK_COUNT];
	enum check_id gravest; /* the first one that withholds; CHECK_COUNT = none does */
	bool is_withheld;      /* answers are not to be shown: verdict_reach() decides */
	/* Error of each figure of requests in the replay of the unchanged run, percent of the
	 * longer one; 0 = not known. */
	double figure_off[REQUEST_FIGURES];
	double handed_percent;                    /* of the requests: infer/handed_answers.h */
	bool is_figure_withheld[REQUEST_FIGURES]; /* nor are savings of it */
	bool are_requests_withheld;               /* nor are savings of any of them */
};

/* After all else of the analysis; `replayer` is the one that its answers are from. Checks of which
 * the recording says enough pass, until verdict_reach(). */
void checks_build(struct checks *checks, const struct analysis *analysis,
		  const struct replayer *replayer);

#endif

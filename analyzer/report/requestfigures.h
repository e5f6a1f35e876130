/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures of how long requests took, as recorded.
 *
 * A request that was not finished counts as one that took longer than was seen of it. A figure that
 * cannot be known for those is none. Pure functions. Any thread.
 */
#ifndef WCPROF_REQUESTFIGURES_H
#define WCPROF_REQUESTFIGURES_H

#include "ask/estimate.h"
#include "infer/clients.h"
#include "infer/requests.h"
#include "replay/replayer.h"

struct request_figures {
	size_t count;
	size_t unfinished_count;
	double ns[REQUEST_FIGURES]; /* NAN = cannot be known */
	uint64_t longest_ns;        /* of an unfinished one what was seen of it */
};

void request_figures_find(struct request_figures *figures, const struct request *requests,
			  size_t count);
/* Of those that hypotheses are judged by. */
void request_figures_judged(struct request_figures *figures, const struct requests *requests);
/* Tells an estimator of the recorded CPUs the figures of those. */
void request_figures_compare(struct estimator *estimator, const struct requests *requests);

/* Of those from the times of a timetable that clients keep, however late they asked as they awaited
 * an answer. False: they keep none. */
bool request_figures_intended(struct request_figures *figures, const struct requests *requests,
			      const struct clients *clients);

/* How long the judged ones took in all; INFINITY = there are none. */
double request_figures_total_ns(const struct requests *requests);

/* "mean", "p50" ... */
const char *request_figure_word(enum request_figure figure);

#endif

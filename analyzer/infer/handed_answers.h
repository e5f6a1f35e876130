/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers that an event loop gives for other threads.
 *
 * Workers do what a loop has read, and then call it by a bell. The loop answers whatever is done by
 * then. Where it is not known which job an answer needs, a replay in which another worker is done
 * first gives it all the same. Means are right then, as calls are as many as answers, but how long
 * a single request took is not.
 *
 * Pure. Any thread.
 */
#ifndef WCPROF_HANDED_ANSWERS_H
#define WCPROF_HANDED_ANSWERS_H

#include "loops.h"
#include "requests.h"

/* Of the requests that hypotheses are judged by: how many were answered like that, for a job that
 * is not known. `job_of_visit`: by visit, NO_INDEX = not known. */
size_t handed_answers_count(const struct recording *rec, const struct requests *requests,
			    const struct loops *loops, const uint32_t *job_of_visit,
			    const struct flows *flows);

#endif

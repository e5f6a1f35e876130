/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers that an event loop gives for other threads.
 *
 * Workers do what a loop has read, and then call it by an eventfd or a pipe that all of them write
 * to. The loop answers whatever is done by then. So the recording does not say which call an answer
 * needs. A replay in which another worker is done first gives it all the same. Means are right
 * then, as calls are as many as answers, but how long a single request took is not.
 *
 * Pure. Any thread.
 */
#ifndef WCPROF_HANDED_ANSWERS_H
#define WCPROF_HANDED_ANSWERS_H

#include "loops.h"
#include "requests.h"

/* Of the requests that hypotheses are judged by: how many were answered like that. */
size_t handed_answers_count(const struct recording *rec, const struct requests *requests,
			    const struct loops *loops, const struct flows *flows);

#endif

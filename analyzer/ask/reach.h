/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which part of each stretch of time a hypothesis scales: whether two are the same, and whether one
 * is a part of the other.
 *
 * Hypotheses are numbered as in a script: classes, then functions. Read-only once built.
 */
#ifndef WCPROF_REACH_H
#define WCPROF_REACH_H

#include "script/script.h"

struct reach {
	const struct script *script;
	size_t count;        /* of hypotheses */
	size_t *first;       /* hypothesis h scales parts[first[h] .. first[h + 1]) */
	struct share *parts; /* in order of scopes */
	double *total_ns;    /* by hypothesis */
};

void reach_build(struct reach *, const struct script *);
void reach_free(struct reach *);

/* It is neither a class nor a program. */
bool reach_is_function(const struct reach *, uint32_t hypothesis);

/* Nearly the same time: what a change of one saves is what a change of the other saves. */
bool reach_is_same(const struct reach *, uint32_t hypothesis, uint32_t other);

/* It is more than some part of it and a little around that, which says as much. */
bool reach_has_own(const struct reach *, uint32_t hypothesis);

/* Nearly all of `inner` is in `outer`, which has more. */
bool reach_contains(const struct reach *, uint32_t outer, uint32_t inner);

#endif

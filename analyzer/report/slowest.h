/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sentence about slow requests: the parts that they have more of than usual ones.
 *
 * Any thread.
 */
#ifndef WCPROF_SLOWEST_H
#define WCPROF_SLOWEST_H

#include "measure/tail.h"
#include "paths/pathparts.h"

/* Names the parts that explain most, at most two. Allocated; NULL = the tail is not known, or no
 * longer than the body. `strings` are the recording's. */
char *slowest_sentence(const struct tail *tail, const struct path_parts *parts,
		       const char *const *strings);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows the recorded edges under hypotheses: the replay of --model edges.
 *
 * A replayer (replayer.h). The edges are read-only; each thread that runs it has a scratch of its
 * own. It knows no CPUs and no functions: each class is what its ops took.
 */
#ifndef WCPROF_FOLLOW_H
#define WCPROF_FOLLOW_H

#include "replayer.h"
#include "script/edges.h"

/* The edges must outlive the replayer. */
struct replayer follow_replayer(const struct edges *);

#endif

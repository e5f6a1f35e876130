/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program under hypotheses: the replay that keeps the recorded order, --model recorded.
 *
 * A replayer (replayer.h). The program is read-only; each thread that runs it has a scratch of its
 * own.
 */
#ifndef WCPROF_RECORDED_H
#define WCPROF_RECORDED_H

#include "program.h"
#include "replay/replayer.h"

/* The program must outlive the replayer. */
struct replayer recorded_replayer(const struct program *);

#endif

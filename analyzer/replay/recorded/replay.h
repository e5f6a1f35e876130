/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program under hypotheses: the replay of ops.
 */
#ifndef WCPROF_REPLAY_H
#define WCPROF_REPLAY_H

#include "program.h"
#include "replay/replayer.h"

/* `program` stays in place as long as the replayer is used. */
struct replayer replay_of_ops(const struct program *program);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a script under a hypothesis: a discrete-event simulation of its actors.
 *
 * A replayer (replayer.h) for recordings that name threads. The script is read-only; each thread
 * that runs it has a scratch of its own.
 */
#ifndef WCPROF_SIMULATE_H
#define WCPROF_SIMULATE_H

#include "machine.h"
#include "replayer.h"
#include "script/script.h"

/* Script and machine must outlive the replayer. */
struct replayer simulate_replayer(const struct script *, const struct machine *);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of what probes have seen and left out: a list in a dump's header.
 *
 * Counts are in the process's own memory: what is recovered of a dead one has none.
 */
#ifndef WCPROF_PROBETEXT_H
#define WCPROF_PROBETEXT_H

#include "dump.h"

/* Writes element dump->index of the list; true: that was the last one. Nothing, where there was
 * never a probe. Drainer. */
bool probetext_put(struct dump *) HIDDEN;

#endif

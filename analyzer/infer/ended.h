/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the calls that a call of another thread put an end to: they are waits for it.
 *
 * Such are reads that find the end of a stream as its last writer closes it, and accept() on a
 * listener that is shut down. An open() of a pipe with a name waits until the other end is opened,
 * too. To be called after signals_find(), and before anything is built on the recording: waits and
 * links are added to it. The address of such a wait is the number of the link that ended it.
 */
#ifndef WCPROF_ENDED_H
#define WCPROF_ENDED_H

#include "recording/recording.h"

void ended_find(struct recording *);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells which waits another thread ended to have the waiting thread end.
 *
 * That thread then waits for this one's end, or for its last answer. One thread.
 */
#ifndef WCPROF_STOPPED_H
#define WCPROF_STOPPED_H

#include "recording/recording.h"

/* By wait: whoever ended it then has the last wait that its thread ends, as by its own end. Or it
 * timed out, and whoever joins its thread has told that later, while it did not wait. To be
 * freed. */
bool *stopped_find(const struct recording *);

/* By thread: the wake by which it was told while it did not wait, NO_INDEX = none. It had waited
 * for that with timeouts. To be freed. */
uint32_t *stopped_told(const struct recording *);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells which waits another thread ended to have the waiting thread end.
 *
 * That thread then waits for this one's end. One thread.
 */
#ifndef WCPROF_STOPPED_H
#define WCPROF_STOPPED_H

#include "recording/recording.h"

/* By wait: whoever ended it joins its thread afterwards. To be freed. */
bool *stopped_find(const struct recording *);

#endif

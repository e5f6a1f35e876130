/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds who held a lock and who let it go, where the recorder of one process could not know. Then
 * the holder is a thread of another process, or died. Holds that were under way when their lock
 * was first waited for begin no later than a wait of their own thread.
 *
 * Called once, before anything is selected or analyzed. One thread.
 */
#ifndef WCPROF_HOLDERS_H
#define WCPROF_HOLDERS_H

#include "recording/recording.h"

void holders_find(struct recording *);

#endif

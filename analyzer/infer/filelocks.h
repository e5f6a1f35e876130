/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks on files, as locks: the recorder says which calls took them and gave them back.
 *
 * Each successful call becomes a hold, from then until it is unlocked, closed, or its process ends.
 * A call that found another one's lock becomes a wait, or a try in vain. Calls whose cause is not
 * found stay what they were: calls.
 *
 * Called once, before holders are sought. One thread.
 */
#ifndef WCPROF_FILELOCKS_H
#define WCPROF_FILELOCKS_H

#include "recording/recording.h"

void file_locks_find(struct recording *);

#endif

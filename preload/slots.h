/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of loaded objects, in a process that had none of them bound to us when it started.
 */
#ifndef WCPROF_SLOTS_H
#define WCPROF_SLOTS_H

#include "recorder.h"

/* Has them lead to our wrappers, or to the functions as before. False: nothing was changed. The
 * control thread. */
bool slots_point(bool here, struct recorder_slots *) HIDDEN;
/* The same for what was loaded since they were made to lead here; nothing if they were not. */
void slots_look(void) HIDDEN;

/* Around fork(): no slot is half done, and no lock of the loader's is held for it, in the child. */
void slots_fork_prepare(void) HIDDEN;
void slots_fork_done(void) HIDDEN;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of loaded objects, in a process that had none of them bound to us when it started.
 */
#ifndef WCPROF_SLOTS_H
#define WCPROF_SLOTS_H

#include "recorder.h"

struct dl_phdr_info;

/* Has them lead to our wrappers, or to the functions as before. False: nothing was changed. The
 * control thread. */
bool slots_point(bool here, struct recorder_slots *) HIDDEN;
/* The same for what was loaded since they were made to lead here; nothing if they were not. */
void slots_look(void) HIDDEN;

/* Around each dl_iterate_phdr() of ours: forks wait for it, as the lock would stay locked in the
 * child. False: another thread walks. */
bool slots_try_walking(void) HIDDEN;
void slots_end_walking(void) HIDDEN;
/* An object's table of what the loader needs; NULL: it has none. */
const void *slots_dynamic_of(const struct dl_phdr_info *) HIDDEN;

/* Around fork(): no slot is half done, and no lock of the loader's is held for it, in the child. */
void slots_fork_prepare(void) HIDDEN;
void slots_fork_done(void) HIDDEN;

#endif

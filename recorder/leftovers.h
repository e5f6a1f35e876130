/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arenas that dead processes of this user left: together they take so much memory and no more.
 *
 * A process that records removes the oldest of them when they are too many. So a program that
 * crashes again and again does not fill the machine. The newest one stays, however large it is. So
 * does each that wcprof record follows as long as it lives, or that somebody is recovering. The
 * control thread's.
 */
#ifndef WCPROF_LEFTOVERS_H
#define WCPROF_LEFTOVERS_H

#include "arena.h"

/* On each tick while recording is on; looks seldom. Counts what it removes in the arena. */
void leftovers_tick(struct arena *, uint64_t now_ns) HIDDEN;
/* For a process that has no arena because there is no room: whether there is more now. */
bool leftovers_make_room(void) HIDDEN;
/* Looks now; false: there may be more to remove. At most `bytes_most` shall be left. NULL: this
 * process has no arena yet. */
bool leftovers_remove(struct arena *, uint64_t bytes_most) HIDDEN;
/* In a forked child. */
void leftovers_forget(void) HIDDEN;

#endif

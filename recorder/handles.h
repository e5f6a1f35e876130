/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops and waits that may end on another thread than they began: a table in the arena, by handle.
 *
 * The handle is the id of an op, or one made like it for a wait. Any thread, also in signal
 * handlers, may call anything here; nobody waits for anybody. The thread that takes an entry ends
 * it, and no other does; it is there until its record is written.
 */
#ifndef WCPROF_HANDLES_H
#define WCPROF_HANDLES_H

#include "arena.h"

#define HANDLE_NONE UINT32_MAX
/* In an entry that somebody fills in. */
#define HANDLE_CLAIMED UINT64_C(1)

/* Puts what has begun into the table: its index, or HANDLE_NONE when no place is left. */
uint32_t handles_add(struct arena *, uint64_t handle, const struct record *) HIDDEN;
/* Takes it: its index; HANDLE_NONE when it is not there: it has ended, or never began. Nobody but
 * the drainer finds it any more. */
uint32_t handles_take(struct arena *, uint64_t handle, struct record *) HIDDEN;
/* The record of a taken entry is written: the entry is free. */
void handles_drop(struct arena *, uint32_t index) HIDDEN;
/* HANDLE_NONE when it is not there. */
uint32_t handles_find(const struct arena *, uint64_t handle) HIDDEN;
/* Whether the entry with this index is still that handle's. */
bool handles_has(const struct arena *, uint32_t index, uint64_t handle) HIDDEN;

/* NULL for one that is not in use. Its fields may change at any time: see struct open_entry.
 * Indices that may be in use are found as by watch_next(). */
struct open_entry *handles_at(const struct arena *, uint32_t index) HIDDEN;
uint32_t handles_next(const struct arena *, uint32_t index) HIDDEN;

#endif

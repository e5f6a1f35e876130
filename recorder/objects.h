/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks and the like that several processes share: which file they lie in, and where.
 *
 * Their address is another one in each process; device, inode and offset are the same. Looked up
 * once, when a thread first waited for the object or signalled it. The drainer of the arena does
 * so, which is never a thread of the program but at the end of its image.
 */
#ifndef WCPROF_OBJECTS_H
#define WCPROF_OBJECTS_H

#include "arena.h"

/* Looks up what is wanted; costs one load where nothing is. Drainer only; in the process whose
 * arena it is. */
void objects_place(struct arena *) HIDDEN;

static inline bool objects_are_wanted(const struct arena *arena)
{
	return load_relaxed(&arena->objects_wanted) != load_relaxed(&arena->objects_sought);
}

static inline const struct object_entry *objects_at(const struct arena *arena, uint32_t index)
{
	return (const struct object_entry *)arena_at(arena, ARENA_OBJECTS) + index;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files are mapped where and when, so that addresses can be given names later.
 *
 * Entries are added, and only their times ever change, so that stacks from a library that is gone
 * still resolve. Any thread may call; who finds another one at it waits for some moments, then goes
 * without. No lock of the loader's is taken. The hooks' side, modules_loading() and so on, is in
 * recorder.h.
 */
#ifndef WCPROF_MODULES_H
#define WCPROF_MODULES_H

#include "arena.h"
#include "recorder.h"

/* Adds what this process has mapped now and the arena does not know yet, and notes what is gone. */
void modules_save(struct arena *) HIDDEN;
/* The same as the process ends: a file that is known is not read again. */
void modules_note_last(void) HIDDEN;

static inline const struct module_entry *modules_at(const struct arena *arena, uint32_t index)
{
	return (const struct module_entry *)arena_at(arena, ARENA_MODULES) + index;
}

/* The latest one that has the address, below `count`; `hint` is tried first. UINT32_MAX: none, or
 * it takes the time to say which. */
uint32_t modules_find(const struct arena *, uint32_t count, uint64_t address, uint32_t hint) HIDDEN;

#endif

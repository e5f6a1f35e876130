/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files are mapped where, so that addresses can be given names later.
 *
 * Only who turns recording on, and the drainer, call modules_save(), one at a time; entries are
 * added and never changed, so that stacks from a library that is gone still resolve. No lock of the
 * loader's is taken.
 */
#ifndef WCPROF_MODULES_H
#define WCPROF_MODULES_H

#include "arena.h"

/* Adds what this process has mapped now and the arena does not know yet. */
void modules_save(struct arena *) HIDDEN;

static inline const struct module_entry *modules_at(const struct arena *arena, uint32_t index)
{
	return (const struct module_entry *)arena_at(arena, ARENA_MODULES) + index;
}

/* The latest one that has the address, below `count`; `hint` is tried first. UINT32_MAX: none. */
uint32_t modules_find(const struct arena *, uint32_t count, uint64_t address, uint32_t hint) HIDDEN;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which socket of the unix kind is connected to which: by inode.
 *
 * Neither end says so by itself, and only the kernel's socket diagnostics can tell, which take a
 * descriptor. So the thread that describes such a socket first notes the wish, and the drainer of
 * the arena asks. That is never a thread of the program but at the end of its image.
 */
#ifndef WCPROF_PEERS_H
#define WCPROF_PEERS_H

#include "arena.h"

/* Any thread. Beyond PEERS_MAX sockets, and while there is no memory, the wish is dropped,
 * and counted. */
void peers_want(struct arena *, uint32_t inode) HIDDEN;

/* Asks for what is wanted; costs one load where nothing is. Drainer only; in the process whose
 * arena it is. */
void peers_find(struct arena *) HIDDEN;

static inline bool peers_are_wanted(const struct arena *arena)
{
	return load_relaxed(&arena->peers_wanted) != load_relaxed(&arena->peers_sought);
}

static inline const struct peer_entry *peers_at(const struct arena *arena, uint32_t index)
{
	return (const struct peer_entry *)arena_at(arena, ARENA_PEERS) + index;
}

#endif

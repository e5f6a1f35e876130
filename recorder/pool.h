/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lock-free stacks of the arena's items (slots, chunks), of which some have not been made yet.
 *
 * An item is known by its index; its first field is the uint32_t `next`, which belongs to the pool
 * while the item is in it. Any thread may take and give. Items stay mapped, so reading `next` of an
 * item that another thread has just taken is harmless. The tag in the head makes the exchange fail.
 */
#ifndef WCPROF_POOL_H
#define WCPROF_POOL_H

#include "arena.h"

#define POOL_NONE UINT32_MAX

/* Where the items of a pool lie. */
struct pool_items {
	uint64_t offset;
	uint64_t item_bytes;
};

/* Takes an item that was given back, else POOL_NONE. */
uint32_t pool_take_given(struct arena *, struct pool *, struct pool_items) HIDDEN;
/* The same, else makes one: populated and zero. POOL_NONE: all are in use, or memory has run
 * out. */
uint32_t pool_take(struct arena *, struct pool *, struct pool_items) HIDDEN;
/* Makes one even if others were given back; POOL_NONE: none is left to make, or memory has run
 * out. */
uint32_t pool_make(struct arena *, struct pool *, struct pool_items) HIDDEN;
void pool_give(struct arena *, struct pool *, struct pool_items, uint32_t index) HIDDEN;

#endif

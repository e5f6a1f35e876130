/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of distinct items in an arena: equal items have equal ids, id 0 is no item.
 *
 * strings.c and stacks.c each describe one such table. An item is some units (bytes, frames) in the
 * table's pool. Lock-free, by any number of threads; items are never removed or changed. Two
 * threads that intern one item at the same moment may leave an unused twin behind, which does no
 * harm. A full table gives id 0, and is counted.
 */
#ifndef WCPROF_INTERNED_H
#define WCPROF_INTERNED_H

#include "arena.h"

struct interned_table {
	uint64_t entries_at;  /* in the arena: struct interned_entry by id */
	uint64_t ids_at;      /* the same: buckets, each an id or 0 */
	uint64_t pool_at;     /* the same: units */
	size_t count_at;      /* in struct arena: ids given so far; a uint32_t */
	size_t used_at;       /* the same: units of the pool given so far */
	uint32_t entries_max; /* with id 0 */
	uint32_t buckets;     /* a power of two */
	uint32_t pool_units;
	uint32_t unit_bytes;
	uint32_t units_max;    /* of an item */
	uint32_t units_behind; /* zeros behind each item */
	enum counter full;
};

/* The id of an item with that hash, which is added if there is none; 0 if it has no units. */
uint32_t interned_id(struct arena *, const struct interned_table *, uint64_t hash, const void *item,
		     uint32_t units) HIDDEN;
/* Adds an item that nobody will look up; 0: the table is full. */
uint32_t interned_add(struct arena *, const struct interned_table *, const void *item,
		      uint32_t units) HIDDEN;
/* Ids 1 to that are given. */
uint32_t interned_count(const struct arena *, const struct interned_table *) HIDDEN;
/* Whether every item lies within the pool. */
bool interned_is_valid(const struct arena *, const struct interned_table *) HIDDEN;
/* NULL and 0 units for an id that is not, or not yet, there; or whose item is torn. */
const void *interned_get(const struct arena *, const struct interned_table *, uint32_t id,
			 uint32_t *units) HIDDEN;

#endif

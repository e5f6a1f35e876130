/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives the ids of a dump, which are any 64-bit numbers, dense indexes in the order of first sight.
 *
 * Each process has a space of ids of its own; the indexes are common to all spaces. Made for ids
 * that mostly count upwards: neighbours share a cache line. One thread.
 */
#ifndef WCPROF_IDMAP_H
#define WCPROF_IDMAP_H

#include "recording/recording.h"

#include <stdint.h>

struct idmap_space {
	uint32_t *slots;   /* indexes, NO_INDEX = free */
	size_t slot_count; /* a power of two */
	size_t id_count;   /* <= slot_count / 2 */
};

struct idmap {
	struct idmap_space *spaces;
	size_t space_count;
	uint64_t *ids;   /* by index */
	size_t id_count; /* < NO_INDEX */
	size_t id_capacity;
};

/* The index of this id, a new one (id_count before the call) at first sight; NO_INDEX without
 * memory. */
uint32_t idmap_index(struct idmap *map, uint32_t space, uint64_t id);

void idmap_free(struct idmap *map);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which module of a recording an address lies in, at which time.
 *
 * Built once, read-only afterwards; the recording must live longer. A library that was unloaded may
 * have made place for another, so that an address alone does not say which is meant.
 */
#ifndef WCPROF_MODULEMAP_H
#define WCPROF_MODULEMAP_H

#include "recording.h"

struct modulemap {
	const struct recording *recording;
	uint32_t *order; /* modules by process, then start */
	uint64_t
		*reach; /* by place in order: the last end of it and those before, in its process */
};

void modulemap_build(struct modulemap *map, const struct recording *recording);
void modulemap_free(struct modulemap *map);

/*
 * The module of the process that has the address, or NO_INDEX. Of several, the one that was there
 * at `at_ns`. If none was, as times of loading are not exact, the one nearest in time.
 */
uint32_t modulemap_find(const struct modulemap *map, uint32_t process, uint64_t address,
			uint64_t at_ns);

#endif

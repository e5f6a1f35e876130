/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mappings of this process, line by line, as the kernel tells them.
 *
 * From /proc/self/maps, by raw reads (lines.h): none hangs on the loader's lock. Not for the
 * program's threads, but where their image begins or ends.
 */
#ifndef WCPROF_MAPS_H
#define WCPROF_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "lines.h"

struct mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset; /* of its start in the file */
	uint64_t device; /* as major << 32 | minor */
	uint64_t inode;  /* 0 = of no file */
	bool is_readable;
	bool is_writable;
	bool is_shared;
	const char *path; /* "" = none; good until the next one is read */
};

struct maps {
	struct lines lines;
};

/* False: there is no /proc. Else maps_close() is due. */
bool maps_open(struct maps *) HIDDEN;
/* The next one in order of addresses; false at the end. */
bool maps_next(struct maps *, struct mapping *) HIDDEN;
void maps_close(struct maps *) HIDDEN;

#endif

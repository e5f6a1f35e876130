/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code of a file: the bytes of the segment around one of them. They may be a stranger's. One
 * thread.
 */
#ifndef WCPROF_SEGMENT_H
#define WCPROF_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct segment {
	const uint8_t *bytes;
	uint64_t count;
	uint64_t offset; /* of the first one in the file */
};

enum { SEGMENT_BYTES_MAX = 1 << 30 };

/* Reads it anew: a file that is cut while it is read must not end us. False: there is no code
 * around that offset, or it cannot be read. */
bool segment_read(const char *path, uint64_t offset, struct segment *segment);
void segment_free(struct segment *segment);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dumps that are compressed with zstd, as a stream: one frame or several, one after the other.
 */
#ifndef WCPROF_READ_ZSTD_H
#define WCPROF_READ_ZSTD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* How many bytes tell whether a file is compressed. */
enum { READ_ZSTD_MAGIC_BYTES = 4 };

struct read_zstd;

/* Reads up to so many bytes of the file: 0 at its end, -errno. */
typedef ssize_t read_zstd_input(void *context, char *to, size_t room);

bool read_zstd_is_magic(const char *bytes, size_t count);
/* `begin`: what has been read of the file already. NULL: no memory. */
struct read_zstd *read_zstd_start(read_zstd_input *input, void *context, const char *begin,
				  size_t count);
/* Up to `room` bytes of what was compressed: 0 at the end, also of a file that was cut off;
 * -EBADMSG when it is damaged; -errno. */
ssize_t read_zstd_next(struct read_zstd *zstd, char *to, size_t room);
void read_zstd_free(struct read_zstd *zstd);

#endif

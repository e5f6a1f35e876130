/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gzip by zlib's streams; gzipfile.h has the contract.
 *
 * The fastest level: files are read once or twice, and the next levels save a tenth for three times
 * the work.
 */
#include "gzipfile.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#define ZLIB_CONST
#include <zlib.h>

#include "base/memory.h"

/* Of zlib: a window of 2^15 bytes, 16 more for the header and trailer of gzip. */
enum { WINDOW_GZIP = 15 + 16, MEMORY_LEVEL = 8, OUT_BYTES = 1 << 16 };

struct gzip_file {
	FILE *file;
	z_stream stream;
	int error; /* errno of the first failure */
	unsigned char out[OUT_BYTES];
};

/* It is there, or the command ends. */
static void *take_memory(void *unused, unsigned count, unsigned bytes)
{
	(void)unused;
	return memory_new(count, bytes);
}

static void give_memory(void *unused, void *memory)
{
	(void)unused;
	free(memory);
}

struct gzip_file *gzip_file_open(FILE *file)
{
	struct gzip_file *gzip = memory_new(1, sizeof(*gzip));
	gzip->file = file;
	gzip->stream.zalloc = take_memory;
	gzip->stream.zfree = give_memory;
	int result = deflateInit2(&gzip->stream, Z_BEST_SPEED, Z_DEFLATED, WINDOW_GZIP,
				  MEMORY_LEVEL, Z_DEFAULT_STRATEGY);
	assert(result == Z_OK);
	(void)result;
	return gzip;
}

/* Compresses what the stream has to read; at the end (Z_FINISH) all of it. */
static void deflate_all(struct gzip_file *gzip, int flush)
{
	do {
		gzip->stream.next_out = gzip->out;
		gzip->stream.avail_out = OUT_BYTES;
		int result = deflate(&gzip->stream, flush);
		assert(result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR);
		(void)result;
		size_t length = OUT_BYTES - gzip->stream.avail_out;
		if (!gzip->error && fwrite(gzip->out, 1, length, gzip->file) != length)
			gzip->error = errno;
	} while (gzip->stream.avail_out == 0);
}

void gzip_file_write(struct gzip_file *gzip, const void *bytes, size_t length)
{
	assert(length <= UINT32_MAX);
	gzip->stream.next_in = bytes;
	gzip->stream.avail_in = (unsigned)length;
	deflate_all(gzip, Z_NO_FLUSH);
}

bool gzip_file_close(struct gzip_file *gzip)
{
	deflate_all(gzip, Z_FINISH);
	deflateEnd(&gzip->stream);
	if (!gzip->error && fflush(gzip->file) != 0)
		gzip->error = errno;
	int error = gzip->error;
	free(gzip);
	errno = error;
	return error == 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zstd by its streams, below a stream of stdio's; zstdfile.h has the contract.
 *
 * The library's usual level. It has memory, or the command ends.
 */
#include "zstdfile.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/types.h>
#include <zstd.h>

#include "base/memory.h"

enum { OUT_BYTES = 1 << 17, PLAIN_BYTES = 1 << 16 };

struct zstd_file {
	FILE *file;
	ZSTD_CCtx *context;
	char out[OUT_BYTES];
};

static void end_without_memory(void)
{
	fputs("wcprof-analyze: out of memory\n", stderr);
	exit(2);
}

/* False: the file takes no more; errno says why. */
static bool compress(struct zstd_file *zstd, const char *bytes, size_t length,
		     ZSTD_EndDirective mode)
{
	ZSTD_inBuffer in = { bytes, length, 0 };
	size_t left;
	do {
		ZSTD_outBuffer out = { zstd->out, OUT_BYTES, 0 };
		left = ZSTD_compressStream2(zstd->context, &out, &in, mode);
		if (ZSTD_isError(left))
			end_without_memory();
		if (fwrite(zstd->out, 1, out.pos, zstd->file) != out.pos)
			return false;
	} while (mode == ZSTD_e_end ? left > 0 : in.pos < in.size);
	return true;
}

static ssize_t write_bytes(void *cookie, const char *bytes, size_t length)
{
	return compress(cookie, bytes, length, ZSTD_e_continue) ? (ssize_t)length : 0;
}

static int end(void *cookie)
{
	struct zstd_file *zstd = cookie;
	bool is_written = compress(zstd, NULL, 0, ZSTD_e_end);
	is_written = fclose(zstd->file) == 0 && is_written;
	int error = errno;
	ZSTD_freeCCtx(zstd->context);
	free(zstd);
	errno = error;
	return is_written ? 0 : EOF;
}

FILE *zstd_file_open(FILE *file)
{
	struct zstd_file *zstd = memory_new(1, sizeof(*zstd));
	zstd->file = file;
	zstd->context = ZSTD_createCCtx();
	FILE *stream = fopencookie(zstd, "w",
				   (cookie_io_functions_t){ .write = write_bytes, .close = end });
	if (!zstd->context || !stream)
		end_without_memory();
	setvbuf(stream, NULL, _IOFBF, PLAIN_BYTES);
	return stream;
}

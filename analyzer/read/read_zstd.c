/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dumps that are compressed with zstd, decompressed as they are read.
 *
 * Input comes from a function of the caller's, in blocks; a file may be several frames one after
 * the other. One thread for each stream.
 */
#include "read_zstd.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { INPUT_BYTES = 131072 };

struct read_zstd {
	ZSTD_DCtx *context;
	read_zstd_input *input;
	void *input_context;
	ZSTD_inBuffer in; /* read and not decompressed yet */
	bool has_more;    /* the last call had no room for all that it could have given */
	char bytes[INPUT_BYTES];
};

bool read_zstd_is_magic(const char *bytes, size_t count)
{
	return count >= READ_ZSTD_MAGIC_BYTES && memcmp(bytes, "\x28\xb5\x2f\xfd", 4) == 0;
}

struct read_zstd *read_zstd_start(read_zstd_input *input, void *context, const char *begin,
				  size_t count)
{
	struct read_zstd *zstd = malloc(sizeof(*zstd));

	assert(count <= INPUT_BYTES);
	if (!zstd)
		return NULL;
	zstd->context = ZSTD_createDCtx();
	zstd->input = input;
	zstd->input_context = context;
	zstd->in = (ZSTD_inBuffer){ zstd->bytes, count, 0 };
	zstd->has_more = false;
	memcpy(zstd->bytes, begin, count);
	if (zstd->context)
		return zstd;
	free(zstd);
	return NULL;
}

void read_zstd_free(struct read_zstd *zstd)
{
	if (!zstd)
		return;
	ZSTD_freeDCtx(zstd->context);
	free(zstd);
}

ssize_t read_zstd_next(struct read_zstd *zstd, char *to, size_t room)
{
	ZSTD_outBuffer out = { to, room, 0 };

	assert(room > 0);
	while (out.pos == 0) {
		size_t result;

		if (zstd->in.pos == zstd->in.size && !zstd->has_more) {
			ssize_t got = zstd->input(zstd->input_context, zstd->bytes, INPUT_BYTES);

			if (got <= 0)
				return got;
			zstd->in = (ZSTD_inBuffer){ zstd->bytes, (size_t)got, 0 };
		}
		result = ZSTD_decompressStream(zstd->context, &out, &zstd->in);
		if (ZSTD_isError(result))
			return -EBADMSG;
		zstd->has_more = out.pos == out.size;
	}
	return (ssize_t)out.pos;
}

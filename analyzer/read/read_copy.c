/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dumps as bytes: lines are told apart, not understood. One thread.
 */
#include "read_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "read_zstd.h"

enum { BLOCK_BYTES = 1 << 18 };

struct copy {
	FILE *to;
	void (*insert)(void *context, FILE *to);
	void *context;
	char *rest; /* the bytes after the last newline */
	size_t rest_bytes;
	size_t rest_room;
};

static ssize_t read_descriptor(void *context, char *to, size_t room)
{
	ssize_t got;

	do
		got = read(*(int *)context, to, room);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

static void keep_rest(struct copy *copy, const char *bytes, size_t count)
{
	if (!count)
		return;
	copy->rest = memory_grow(copy->rest, &copy->rest_room, copy->rest_bytes + count, 1);
	memcpy(copy->rest + copy->rest_bytes, bytes, count);
	copy->rest_bytes += count;
}

static void put_rest(struct copy *copy)
{
	if (copy->rest_bytes > 0)
		fwrite(copy->rest, 1, copy->rest_bytes, copy->to);
	copy->rest_bytes = 0;
}

static void take_bytes(struct copy *copy, const char *bytes, size_t count)
{
	const char *end;

	if (copy->insert && (end = memchr(bytes, '\n', count))) {
		void (*insert)(void *, FILE *) = copy->insert;

		copy->insert = NULL;
		take_bytes(copy, bytes, (size_t)(end + 1 - bytes));
		insert(copy->context, copy->to);
		count -= (size_t)(end + 1 - bytes);
		bytes = end + 1;
	}
	end = memrchr(bytes, '\n', count);
	if (end) {
		put_rest(copy);
		fwrite(bytes, 1, (size_t)(end + 1 - bytes), copy->to);
		count -= (size_t)(end + 1 - bytes);
		bytes = end + 1;
	}
	keep_rest(copy, bytes, count);
}

/* A last line without a newline may be whole. */
static void end_copy(struct copy *copy, bool is_last)
{
	bool is_whole = copy->rest_bytes > 0 && copy->rest[copy->rest_bytes - 1] == '}';

	if (is_last || is_whole)
		put_rest(copy);
	if (is_whole)
		fputc('\n', copy->to);
	if (copy->insert)
		copy->insert(copy->context, copy->to);
	free(copy->rest);
}

static int copy_blocks(struct copy *copy, int fd)
{
	char *block = memory_new(BLOCK_BYTES, 1);
	ssize_t got = read_descriptor(&fd, block, BLOCK_BYTES);
	struct read_zstd *zstd = NULL;

	if (got > 0 && read_zstd_is_magic(block, (size_t)got)) {
		/* It takes no more at once than it reads itself. */
		if (lseek(fd, 0, SEEK_SET) != 0)
			got = -errno;
		else
			zstd = read_zstd_start(read_descriptor, &fd, "", 0);
		got = zstd ? read_zstd_next(zstd, block, BLOCK_BYTES) : got < 0 ? got : -ENOMEM;
	}
	while (got > 0) {
		take_bytes(copy, block, (size_t)got);
		got = zstd ? read_zstd_next(zstd, block, BLOCK_BYTES)
			   : read_descriptor(&fd, block, BLOCK_BYTES);
	}
	read_zstd_free(zstd);
	free(block);
	return (int)got;
}

int read_copy(FILE *to, const char *path, bool is_last, void (*insert)(void *context, FILE *to),
	      void *context, struct read_error *error)
{
	struct copy copy = { .to = to, .insert = insert, .context = context };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int status = fd < 0 ? -errno : copy_blocks(&copy, fd);

	if (fd >= 0)
		close(fd);
	end_copy(&copy, is_last);
	if (status == 0)
		return 0;
	*error = (struct read_error){ .file = path };
	snprintf(error->text, sizeof(error->text), "cannot be read again: %s", strerror(-status));
	return status;
}

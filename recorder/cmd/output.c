/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file that dumps are written to. See output.h.
 *
 * bytes: what is in the file and committed. position: where the next write goes; the two are the
 * same between dumps.
 */
#include "output.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "client.h"
#include "outfile.h"
#include "output_progress.h"

enum { COMPRESSED_BYTES = 262144, COMPRESSION_LEVEL = 3, HEADER_START_BYTES = 8192 };
/* While somebody else's dump is being written: so often, and so far apart. */
enum { BUSY_TRIES = 400, BUSY_PAUSE_NS = 25000000 };

struct output {
	int fd;
	bool is_regular;
	bool in_dump;
	bool in_header; /* of the dump that is being written */
	uint64_t bytes;
	uint64_t position;
	uint64_t events;
	uint64_t lost_events;
	uint64_t header_bytes;
	size_t header_start_used;
	char header_start[HEADER_START_BYTES]; /* where the numbers of events and the service are */
	ZSTD_CCtx *zstd;                       /* NULL = not compressed */
	char *compressed;
	struct output_progress progress;
};

static bool is_compressed_name(const char *path)
{
	size_t length = strlen(path);

	return length > 4 && strcmp(path + length - 4, ".zst") == 0;
}

static int prepare_zstd(struct output *output)
{
	output->zstd = ZSTD_createCCtx();
	output->compressed = malloc(COMPRESSED_BYTES);
	if (!output->zstd || !output->compressed)
		return -ENOMEM;
	ZSTD_CCtx_setParameter(output->zstd, ZSTD_c_compressionLevel, COMPRESSION_LEVEL);
	ZSTD_CCtx_setParameter(output->zstd, ZSTD_c_checksumFlag, 1);
	return 0;
}

static int open_safely(const char *path)
{
	char *copy = strdup(path);
	int fd = copy ? outfile_open(copy, O_TRUNC) : -ENOMEM;

	free(copy);
	return fd;
}

static int duplicate(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	return copy < 0 ? -errno : copy;
}

static int open_file(struct output *output, const char *path)
{
	struct stat stat;

	if (strcmp(path, "-") == 0)
		output->fd = duplicate(STDOUT_FILENO);
	else
		output->fd = open_safely(path);
	if (output->fd < 0)
		return output->fd;
	if (fstat(output->fd, &stat) != 0)
		return -errno;
	/* Standard output may be a file to which others append: what is there stays. */
	output->is_regular = S_ISREG(stat.st_mode) && strcmp(path, "-") != 0;
	return is_compressed_name(path) ? prepare_zstd(output) : 0;
}

const char *output_why(int error)
{
	return error == -EPERM ? OUTFILE_WHY : strerror(-error);
}

struct output *output_open(const char *path, int *error)
{
	struct output *output = calloc(1, sizeof(*output));

	*error = output ? open_file(output, path) : -ENOMEM;
	if (*error == 0)
		return output;
	if (output && output->fd > 0)
		close(output->fd);
	if (output) {
		ZSTD_freeCCtx(output->zstd);
		free(output->compressed);
	}
	free(output);
	return NULL;
}

int output_close(struct output *output)
{
	int result = close(output->fd) == 0 ? 0 : -errno;

	ZSTD_freeCCtx(output->zstd);
	free(output->compressed);
	free(output);
	return result;
}

static int write_all(struct output *output, const char *from, size_t bytes)
{
	while (bytes > 0) {
		ssize_t written = write(output->fd, from, bytes);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written < 0 ? -errno : -ENOSPC;
		from += written;
		bytes -= (size_t)written;
		output->position += (uint64_t)written;
	}
	return 0;
}

/* Compresses, and writes what comes out; `end`: the frame ends here. */
static int write_compressed(struct output *output, const char *from, size_t bytes,
			    ZSTD_EndDirective end)
{
	ZSTD_inBuffer in = { from, bytes, 0 };
	size_t left = 1;
	int result = 0;

	while (result == 0 && (in.pos < in.size || (end == ZSTD_e_end && left > 0))) {
		ZSTD_outBuffer out = { output->compressed, COMPRESSED_BYTES, 0 };

		left = ZSTD_compressStream2(output->zstd, &out, &in, end);
		if (ZSTD_isError(left))
			return -EIO;
		result = write_all(output, output->compressed, out.pos);
	}
	return result;
}

/* The header is one line, and begins with the numbers that are wanted here. */
static void look_at_header(struct output *output, const char *bytes, size_t count)
{
	const char *newline = memchr(bytes, '\n', count);
	size_t room = sizeof(output->header_start) - 1 - output->header_start_used;
	size_t taken = count < room ? count : room;

	memcpy(output->header_start + output->header_start_used, bytes, taken);
	output->header_start_used += taken;
	output->header_bytes += newline ? (size_t)(newline - bytes) : count;
	output->in_header = newline == NULL;
	if (newline) {
		output->header_start[output->header_start_used] = '\0';
		(void)client_number(output->header_start, "event_count", &output->progress.events);
	}
}

void output_begin(struct output *output)
{
	assert(!output->in_dump);
	output->in_dump = true;
	output->in_header = true;
	output->header_bytes = 0;
	output->header_start_used = 0;
}

static int end_frame(struct output *output)
{
	return output->zstd ? write_compressed(output, NULL, 0, ZSTD_e_end) : 0;
}

void output_keep(struct output *output)
{
	uint64_t events = 0, lost = 0;

	assert(output->in_dump);
	output->header_start[output->header_start_used] = '\0';
	(void)client_number(output->header_start, "event_count", &events);
	(void)client_number(output->header_start, "dropped_events", &lost);
	output->events += events;
	output->lost_events += lost;
	output->bytes = output->position;
	output->in_dump = false;
}

int output_write(void *context, const char *bytes, size_t count)
{
	struct output *output = context;

	assert(output->in_dump);
	if (count == 0)
		return end_frame(output);
	if (output->in_header)
		look_at_header(output, bytes, count);
	output_progress_add(&output->progress, bytes, count);
	return output->zstd ? write_compressed(output, bytes, count, ZSTD_e_continue)
			    : write_all(output, bytes, count);
}

void output_abandon(struct output *output)
{
	if (!output->in_dump)
		return;
	output->in_dump = false;
	if (output->zstd)
		ZSTD_CCtx_reset(output->zstd, ZSTD_reset_session_only);
	/* Shortening a file cannot fail for lack of room. */
	if (output->is_regular && ftruncate(output->fd, (off_t)output->bytes) == 0 &&
	    lseek(output->fd, (off_t)output->bytes, SEEK_SET) >= 0)
		output->position = output->bytes;
}

static bool is_of_file(int error)
{
	return error == -ENOSPC || error == -EDQUOT || error == -EFBIG || error == -EIO ||
	       error == -EBADF || error == -EROFS;
}

int output_settle(struct output *output, int result)
{
	if (result == 0)
		output_keep(output);
	else
		output_abandon(output);
	return is_of_file(result) ? result : 0;
}

int output_dump(struct output *output, const char *socket, bool keep)
{
	const struct timespec pause = { 0, BUSY_PAUSE_NS };
	int result = -EAGAIN;

	for (int i = 0; i < BUSY_TRIES && result == -EAGAIN; i++) {
		output_begin(output);
		output_progress_begin(&output->progress);
		result = client_dump(socket, !keep, output_write, output);
		output_progress_end(&output->progress);
		(void)output_settle(output, result);
		if (result == -EAGAIN)
			nanosleep(&pause, NULL);
	}
	return result;
}

void output_show_progress(struct output *output, FILE *terminal)
{
	output->progress.stream = terminal;
}

int output_sync(struct output *output)
{
	/* A pipe or a terminal has nothing to be synchronised. */
	return fsync(output->fd) == 0 || errno == EINVAL || errno == EROFS ? 0 : -errno;
}

uint64_t output_bytes(const struct output *output)
{
	return output->bytes;
}

uint64_t output_events(const struct output *output)
{
	return output->events;
}

uint64_t output_lost_events(const struct output *output)
{
	return output->lost_events;
}

const char *output_header_start(const struct output *output)
{
	return output->header_start;
}

uint64_t output_header_bytes(const struct output *output)
{
	return output->header_bytes;
}

bool output_can_take_back(const struct output *output)
{
	return output->is_regular;
}

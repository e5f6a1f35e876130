/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files to lines: reads in blocks, hands each whole line to read_event() and keeps the place for
 * errors.
 *
 * A block is filled until a newline is in it, by any number of calls: pipes and terminals work as
 * well as files. The part of a line at the block's end is moved to its front. A line longer than
 * the block makes the block grow, up to the limits in read.h. A NUL and padding always follow the
 * bytes read, as json.h demands.
 *
 * A last line without a newline is taken if it is whole, else counted: its dump was cut off.
 */
#include "read.h"

#include "read_zstd.h"
#include "reading.h"
#include "recording/intern.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	BLOCK_BYTES = 1 << 20,
	HEADER_NAME_WITHIN_BYTES =
		4096 /* a long line is taken for a header if it names itself one by here */
};

/* Where bytes come from: a descriptor, or memory for as long as `fd` is -1. */
struct source {
	int fd;
	const char *memory;
	size_t memory_bytes;
	size_t step_bytes; /* at most so many at a time */
	uint64_t bytes_done;
	uint64_t bytes_total;   /* 0 = unknown */
	bool is_begun;          /* its first bytes have been looked at */
	struct read_zstd *zstd; /* decompresses what the file has; NULL = the file is as it is */
};

/* Bytes [begin, end) are read and not yet parsed. */
struct block {
	char *bytes;
	size_t capacity; /* without the padding */
	size_t begin;
	size_t end;
};

/* The kind of a file that is no dump, by its first bytes; NULL if it may be one. */
static const char *other_format(const char *bytes, size_t count)
{
	static const struct {
		const char *magic;
		const char *text;
	} formats[] = {
		{ "\x1f\x8b",
		  "compressed with gzip; decompress it first: gunzip -c FILE | wcprof-analyze -" },
		{ "\xfd"
		  "7zXZ",
		  "compressed with xz; decompress it first: xz -dc FILE | wcprof-analyze -" },
		{ "BZh", "compressed with bzip2; decompress it first: bunzip2 -c FILE | "
			 "wcprof-analyze -" },
		{ "\x7f"
		  "ELF",
		  "a program or library, not a dump; take one with: wcprof dump PID -o FILE" },
		{ "ERR ", "an error that the recorder answered instead of a dump; read it and take "
			  "the dump again" },
		{ "OK ",
		  "an answer of the recorder, not a dump; take one with: wcprof dump PID -o FILE" },
	};
	size_t i;

	for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		size_t length = strlen(formats[i].magic);

		if (count >= length && memcmp(bytes, formats[i].magic, length) == 0)
			return formats[i].text;
	}
	return NULL;
}

/* Takes the lines in [at, end); `end` is behind a newline, or the end of a line that has none. */
static bool read_lines(struct reading *reading, const char *at, const char *end)
{
	struct json json = json_begin(at, end);

	while (json.at < end && !(reading->wants_head && reading->has_header)) {
		json_space(&json);
		if (!json_is_at_end(&json) && !read_event(reading, &json))
			return false;
		assert(json_is_at_end(&json));
		json.at += *json.at == '\n';
		reading->line++;
	}
	return true;
}

/* The last line, which has no newline. Cut off in the middle is no error, unless nothing came
 * before. */
static bool read_last_line(struct reading *reading, const char *at, const char *end)
{
	bool had_header = reading->has_header;

	if (read_lines(reading, at, end))
		return true;
	if (reading->status != -EBADMSG || !reading->is_cut_off)
		return false;
	reading->status = 0;
	if (!had_header)
		return reading_fail(reading, -EBADMSG, reading_line(reading),
				    "the dump ends within its header; take it again");
	*reading->error = (struct read_error){ 0 };
	reading->line++;
	reading->recording->truncated_files++;
	return true;
}

/* Up to `room` bytes of the file; 0 at the end, -errno. */
static ssize_t source_read_file(void *context, char *to, size_t room)
{
	struct source *source = context;
	size_t bytes = room < source->step_bytes ? room : source->step_bytes;
	ssize_t got;

	assert(to && room > 0);
	if (source->fd < 0) {
		bytes = bytes < source->memory_bytes ? bytes : source->memory_bytes;
		memcpy(to, source->memory, bytes);
		source->memory += bytes;
		source->memory_bytes -= bytes;
		source->bytes_done += bytes;
		return (ssize_t)bytes;
	}
	do
		got = read(source->fd, to, bytes);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	source->bytes_done += (uint64_t)got;
	return got;
}

/* The file's first bytes, which tell whether it is compressed; as source_read(). */
static ssize_t source_begin(struct source *source, char *to, size_t room)
{
	size_t used = 0;
	ssize_t got = 1;

	assert(room >= READ_ZSTD_MAGIC_BYTES);
	source->is_begun = true;
	while (used < READ_ZSTD_MAGIC_BYTES && got > 0) {
		got = source_read_file(source, to + used, READ_ZSTD_MAGIC_BYTES - used);
		used += got > 0 ? (size_t)got : 0;
	}
	if (got < 0)
		return got;
	if (!read_zstd_is_magic(to, used))
		return (ssize_t)used;
	source->zstd = read_zstd_start(source_read_file, source, to, used);
	return source->zstd ? read_zstd_next(source->zstd, to, room) : -ENOMEM;
}

/* Up to `room` bytes of the dump; 0 at the end, -errno. */
static ssize_t source_read(struct source *source, char *to, size_t room)
{
	if (!source->is_begun)
		return source_begin(source, to, room);
	return source->zstd ? read_zstd_next(source->zstd, to, room)
			    : source_read_file(source, to, room);
}

static bool block_resize(struct reading *reading, struct block *block, size_t capacity)
{
	char *bytes = realloc(block->bytes, capacity + JSON_PADDING_BYTES);

	assert(capacity >= block->end);
	if (!bytes)
		return reading_fail_memory(reading);
	block->bytes = bytes;
	block->capacity = capacity;
	return true;
}

/* A line that fills the whole block: is it one that may? */
static bool check_line_length(struct reading *reading, const struct block *block)
{
	size_t within =
		block->end < HEADER_NAME_WITHIN_BYTES ? block->end : HEADER_NAME_WITHIN_BYTES;
	bool is_header = read_is_header(block->bytes, within);
	size_t limit_bytes = is_header ? READ_HEADER_BYTES_MAX : READ_EVENT_BYTES_MAX;

	if (block->end < limit_bytes)
		return true;
	return reading_fail_here(reading, "a line of over %zu MiB, which no %s has",
				 limit_bytes >> 20, is_header ? "header" : "event");
}

/* Makes room behind what is not parsed yet. */
static bool block_make_room(struct reading *reading, struct block *block)
{
	memmove(block->bytes, block->bytes + block->begin, block->end - block->begin);
	block->end -= block->begin;
	block->begin = 0;
	if (block->end < block->capacity) {
		if (block->capacity > BLOCK_BYTES && block->end < BLOCK_BYTES / 2)
			return block_resize(reading, block, BLOCK_BYTES);
		return true;
	}
	return check_line_length(reading, block) &&
	       block_resize(reading, block, block->capacity * 2);
}

static bool fail_read(struct reading *reading, int status)
{
	if (status == -EISDIR)
		return reading_fail(reading, status, 0, "a directory; name the dump files in it");
	if (status == -EBADMSG)
		return reading_fail(reading, status, 0,
				    "its compressed data is damaged; take the dump again");
	return reading_fail(reading, status, 0, "cannot be read: %s", strerror(-status));
}

/* Fills the block until it has whole lines, and takes them; `*is_done` at the end of the source. */
static bool read_block(struct reading *reading, struct source *source, struct block *block,
		       bool *is_done)
{
	const char *newline;
	size_t scanned = 0;
	ssize_t got;

	do {
		if (!block_make_room(reading, block))
			return false;
		got = source_read(source, block->bytes + block->end, block->capacity - block->end);
		if (got < 0)
			return fail_read(reading, (int)got);
		block->end += (size_t)got;
		memset(block->bytes + block->end, 0, JSON_PADDING_BYTES);
		newline = memrchr(block->bytes + scanned, '\n', block->end - scanned);
		scanned = block->end;
	} while (got > 0 && !newline);
	*is_done = !newline;
	if (*is_done)
		return read_last_line(reading, block->bytes, block->bytes + block->end);
	block->begin = (size_t)(newline + 1 - block->bytes);
	return read_lines(reading, block->bytes, newline + 1);
}

/* The first bytes decide whether this is worth parsing at all. */
static bool check_beginning(struct reading *reading, struct source *source, struct block *block)
{
	const char *text;

	while (block->end < 8) {
		ssize_t got = source_read(source, block->bytes + block->end,
					  block->capacity - block->end);

		if (got < 0)
			return fail_read(reading, (int)got);
		if (got == 0)
			break;
		block->end += (size_t)got;
	}
	if (block->end == 0)
		return reading_fail(reading, -EBADMSG, 0,
				    "empty; the dump was not written, take it again");
	text = other_format(block->bytes, block->end);
	return text ? reading_fail(reading, -EBADMSG, 0, "%s", text) : true;
}

static bool read_blocks(struct reading *reading, struct source *source,
			const struct read_progress *progress)
{
	struct block block = { 0 };
	bool is_done = false;
	bool is_good = block_resize(reading, &block, BLOCK_BYTES) &&
		       check_beginning(reading, source, &block);

	while (is_good && !is_done && !(reading->wants_head && reading->has_header)) {
		is_good = read_block(reading, source, &block, &is_done);
		if (progress)
			progress->report(progress->context, source->bytes_done,
					 source->bytes_total);
	}
	free(block.bytes);
	read_zstd_free(source->zstd);
	source->zstd = NULL;
	if (is_good && !reading->has_header)
		is_good =
			reading_fail(reading, -EBADMSG, 0,
				     "nothing but space; the dump was not written, take it again");
	return is_good;
}

static bool file_begin(struct reading *reading, const char *path)
{
	struct read_file *files =
		realloc(reading->files, (reading->file_count + 1) * sizeof(*files));

	if (!files) {
		reading->status = -ENOMEM;
		*reading->error = (struct read_error){ .file = path, .text = "no memory left" };
		return false;
	}
	reading->files = files;
	files[reading->file_count++] = (struct read_file){ path, reading->line };
	reading->has_header = false;
	return true;
}

static bool read_file(struct reading *reading, const char *path,
		      const struct read_progress *progress)
{
	struct source source = { .step_bytes = SIZE_MAX };
	struct stat status;
	bool is_good;

	if (!file_begin(reading, path))
		return false;
	source.fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (source.fd < 0)
		return reading_fail(reading, -errno, 0, "cannot be opened: %s", strerror(errno));
	if (fstat(source.fd, &status) == 0 && S_ISREG(status.st_mode))
		source.bytes_total = (uint64_t)status.st_size;
	is_good = read_blocks(reading, &source, progress);
	if (source.fd != STDIN_FILENO)
		close(source.fd);
	read_dump_end(reading);
	return is_good;
}

/* Stack 0, which every event without a stack refers to. */
static bool add_no_stack(struct reading *reading)
{
	struct recording *recording = reading->recording;

	if (!reading_reserve(reading, &recording->stacks, &reading->stack_capacity, 0,
			     sizeof(*recording->stacks)) ||
	    idmap_index(&reading->stack_ids, 0, 0) != 0)
		return reading_fail_memory(reading);
	recording->stacks[recording->stack_count++] = (struct rec_stack){ 0 };
	return true;
}

static bool reading_begin(struct reading *reading, struct recording *recording,
			  struct read_error *error)
{
	*reading = (struct reading){ .recording = recording, .error = error };
	*recording = (struct recording){ 0 };
	*error = (struct read_error){ 0 };
	fields_begin(&reading->fields);
	return words_begin(&reading->kinds, VOCABULARY_KINDS, &recording->kinds) &&
	       words_begin(&reading->outcomes, VOCABULARY_OUTCOMES, &recording->outcomes) &&
	       words_begin(&reading->reasons, VOCABULARY_REASONS, &recording->reasons) &&
	       words_begin(&reading->link_kinds, VOCABULARY_LINKS, &recording->link_kinds) &&
	       recording_intern(recording, "") == 0 && add_no_stack(reading);
}

static int reading_end(struct reading *reading)
{
	idmap_free(&reading->ids);
	idmap_free(&reading->thread_ids);
	idmap_free(&reading->process_ids);
	idmap_free(&reading->module_ids);
	idmap_free(&reading->stack_ids);
	idmap_free(&reading->counter_ids);
	idmap_free(&reading->probe_ids);
	idmap_free(&reading->object_ids);
	free(reading->objects);
	free(reading->files);
	free(reading->boots);
	free(reading->op_of);
	free(reading->op_lines);
	free(reading->dump.strings);
	free(reading->dump.modules);
	free(reading->dump.stacks);
	free(reading->scratch);
	return reading->status;
}

int recording_read(struct recording *recording, char *const *paths, size_t path_count,
		   struct read_error *error, const struct read_progress *progress)
{
	struct reading reading;
	bool is_good;
	size_t i;

	assert(path_count > 0);
	is_good = reading_begin(&reading, recording, error);
	for (i = 0; is_good && i < path_count; i++)
		is_good = read_file(&reading, paths[i], progress);
	if (is_good && read_resolve(&reading))
		assert(recording_is_valid(recording));
	return reading_end(&reading);
}

int read_head(struct read_head *head, const char *path, struct read_error *error)
{
	struct recording recording;
	struct reading reading;

	if (reading_begin(&reading, &recording, error)) {
		reading.wants_head = true;
		(void)read_file(&reading, path, NULL);
	}
	*head = (struct read_head){
		.pid = reading.dump.pid,
		.start_unix_ns = reading.dump.start_unix_ns,
		.epoch_unix_ns = reading.dump.epoch_unix_ns,
		.window_count = recording.window_count,
	};
	if (recording.window_count) {
		head->was_off = recording.window_count == 1 &&
				recording.windows[0].from_ns == recording.windows[0].to_ns;
		head->window_count -= head->was_off;
		head->from_ns = recording.windows[0].from_ns;
		head->to_ns = recording.windows[recording.window_count - 1].to_ns;
	}
	recording_free(&recording);
	return reading_end(&reading);
}

int recording_read_memory(struct recording *recording, const char *name, const void *bytes,
			  size_t byte_count, size_t step_bytes, struct read_error *error)
{
	struct source source = {
		.fd = -1, .memory = bytes, .memory_bytes = byte_count, .step_bytes = step_bytes
	};
	struct reading reading;

	assert(step_bytes > 0);
	source.bytes_total = byte_count;
	if (reading_begin(&reading, recording, error) && file_begin(&reading, name) &&
	    read_blocks(&reading, &source, NULL)) {
		read_dump_end(&reading);
		if (read_resolve(&reading))
			assert(recording_is_valid(recording));
	}
	return reading_end(&reading);
}

void recording_free(struct recording *recording)
{
	free(recording->ops);
	free(recording->extras);
	free(recording->waits);
	free(recording->links);
	free(recording->samples);
	free(recording->contexts);
	free(recording->threads);
	free(recording->processes);
	free(recording->modules);
	free(recording->stacks);
	free(recording->frames);
	free(recording->namings);
	free(recording->named_frames);
	free(recording->named_codes);
	free(recording->named_data);
	free(recording->counters);
	free(recording->probes);
	free(recording->peers);
	free(recording->idles);
	free(recording->windows);
	free(recording->clocks);
	free(recording->clock_pairs);
	free(recording->scopes);
	words_free(&recording->kinds);
	words_free(&recording->outcomes);
	words_free(&recording->reasons);
	words_free(&recording->link_kinds);
	free(recording->strings);
	intern_free(recording->intern);
	*recording = (struct recording){ 0 };
}

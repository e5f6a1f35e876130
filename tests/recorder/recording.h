/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording in the test's own process, and its dumps as JSON: shared by the tests of this folder.
 *
 * Each test runs in a process of its own (libcheck forks), so each may start the recorder once.
 */
#ifndef WCPROF_TESTS_RECORDING_H
#define WCPROF_TESTS_RECORDING_H

#include <check.h>
#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "chunk.h"
#include "clock.h"
#include "dump.h"
#include "gate.h"
#include "op.h"
#include "options.h"
#include "recorder.h"
#include "self.h"
#include "snapshot.h"
#include "strings.h"
#include "switch.h"

enum { CALL_READ = 1, CALL_LOCK = 2 };

static const char recording_calls[] = "read\0pthread_mutex_lock";
static const struct recorder_host recording_host = {
	.call_names = recording_calls,
	.call_count = 2,
	.thread_create = pthread_create,
};

/* Starts the recorder: on, without control thread; options are set in the environment before. */
static inline void recording_begin(void)
{
	setenv("WCPROF_ENABLE", "1", 0);
	setenv("WCPROF_CONTROL", "off", 0);
	/* Else every thread has events of its own accord. */
	setenv("WCPROF_CPU_TIME", "0", 0);
	setenv("WCPROF_STACK_DEPTH", "0", 0);
	recorder_start(&recording_host);
}

/* As at the end of a process, and leaves nothing behind, even if nobody took a dump. */
static inline void recording_end(void)
{
	recorder_image_ends(END_EXIT);
	if (recorder_arena)
		arena_unlink(recorder_arena);
}

/* All that was parsed: nothing of it is freed, and the sanitizer finds it here. */
static json_t *recording_kept;

static inline json_t *recording_keep(json_t *value)
{
	if (!recording_kept)
		recording_kept = json_array();
	ck_assert_ptr_nonnull(value);
	json_array_append_new(recording_kept, value);
	return value;
}

/* Lines of a dump as one JSON array; every line must be JSON. */
static inline json_t *recording_parse(const char *text, size_t bytes)
{
	json_t *lines = recording_keep(json_array());
	const char *end = text + bytes;

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		json_error_t error;
		json_t *line;

		ck_assert_msg(newline != NULL, "the last line is not ended");
		line = json_loadb(text, (size_t)(newline - text), JSON_ALLOW_NUL, &error);
		ck_assert_msg(line != NULL, "%s: %.*s", error.text,
			      newline - text < 500 ? (int)(newline - text) : 500, text);
		json_array_append_new(lines, line);
		text = newline + 1;
	}
	return lines;
}

/* Dumps an arena; `commit`: as handed out. */
static inline json_t *recording_dump_of(struct arena *arena, enum dump_of of, bool commit)
{
	static char buffer[DUMP_BUFFER_BYTES];
	struct dump dump;
	char *all = NULL;
	size_t bytes = 0;
	json_t *lines;

	ck_assert_int_eq(dump_begin(&dump, arena, buffer, sizeof(buffer), of), 0);
	while (dump_fill(&dump)) {
		all = realloc(all, bytes + dump.text.used);
		memcpy(all + bytes, dump.text.bytes, dump.text.used);
		bytes += dump.text.used;
	}
	dump_end(&dump, commit);
	lines = recording_parse(all, bytes);
	free(all);
	return lines;
}

static inline json_t *recording_dump(bool commit)
{
	return recording_dump_of(recorder_arena, DUMP_AT_END, commit);
}

static inline json_int_t number_of(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static inline const char *word_of(const json_t *object, const char *key)
{
	const char *word = json_string_value(json_object_get(object, key));

	return word ? word : "";
}

/* The string whose id is the value of `key`. */
static inline const char *name_of(const json_t *lines, const json_t *object, const char *key)
{
	json_t *strings = json_object_get(json_array_get(lines, 0), "strings");

	return json_string_value(json_array_get(strings, (size_t)number_of(object, key)));
}

/* The first event whose `key` (k, rs, lk) is `word`; NULL if there is none. */
static inline json_t *event_of(const json_t *lines, const char *key, const char *word)
{
	for (size_t i = 1; i < json_array_size(lines); i++)
		if (strcmp(word_of(json_array_get(lines, i), key), word) == 0)
			return json_array_get(lines, i);
	return NULL;
}

static inline size_t count_events(const json_t *lines, const char *key, const char *word)
{
	size_t count = 0;

	for (size_t i = 1; i < json_array_size(lines); i++)
		count += strcmp(word_of(json_array_get(lines, i), key), word) == 0;
	return count;
}

/* Each of a chunk's records, from one extent to another; false: that was the last one. */
struct recording_reader {
	const struct chunk *chunk;
	uint32_t at;
	uint32_t end;
};

static inline struct recording_reader recording_read(const struct chunk *chunk, uint32_t from,
						     uint32_t to)
{
	return (struct recording_reader){ chunk, extent_words(from), extent_words(to) };
}

static inline bool recording_next(struct recording_reader *reader, struct record *record)
{
	if (reader->at == reader->end)
		return false;
	/* An assertion that holds is written down: not for each record. */
	if (!packed_read(reader->chunk->words, &reader->at, reader->end, record))
		ck_abort_msg("a record is damaged");
	return true;
}

/* The last record of a chunk. */
static inline struct record recording_last(const struct chunk *chunk)
{
	struct recording_reader reader = recording_read(chunk, 0, chunk->published);
	struct record record = { .type = RECORD_NONE };

	while (recording_next(&reader, &record))
		;
	return record;
}

/* The extent of so many whole records. */
static inline uint32_t recording_extent(uint32_t records)
{
	return records * (EXTENT_RECORD + RECORD_WORDS);
}

/* One io op as a hook records it; its id, 0 if it was not. */
static inline uint64_t record_io_of(int fd, uint64_t bytes)
{
	struct self *self = self_enter();
	uint64_t op =
		self ? op_begin(self, KIND_IO, CALL_READ, 0, fd, 0, __builtin_frame_address(0)) : 0;

	self_leave(self);
	self = op ? self_enter() : NULL;
	if (self)
		op_end(self, op, OUTCOME_OK, bytes);
	self_leave(self);
	return op;
}

/* Of a descriptor that no hook has: the record does not fit into a short one, so that CHUNK_RECORDS
 * of them fill a chunk. */
static inline uint64_t record_io(uint64_t bytes)
{
	return record_io_of(-2, bytes);
}

#endif

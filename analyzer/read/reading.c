/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The needs of all parts of the reader: errors with their place, room in arrays, texts and words.
 *
 * The first error counts; any that is reported after it, on the way out, is not kept. One thread.
 */
#include "reading.h"

#include "recording/intern.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { ITEMS_FIRST = 64 };

uint64_t reading_line(const struct reading *reading)
{
	return reading->line - reading->files[reading->file_count - 1].first_line + 1;
}

static const char *reading_path(const struct reading *reading)
{
	return reading->files[reading->file_count - 1].path;
}

static bool fail(struct reading *reading, int status, uint64_t line, const char *format,
		 va_list arguments)
{
	struct read_error *error = reading->error;

	assert(status < 0);
	if (reading->status != 0)
		return false;
	reading->status = status;
	error->file = reading_path(reading);
	error->line = line;
	vsnprintf(error->text, sizeof(error->text), format, arguments);
	return false;
}

bool reading_fail(struct reading *reading, int status, uint64_t line, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fail(reading, status, line, format, arguments);
	va_end(arguments);
	return false;
}

bool reading_fail_here(struct reading *reading, const char *format, ...)
{
	struct read_error *error = reading->error;
	uint64_t line = reading_line(reading);
	bool is_first = reading->status == 0;
	va_list arguments;
	size_t length;

	va_start(arguments, format);
	fail(reading, -EBADMSG, line, format, arguments);
	va_end(arguments);
	if (!is_first)
		return false;
	length = strlen(error->text);
	if (line > 1 && strcmp(error->file, "-") != 0)
		snprintf(error->text + length, sizeof(error->text) - length,
			 "; to use what comes before: head -n %" PRIu64 " '%s' | wcprof-analyze -",
			 line - 1, error->file);
	else
		snprintf(error->text + length, sizeof(error->text) - length,
			 "; take the dump again");
	return false;
}

bool reading_fail_json(struct reading *reading, const struct json *json, const char *line_begin)
{
	assert(json->error);
	reading->is_cut_off =
		json_is_at_end(json) || *json->at == '\0'; /* a crash may leave zeros behind */
	return reading_fail_here(reading, "%s (column %zu)", json->error,
				 (size_t)(json->at - line_begin) + 1);
}

bool reading_fail_memory(struct reading *reading)
{
	return reading_fail(reading, -ENOMEM, reading_line(reading),
			    "no memory left; analyse fewer dumps at a time");
}

bool reading_grow(struct reading *reading, void *array, size_t *capacity, size_t item_bytes)
{
	size_t grown = *capacity ? *capacity * 2 : ITEMS_FIRST;
	void *items;

	memcpy(&items, array, sizeof(items));
	if (grown >= NO_INDEX)
		grown = NO_INDEX - 1;
	if (grown == *capacity)
		return reading_fail(reading, -E2BIG, reading_line(reading),
				    "more than 4 billion events; analyse fewer dumps at a time");
	items = realloc(items, grown * item_bytes);
	if (!items)
		return reading_fail_memory(reading);
	memcpy(array, &items, sizeof(items));
	*capacity = grown;
	return true;
}

/* The text's value in reading->scratch. */
static bool decode(struct reading *reading, const struct json_text *text, size_t *length)
{
	size_t bytes = JSON_DECODED_BYTES(text->length) + JSON_PADDING_BYTES;

	if (bytes > reading->scratch_capacity) {
		free(reading->scratch);
		reading->scratch_capacity = 0;
		reading->scratch = malloc(bytes);
		if (!reading->scratch)
			return reading_fail_memory(reading);
		reading->scratch_capacity = bytes;
	}
	*length = json_decode(text, reading->scratch);
	return true;
}

/* Where the text's value is: in the line as it is, or decoded until the next text is. */
static inline bool value_of(struct reading *reading, const struct json_text *text,
			    const char **bytes, size_t *length)
{
	*bytes = text->bytes;
	*length = text->length;
	if (text->is_plain)
		return true;
	if (!decode(reading, text, length))
		return false;
	*bytes = reading->scratch;
	return true;
}

bool reading_text(struct reading *reading, const struct json_text *text, uint32_t *string)
{
	const char *bytes;
	size_t length;

	if (!value_of(reading, text, &bytes, &length))
		return false;
	*string = recording_intern_bytes(reading->recording, bytes, length);
	return *string != NO_INDEX || reading_fail_memory(reading);
}

bool reading_string(struct reading *reading, uint64_t id, uint32_t *string)
{
	const struct dump *dump = &reading->dump;

	*string = 0;
	if (id == 0)
		return true;
	if (id >= dump->string_count)
		return reading_fail_here(reading,
					 "string %" PRIu64 ", but the dump's header has %zu", id,
					 dump->string_count);
	*string = dump->strings[id];
	return true;
}

bool reading_word(struct reading *reading, struct vocabulary *vocabulary,
		  const struct json_text *text, uint32_t *word)
{
	const char *bytes;
	size_t length;

	if (!value_of(reading, text, &bytes, &length))
		return false;
	*word = words_find(vocabulary, reading->recording, bytes, length);
	if (*word != NO_INDEX)
		return true;
	if (vocabulary->words->count < vocabulary->word_max)
		return reading_fail_memory(reading);
	return reading_fail_here(reading, "more than %zu different words of one sort",
				 vocabulary->word_max);
}

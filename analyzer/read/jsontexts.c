/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts out of small files of JSON; jsontexts.h has the contract.
 *
 * The tokenizer takes one line, so line ends become spaces in a copy of the bytes.
 */
#include "jsontexts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"

/* The text of a member's value, if it is one; any other value is passed over. */
static bool take_text(struct json *json, char text[JSON_TEXTS_BYTES])
{
	struct json_text value;

	if (*json->at != '"')
		return json_skip(json);
	if (!json_take_string(json, &value))
		return false;
	if (value.is_plain && value.length < JSON_TEXTS_BYTES) {
		memcpy(text, value.bytes, value.length);
		text[value.length] = '\0';
	}
	return true;
}

static bool is_name(const struct json_text *name, const char *wanted)
{
	return name->length == strlen(wanted) && memcmp(name->bytes, wanted, name->length) == 0;
}

static bool read_object(struct json *json, const char *const *names, size_t count,
			char (*texts)[JSON_TEXTS_BYTES])
{
	struct json_text name;
	bool is_first = true;

	if (!json_take(json, '{'))
		return false;
	while (json_member(json, &is_first, &name)) {
		size_t i = 0;

		while (i < count && !is_name(&name, names[i]))
			i++;
		if (!(i < count ? take_text(json, texts[i]) : json_skip(json)))
			return false;
	}
	return !json->error;
}

bool json_texts(const char *bytes, size_t length, const char *const *names, size_t count,
		char (*texts)[JSON_TEXTS_BYTES])
{
	char *line = memory_new(length + JSON_PADDING_BYTES, 1);
	struct json json = json_begin(line, line + length);

	for (size_t i = 0; i < count; i++)
		texts[i][0] = '\0';
	for (size_t i = 0; i < length; i++)
		line[i] = bytes[i] == '\n' ? ' ' : bytes[i];
	bool is_good = read_object(&json, names, count, texts);
	free(line);
	return is_good;
}

bool json_texts_of_file(const char *path, const char *const *names, size_t count,
			char (*texts)[JSON_TEXTS_BYTES])
{
	FILE *file = fopen(path, "re");

	if (!file)
		return false;
	char *bytes = memory_new(JSON_TEXTS_FILE_BYTES_MAX, 1);
	size_t length = fread(bytes, 1, JSON_TEXTS_FILE_BYTES_MAX, file);
	bool is_good = length < JSON_TEXTS_FILE_BYTES_MAX &&
		       json_texts(bytes, length, names, count, texts);
	fclose(file);
	free(bytes);
	return is_good;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of names, which an earlier analysis has put into a dump:
 *
 *   {"e":"names","path":P,"build_id":B,"package":N,"version":V,"from":F,
 *    "texts":["",...],"code":[...],"data":[...]}
 *
 * keys.def says what each key has. With a `client` instead of a path, the addresses are of code
 * outside all files in that process.
 *
 * A file may have several such lines, behind the header of any dump. One thread.
 */
#include "read_members.h"
#include "reading.h"

#include <assert.h>
#include <stdlib.h>

struct names_line {
	uint32_t path; /* string ids */
	uint32_t build_id;
	uint32_t client;
	uint32_t package;
	uint32_t package_version;
	uint32_t package_sort;
	uint32_t naming;
	uint32_t *texts; /* string ids */
	size_t text_count;
	size_t text_capacity;
};

enum { CODE_NUMBERS = 3, FRAME_NUMBERS = 3, DATA_NUMBERS = 3 };

static bool read_texts(struct reading *reading, struct json *json, struct names_line *line)
{
	struct walk walk = walk_begin(json);
	struct json_text text;

	if (!json_open_array(json))
		return false;
	while (walk_element(&walk)) {
		if (!reading_reserve(reading, &line->texts, &line->text_capacity, line->text_count,
				     sizeof(*line->texts)) ||
		    !json_take_string(json, &text) ||
		    !reading_text(reading, &text, &line->texts[line->text_count]))
			return false;
		line->text_count++;
	}
	return !json->error;
}

static bool text_of(struct json *json, const struct names_line *line, uint64_t number,
		    uint32_t *string)
{
	if (number >= line->text_count)
		return json_fail(json, "a name that is not among the texts before it");
	*string = line->texts[number];
	return true;
}

/* Up to `count` numbers of the array that the walk is in; false at its end or an error. */
static bool take_numbers(struct walk *walk, uint64_t *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!walk_element(walk))
			return i && !walk->json->error
				       ? json_fail(walk->json, "too few numbers about an address")
				       : false;
		if (!json_take_uint(walk->json, &numbers[i]))
			return false;
	}
	return true;
}

static bool read_frames(struct reading *reading, struct walk *walk, const struct names_line *line,
			struct rec_named_code *code)
{
	struct recording *recording = reading->recording;
	struct rec_named_frame frame;
	uint64_t numbers[FRAME_NUMBERS];

	code->first_frame = (uint32_t)recording->named_frame_count;
	while (take_numbers(walk, numbers, FRAME_NUMBERS)) {
		frame.line = (uint32_t)numbers[2];
		if (!text_of(walk->json, line, numbers[0], &frame.function) ||
		    !text_of(walk->json, line, numbers[1], &frame.file) ||
		    !reading_reserve(reading, &recording->named_frames,
				     &reading->named_frame_capacity, recording->named_frame_count,
				     sizeof(*recording->named_frames)))
			return false;
		recording->named_frames[recording->named_frame_count++] = frame;
		code->frame_count++;
	}
	return !walk->json->error;
}

static bool read_code(struct reading *reading, struct json *json, const struct names_line *line)
{
	struct recording *recording = reading->recording;
	struct walk walk = walk_begin(json);
	uint64_t numbers[CODE_NUMBERS];

	assert(line->naming < recording->naming_count);
	if (!json_open_array(json))
		return false;
	while (walk_element(&walk)) {
		struct rec_named_code code = { .naming = line->naming };
		struct walk inner = walk_begin(json);

		if (!json_open_array(json) || !take_numbers(&inner, numbers, CODE_NUMBERS) ||
		    !read_frames(reading, &inner, line, &code))
			return json->error || reading->status
				       ? false
				       : json_fail(json, "an address without anything about it");
		if (!code.frame_count)
			return json_fail(json, "an address without a function");
		code.offset = numbers[0];
		code.is_return_address = numbers[1] != 0;
		code.function_offset = numbers[2];
		if (!reading_reserve(reading, &recording->named_codes,
				     &reading->named_code_capacity, recording->named_code_count,
				     sizeof(*recording->named_codes)))
			return false;
		recording->named_codes[recording->named_code_count++] = code;
	}
	return !json->error;
}

static bool read_data(struct reading *reading, struct json *json, const struct names_line *line)
{
	struct recording *recording = reading->recording;
	struct walk walk = walk_begin(json);
	uint64_t numbers[DATA_NUMBERS], extra;

	assert(line->naming < recording->naming_count);
	if (!json_open_array(json))
		return false;
	while (walk_element(&walk)) {
		struct rec_named_data data = { .naming = line->naming };
		struct walk inner = walk_begin(json);

		if (!json_open_array(json) || !take_numbers(&inner, numbers, DATA_NUMBERS) ||
		    take_numbers(&inner, &extra, 1) || json->error)
			return json->error ? false : json_fail(json, "not three numbers");
		if (!text_of(json, line, numbers[2], &data.object) ||
		    !reading_reserve(reading, &recording->named_data, &reading->named_data_capacity,
				     recording->named_data_count, sizeof(*recording->named_data)))
			return false;
		data.offset = numbers[0];
		data.object_offset = numbers[1];
		recording->named_data[recording->named_data_count++] = data;
	}
	return !json->error;
}

/* The file or process that the line is about, as one of the recording's namings. */
static bool find_naming(struct reading *reading, struct names_line *line)
{
	struct recording *recording = reading->recording;
	size_t i;

	for (i = 0; i < recording->naming_count; i++)
		if (recording->namings[i].path == line->path &&
		    recording->namings[i].build_id == line->build_id &&
		    recording->namings[i].client == line->client)
			break;
	line->naming = (uint32_t)i;
	if (i == recording->naming_count) {
		if (!reading_reserve(reading, &recording->namings, &reading->naming_capacity, i,
				     sizeof(*recording->namings)))
			return false;
		recording->namings[recording->naming_count++] = (struct rec_naming){
			.path = line->path, .build_id = line->build_id, .client = line->client
		};
	}
	if (line->package_sort) {
		recording->namings[i].package = line->package;
		recording->namings[i].package_version = line->package_version;
		recording->namings[i].package_sort = line->package_sort;
	}
	return true;
}

/* One of the line's tables; the other keys are read before. */
static bool read_table(struct reading *reading, const struct walk *walk, struct names_line *line)
{
#define NAMES_TEXT(name, key)
#define NAMES_PART(name, key)        \
	if (walk_is_name(walk, key)) \
		return read_##name(reading, walk->json, line);
#define NAMES_KEY(name, key, type, meaning) NAMES_##type(name, key)
#include "keys.def"
	return json_skip(walk->json);
}

static bool read_tables(struct reading *reading, struct json *json, struct names_line *line)
{
	struct walk walk = walk_begin(json);

	if (!find_naming(reading, line) || !json_open_object(json))
		return false;
	while (walk_member(&walk))
		if (!read_table(reading, &walk, line))
			return false;
	return !json->error;
}

bool read_names(struct reading *reading, struct json *json)
{
	static const struct member members[] = {
#define NAMES_KEY(name, key, type, meaning) MEMBER_##type(struct names_line, name, key)
#include "keys.def"
	};
	const char *begin = json->at;
	struct names_line line = { 0 };
	bool is_good =
		read_members(reading, json, members, sizeof(members) / sizeof(members[0]), &line);

	if (is_good) {
		json->at = begin;
		is_good = read_tables(reading, json, &line) && json_finish(json);
	}
	free(line.texts);
	if (is_good)
		return true;
	return reading->status ? false : reading_fail_json(reading, json, begin);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a header's objects lose members or take them for others. */
#include <stddef.h>

#include "dump_text.h"
#include "read/read_members.h"
#include "recording/intern.h"
#include "suite.h"

struct thing {
	uint64_t size;
	uint32_t name;
};

static const struct member table[] = {
	{ "size", false, offsetof(struct thing, size) },
	{ "name", true, offsetof(struct thing, name) },
};

static const struct {
	const char *text;
	bool is_good;
	uint64_t size;
	const char *name;
} rows[] = {
	/* 0 */ { "{'size':7,'name':'x'}", true, 7, "x" },
	/* 1 */ { "{'name':'a\\nb','siz':1,'sizes':2,'size':3}", true, 3, "a\nb" },
	/* 2 */ { "{}", true, 0, "" },
	/* 3 */ { "{'size':null,'name':null}", true, 0, "" },
	/* 4 */ { "{'other':{'size':5},'size':6}", true, 6, "" },
	/* 5 */ { "{'size':'7'}", false, 0, "" },
	/* 6 */ { "{'name':7}", false, 0, "" },
	/* 7 */ { "['size',7]", false, 0, "" },
	/* 8 */ { "{'size':7", false, 0, "" },
};

START_TEST(object_rows)
{
	static struct read_file file = { "test", 0 };
	struct recording recording = { 0 };
	struct reading reading = {
		.recording = &recording, .error = &read_error, .files = &file, .file_count = 1
	};
	struct thing thing = { 0 };
	char line[256] = { 0 };
	char *text = dump_text(rows[_i].text);
	struct json json;

	recording_intern(&recording, "");
	strcpy(line, text);
	free(text);
	json = json_begin(line, line + strlen(line));
	ck_assert_msg(read_members(&reading, &json, table, 2, &thing) == rows[_i].is_good,
		      "row %d: %s", _i, json.error);
	if (rows[_i].is_good) {
		ck_assert_uint_eq(thing.size, rows[_i].size);
		ck_assert_str_eq(recording.strings[thing.name], rows[_i].name);
	}
	free(reading.scratch);
	recording_free(&recording);
}
END_TEST

SUITE()
{
	EACH(object_rows, rows);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, a receiver of OpenTelemetry's would refuse our message, or take one sample for
 * another. tests/cmd/test_export reads messages of real recordings. */
#include "export/exporters.h"

#include <string.h>

#include "sketch.h"
#include "suite.h"

/* The message of a recording without anything in it. */
static size_t export_nothing(const struct text_list *tags, char *bytes, size_t room)
{
	struct sketch sketch;
	struct options options = { .to_ns = UINT64_MAX, .tags = *tags };
	char error[EXPORT_ERROR_BYTES] = "";
	struct analysis analysis = { .options = &options };
	sketch_begin(&sketch);
	analysis.recording = &sketch.rec;
	struct export export = { .analysis = &analysis, .error = error, .file = tmpfile() };
	class_table_build(&analysis.classes, &sketch.rec, NULL);
	thread_table_build(&analysis.threads, &sketch.rec);
	export_otlp(&export);
	ck_assert_str_eq(error, "");
	rewind(export.file);
	size_t length = fread(bytes, 1, room, export.file);
	fclose(export.file);
	thread_table_free(&analysis.threads);
	class_table_free(&analysis.classes);
	sketch_free(&sketch);
	return length;
}

static bool has(const char *bytes, size_t length, const char *text, size_t count)
{
	return memmem(bytes, length, text, count) != NULL;
}

#define HAS(text) has(bytes, length, text, sizeof(text) - 1)

START_TEST(tags_are_attributes_of_the_resource)
{
	char bytes[4096];
	const struct text_list tags = { { "service=shop", "environment=e", "color=red=1" }, 3 };
	size_t length = export_nothing(&tags, bytes, sizeof(bytes));
	ck_assert(HAS("\x0a\x0cservice.name\x12\x06\x0a\x04shop"));
	ck_assert(HAS("\x0a\x1b"
		      "deployment.environment.name\x12\x03\x0a\x01"
		      "e"));
	ck_assert(HAS("\x0a\x05"
		      "color\x12\x07\x0a\x05red=1"));
	ck_assert(HAS("\x0a\x06wcprof\x12"));
}
END_TEST

START_TEST(the_first_of_each_table_is_nothing)
{
	char bytes[4096];
	const struct text_list tags = { .count = 0 };
	size_t length = export_nothing(&tags, bytes, sizeof(bytes));
	/* Stacks, locations, functions, mappings, links, attributes, texts. */
	ck_assert(HAS("\x3a\x00\x12\x00\x1a\x00\x0a\x00\x22\x00\x32\x00\x2a\x00"));
	/* A type of which there is nothing is no profile. */
	ck_assert(!HAS("\x2a\x04wall"));
}
END_TEST

SUITE()
{
	TEST(tags_are_attributes_of_the_resource);
	TEST(the_first_of_each_table_is_nothing);
}

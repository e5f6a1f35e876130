/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, stacks of two hosts would not meet, or rows would stand for other requests. */
#include "export/rows_parts.h"

#include "export/rows.h"
#include "pathed.h"

#include <errno.h>
#include <jansson.h>

static const struct {
	const char *tag;
	bool is_good;
} tags[] = {
	{ "service=a", true }, { "x=", true },  { "x=a=b", true },
	{ "x", false },        { "=a", false }, { "", false },
};

START_TEST(a_tag_is_a_key_and_a_value)
{
	const struct options options = { .rows = "x", .tags = { { tags[_i].tag }, 1 } };
	char error[EACH_WINDOW_ERROR_BYTES] = "";
	ck_assert_int_eq(rows_check(&options, error), tags[_i].is_good ? 0 : -EINVAL);
	ck_assert_int_eq(error[0] == '\0', tags[_i].is_good);
	if (tags[_i].is_good)
		ck_assert_str_eq(rows_tag(&options, tags[_i].tag[0] == 's' ? "service" : "x"),
				 strchr(tags[_i].tag, '=') + 1);
	ck_assert_ptr_null(rows_tag(&options, "servic"));
}
END_TEST

/* Two modules of one build at different places; one without a build id. */
START_TEST(stacks_are_the_same_by_build_and_offset)
{
	struct sketch sketch;
	sketch_begin(&sketch);
	const uint32_t id = sketch_string(&sketch, "0123");
	struct rec_module modules[] = {
		{ .build_id = id, .base = 0x1000 },
		{ .build_id = id, .base = 0x5000 },
		{ 0 },
	};
	struct rec_frame frames[] = { { 0, 16 }, { 1, 16 }, { 0, 17 }, { 2, 16 }, { 2, 17 } };
	struct rec_stack stacks[] = { { 0, 0 }, { 0, 1 }, { 1, 1 }, { 2, 1 }, { 3, 1 }, { 4, 1 } };
	uint32_t first[] = { 0, 0, 0, 0, 1, 2 };
	uint32_t names[] = { sketch_string(&sketch, "f"), sketch_string(&sketch, "f") };
	struct labels labels = { .frames = { .first = first, .names = names } };
	struct recording *rec = &sketch.rec;
	const struct analysis analysis = { .recording = rec, .labels = &labels };
	struct rows_stacks found;
	sketch_end(&sketch);
	rec->modules = modules, rec->module_count = 3;
	rec->frames = frames, rec->frame_count = 5;
	rec->stacks = stacks, rec->stack_count = 6;
	rows_stacks_build(&found, &analysis);
	static const uint32_t same[] = { 0, 1, 1, 3, 4, 4 };
	for (int i = 0; i < 6; i++)
		ck_assert_uint_eq(found.same[i], same[i]);
	rows_stacks_free(&found);
	sketch_free(&sketch);
}
END_TEST

/* Requests of which the last is the longest. */
static void write_requests(size_t count, char **text)
{
	struct pathed pathed;
	size_t length;
	pathed_begin(&pathed);
	pathed_end(&pathed);
	struct analysis analysis = { .recording = &pathed.sketch.rec,
				     .classes = pathed.sketch.classes,
				     .has_paths = true };
	struct request *requests = memory_new(count, sizeof(*requests));
	for (size_t i = 0; i < count; i++)
		requests[i] = (struct request){ .taken_ns = i, .class = 0 };
	analysis.script.requests = (struct requests){ .requests = requests, .count = count };
	path_parts_begin(&analysis.paths.parts);
	analysis.paths.first = memory_new(count + 1, sizeof(size_t));
	analysis.paths.count = count;
	struct rows rows = { .analysis = &analysis, .window = "w" };
	rows.files[ROWS_REQUEST] = open_memstream(text, &length);
	rows_of_requests(&rows);
	fclose(rows.files[ROWS_REQUEST]);
	request_paths_free(&analysis.paths);
	free(requests);
	pathed_free(&pathed);
}

START_TEST(weights_add_up_and_slow_ones_are_all_there)
{
	static const size_t counts[] = { 0, 1, 20, 21, 400, 5000, 23457 };
	size_t count = counts[_i], slow = (count + 19) / 20, sum = 0, slow_rows = 0, rows = 0;
	char *text;
	write_requests(count, &text);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), rows++) {
		json_t *row = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
		ck_assert_ptr_nonnull(row);
		json_int_t weight = json_integer_value(json_object_get(row, "weight"));
		json_int_t taken = json_integer_value(json_object_get(row, "latency_ns"));
		sum += (size_t)weight;
		slow_rows += (size_t)taken >= count - slow;
		if ((size_t)taken >= count - slow)
			ck_assert_int_eq(weight, 1);
		json_decref(row);
	}
	ck_assert_uint_eq(sum, count);
	ck_assert_uint_eq(slow_rows, slow);
	ck_assert_uint_le(rows, 1000 + (slow < 20 ? 20 : slow));
	free(text);
}
END_TEST

SUITE()
{
	EACH(a_tag_is_a_key_and_a_value, tags);
	TEST(stacks_are_the_same_by_build_and_offset);
	LOOP(weights_add_up_and_slow_ones_are_all_there, 0, 7);
}

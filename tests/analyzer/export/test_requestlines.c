/* SPDX-License-Identifier: Apache-2.0 */
/* If this failed, another program could not read the requests, or would read other ones. */
#include "export/requestlines.h"
#include "pathed.h"
#include "report/analysis.h"

#include <jansson.h>

static json_t *line_of(struct pathed *pathed, uint32_t request)
{
	struct analysis analysis = { .recording = &pathed->sketch.rec,
				     .classes = pathed->sketch.classes,
				     .has_paths = true };
	char *text = NULL, *from;
	size_t length = 0;
	FILE *file = open_memstream(&text, &length);
	analysis.script.requests = pathed->all;
	request_paths_build(&analysis.paths, &pathed->of);
	request_lines_write(file, &analysis);
	fclose(file);
	from = text;
	for (uint32_t i = 0; i < request; i++)
		from = strchr(from, '\n') + 1;
	*strchr(from, '\n') = '\0';
	json_t *line = json_loads(from, JSON_REJECT_DUPLICATES, NULL);
	ck_assert_ptr_nonnull(line);
	request_paths_free(&analysis.paths);
	free(text);
	return line;
}

START_TEST(a_line_has_a_request_and_its_parts)
{
	struct pathed pathed;
	pathed_begin(&pathed);
	pathed_end(&pathed);
	json_t *line = line_of(&pathed, 1), *part;
	ck_assert_ptr_null(json_object_get(line, "request"));
	json_decref(line);
	pathed.all.requests[1].kind = sketch_string(&pathed.sketch, "GET /users");
	line = line_of(&pathed, 1);
	ck_assert_str_eq(json_string_value(json_object_get(line, "request")), "GET /users");
	ck_assert_str_eq(json_string_value(json_object_get(line, "class")), "read_b");
	ck_assert_str_eq(json_string_value(json_object_get(line, "source")), "served");
	ck_assert_str_eq(json_string_value(json_object_get(line, "connection")), "tcp l>b");
	ck_assert_int_eq(json_integer_value(json_object_get(line, "tid")), 2);
	ck_assert_int_eq(json_integer_value(json_object_get(line, "start_ns")), 10000000);
	ck_assert(json_is_false(json_object_get(line, "unfinished")));
	json_int_t latency_ns = json_integer_value(json_object_get(line, "latency_ns"));
	size_t index;
	json_array_foreach(json_object_get(line, "parts"), index, part) latency_ns -=
		json_integer_value(json_object_get(part, "ns"));
	ck_assert_int_eq(latency_ns, 0);
	part = json_array_get(json_object_get(line, "parts"), 2);
	ck_assert_str_eq(json_string_value(json_object_get(part, "kind")), "lock");
	ck_assert_str_eq(json_string_value(json_object_get(part, "name")), "table");
	ck_assert_str_eq(json_string_value(json_object_get(part, "by")), "n5");
	json_decref(line);
	pathed_free(&pathed);
}
END_TEST

SUITE()
{
	TEST(a_line_has_a_request_and_its_parts);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a request is shown with what a function got in another one. */
#include "report/requestvalues.h"
#include "pathed.h"
#include "report/analysis.h"

#include <jansson.h>

static struct pathed pathed;
static struct analysis analysis;

static uint32_t call(double from_ms)
{
	return sketch_op(&pathed.sketch, KIND_OP_USER, "rebuild", 1, from_ms, from_ms + 0.01);
}

static void value(uint32_t op, const char *name, uint64_t number, bool is_text)
{
	struct rec_link *link =
		&pathed.sketch.rec.links[sketch_bare_link(&pathed.sketch, LINK_VALUE, op, 0)];

	link->ident = sketch_string(&pathed.sketch, name);
	link->result = number;
	link->is_text = is_text;
}

/* Six calls in the second request, of which one has two values. It came when the first one did, and
 * was read at 15.5 ms: a call before that is the first one's. */
static void call_all(void)
{
	pathed_begin(&pathed);
	for (int i = 0; i < 6; i++) {
		uint32_t op = call(20 + 0.1 * i);

		value(op, "depth", (uint64_t)(int64_t)(i - 1), false);
		if (i == 0)
			value(op, "path", sketch_string(&pathed.sketch, "/\"all"), true);
	}
	value(call(12), "depth", 99, false);
	value(call(9), "depth", 98, false);
}

static void end(void)
{
	pathed_end(&pathed);
	analysis = (struct analysis){ .recording = &pathed.sketch.rec,
				      .classes = pathed.sketch.classes };
	analysis.script.requests = pathed.all;
}

static void begin(void)
{
	call_all();
	end();
}

START_TEST(a_line_has_the_first_calls)
{
	struct value_lists lists;
	char *text;

	begin();
	request_values_build(&lists, &analysis);
	text = request_values_text(&lists, &analysis, 1);
	ck_assert_str_eq(text, "rebuild(depth=-1, path=\"/\\\"all\") rebuild(depth=0) "
			       "rebuild(depth=1) rebuild(depth=2) and 2 more calls");
	free(text);
	text = request_values_text(&lists, &analysis, 0);
	ck_assert_str_eq(text, "rebuild(depth=99)");
	free(text);
	value_lists_free(&lists);
	pathed_free(&pathed);
}
END_TEST

START_TEST(real_numbers_are_written)
{
	static const struct {
		double number;
		const char *text, *json;
	} rows[] = {
		/* 0 */ { 0.1, "factor=0.1)", "\"value\":0.10000000000000001}" },
		/* 1 */ { -2.0, "factor=-2)", "\"value\":-2}" },
		/* 2 */ { NAN, "factor=nan)", "\"value\":null}" },
		/* 3 */ { -INFINITY, "factor=-inf)", "\"value\":null}" },
	};
	struct value_lists lists;
	char *text, *array;
	size_t length;
	FILE *file = open_memstream(&array, &length);
	uint64_t bits;

	memcpy(&bits, &rows[_i].number, sizeof(bits));
	call_all();
	value(call(13), "factor", bits, false);
	pathed.sketch.rec.links[pathed.sketch.rec.link_count - 1].is_real = true;
	end();
	request_values_build(&lists, &analysis);
	text = request_values_text(&lists, &analysis, 0);
	ck_assert_ptr_nonnull(strstr(text, rows[_i].text));
	request_values_json(&lists, &analysis, 0, file);
	fclose(file);
	ck_assert_ptr_nonnull(strstr(array, rows[_i].json));
	free(text);
	free(array);
	value_lists_free(&lists);
	pathed_free(&pathed);
}
END_TEST

START_TEST(an_array_has_all)
{
	struct value_lists lists;
	char *text;
	size_t length;
	FILE *file = open_memstream(&text, &length);
	json_t *array, *path;

	begin();
	request_values_build(&lists, &analysis);
	request_values_json(&lists, &analysis, 1, file);
	fclose(file);
	array = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	ck_assert_uint_eq(json_array_size(array), 7);
	path = json_array_get(array, 1);
	ck_assert_str_eq(json_string_value(json_object_get(path, "value")), "/\"all");
	ck_assert_str_eq(json_string_value(json_object_get(path, "name")), "path");
	ck_assert_str_eq(json_string_value(json_object_get(path, "function")), "rebuild");
	ck_assert_int_eq(json_integer_value(json_object_get(path, "length_ns")), 10000);
	json_decref(array);
	free(text);
	value_lists_free(&lists);
	pathed_free(&pathed);
}
END_TEST

SUITE()
{
	TEST(a_line_has_the_first_calls);
	TEST(an_array_has_all);
	LOOP(real_numbers_are_written, 0, 4);
}

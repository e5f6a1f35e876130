/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if the value that makes a call slow is shown among those of the other calls. */
#include "measure/values.h"

#include <math.h>

#include "sketch.h"
#include "suite.h"

enum { CALLS = 40 };

/* A call of so many ms; its value is a link. */
static void call(struct sketch *sketch, const char *name, double from_ms, double taken_ms,
		 uint64_t value, bool is_text)
{
	uint32_t op = sketch_op(sketch, KIND_OP_USER, "rebuild", 0, from_ms, from_ms + taken_ms);
	uint32_t link = sketch_bare_link(sketch, LINK_VALUE, op, 0);

	sketch->rec.links[link].ident = sketch_string(sketch, name);
	sketch->rec.links[link].result = value;
	sketch->rec.links[link].is_text = is_text;
}

/* In the order of their numbers, negative ones and what is no number among them. */
START_TEST(real_numbers_are_in_order)
{
	static const double numbers[] = { 0.5, -2, NAN, -0.25, 1e300, 3, -INFINITY };
	enum { COUNT = sizeof(numbers) / sizeof(numbers[0]) };
	struct sketch sketch;
	struct value_table table;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "t", 0, 10000);
	for (int i = 0; i < COUNT; i++) {
		uint64_t bits;

		memcpy(&bits, &numbers[i], sizeof(bits));
		call(&sketch, "factor", 100 * i, 1 + (i == 0), bits, false);
		sketch.rec.links[sketch.rec.link_count - 1].is_real = true;
	}
	sketch_end(&sketch);
	value_table_build(&table, &sketch.rec, &sketch.classes);
	ck_assert_uint_eq(table.count, 1);
	ck_assert(table.rows[0].is_real && !table.rows[0].is_signed);
	ck_assert_double_eq(value_real(table.rows[0].slow.median), 0.5);
	ck_assert(value_real(table.rows[0].usual.least) == -INFINITY);
	ck_assert_double_eq(value_real(table.rows[0].usual.median), 3);
	ck_assert(isnan(value_real(table.rows[0].usual.most)));
	value_table_free(&table);
	sketch_free(&sketch);
}
END_TEST

START_TEST(slow_calls_are_apart)
{
	struct sketch sketch;
	struct value_table table;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "t", 0, 10000);
	for (int i = 0; i < CALLS; i++) {
		bool is_slow = i == 7 || i == 20;

		call(&sketch, "depth", 100 * i, is_slow ? 50 : 1, is_slow ? 900 : (uint64_t)i,
		     false);
		call(&sketch, "path", 100 * i + 60, is_slow ? 30 : 2,
		     sketch_string(&sketch, is_slow ? "/all"
					    : i % 3 ? "/one"
						    : "/two"),
		     true);
	}
	call(&sketch, "left", 5000, 1, (uint64_t)-5, false);
	call(&sketch, "left", 5010, 2, 3, false);
	sketch_end(&sketch);
	value_table_build(&table, &sketch.rec, &sketch.classes);
	ck_assert_uint_eq(table.count, 3);
	for (size_t i = 0; i < table.count; i++) {
		const struct value_row *row = &table.rows[i];
		const char *name = sketch.rec.strings[row->name];

		ck_assert_uint_eq(row->class, sketch_class(&sketch, "rebuild"));
		if (strcmp(name, "left") == 0) {
			ck_assert(row->is_signed);
			ck_assert_int_eq((int64_t)row->usual.least, -5);
			ck_assert_int_eq((int64_t)row->slow.most, 3);
			continue;
		}
		ck_assert_uint_eq(row->slow.count, 2);
		ck_assert_uint_eq(row->usual.count, CALLS - 2);
		if (row->is_text) {
			ck_assert_str_eq(sketch.rec.strings[row->slow.median], "/all");
			ck_assert_str_eq(sketch.rec.strings[row->usual.median], "/one");
			ck_assert_uint_eq(row->slow.frequent_count, 2);
		} else {
			ck_assert_uint_eq(row->slow.least, 900);
			ck_assert_uint_eq(row->usual.most, CALLS - 1);
			ck_assert_uint_eq(row->slow_ns, 50000000);
		}
	}
	value_table_free(&table);
	sketch_free(&sketch);
}
END_TEST

/* A call that goes on has no length. */
START_TEST(calls_that_go_on_are_left_out)
{
	struct sketch sketch;
	struct value_table table;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "t", 0, 100);
	call(&sketch, "depth", 1, 5, 1, false);
	sketch.rec.extras[sketch.rec.op_count - 1].open = true;
	sketch_end(&sketch);
	value_table_build(&table, &sketch.rec, &sketch.classes);
	ck_assert_uint_eq(table.count, 0);
	value_table_free(&table);
	sketch_free(&sketch);
}
END_TEST

/* Those of another thread, or that reach beyond a request, belong to none. */
START_TEST(values_are_those_of_slow_requests)
{
	struct value_request requests[] = { { 0, 200000000, 300000000, true, 0 },
					    { 0, 0, 100000000, false, 1 },
					    { 1, 0, 900000000, true, 2 } };
	struct sketch sketch;
	struct value_table table;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "t", 0, 1000);
	call(&sketch, "depth", 10, 5, 1, false);
	call(&sketch, "depth", 20, 50, 2, false);
	call(&sketch, "depth", 90, 20, 3, false);
	call(&sketch, "depth", 210, 1, 900, false);
	call(&sketch, "depth", 400, 1, 4, false);
	sketch_end(&sketch);
	value_table_build_in(&table, &sketch.rec, &sketch.classes, requests, 3);
	ck_assert_uint_eq(table.count, 1);
	ck_assert_uint_eq(table.rows[0].slow.count, 1);
	ck_assert_uint_eq(table.rows[0].slow.least, 900);
	ck_assert_uint_eq(table.rows[0].usual.count, 2);
	ck_assert_uint_eq(table.rows[0].usual.most, 2);
	value_table_free(&table);
	sketch_free(&sketch);
}
END_TEST

/* By the caller's numbers of the requests, whatever their order. */
START_TEST(each_request_has_its_own_values)
{
	struct value_request requests[] = { { 0, 200000000, 300000000, true, 0 },
					    { 1, 0, 900000000, true, 1 },
					    { 0, 0, 100000000, false, 2 } };
	static const size_t ends[] = { 0, 1, 1, 3 };
	static const uint64_t values[] = { 900, 1, 2 };
	struct sketch sketch;
	struct value_lists lists;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "t", 0, 1000);
	call(&sketch, "depth", 10, 5, 1, false);
	call(&sketch, "depth", 150, 5, 7, false);
	call(&sketch, "depth", 210, 1, 900, false);
	call(&sketch, "depth", 20, 50, 2, false);
	sketch_end(&sketch);
	value_lists_build(&lists, &sketch.rec, requests, 3);
	for (size_t i = 0; i < 4; i++)
		ck_assert_uint_eq(lists.first[i], ends[i]);
	for (size_t i = 0; i < 3; i++)
		ck_assert_uint_eq(sketch.rec.links[lists.links[i]].result, values[i]);
	value_lists_free(&lists);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(slow_calls_are_apart);
	TEST(real_numbers_are_in_order);
	TEST(calls_that_go_on_are_left_out);
	TEST(values_are_those_of_slow_requests);
	TEST(each_request_has_its_own_values);
}

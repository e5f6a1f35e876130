/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a difference would be printed with another class, sign or unit, or one that may
 * be chance as found.
 */
#include "diff/tables.h"

#include "printed_diff.h"
#include "suite.h"

static struct cost_class table = { .kind = (char *)"hold", .name = (char *)"table" };
static struct cost_class flush = { .kind = (char *)"io", .name = (char *)"flush/write" };
static struct cost_class wait = { .kind = (char *)"mutex",
				  .name = (char *)"table",
				  .is_wait = true };
static struct costs costs = { .unit = UNIT_REQUEST, .recordings = 1 };
static struct difference rows[] = {
	{ .figure = FIGURE_MEAN,
	  .old_value = 1e6,
	  .new_value = 4e6,
	  .delta = 3e6,
	  .least = 2e6,
	  .most = 4e6,
	  .is_found = true },
	{ .figure = FIGURE_CPU,
	  .old_value = 1e6,
	  .new_value = 1.1e6,
	  .delta = 1e5,
	  .least = -1e5,
	  .most = 3e5 },
	{ .figure = FIGURE_CLASS_TIME,
	  .old_class = &table,
	  .new_class = &table,
	  .delta = 1e5,
	  .is_found = true },
	{ .figure = FIGURE_CLASS_COUNT,
	  .new_class = &flush,
	  .new_value = 2.5,
	  .delta = 2.5,
	  .least = 2.4,
	  .most = 2.6,
	  .is_found = true },
	{ .figure = FIGURE_CLASS_TIME,
	  .new_class = &flush,
	  .new_value = 3e6,
	  .delta = 3e6,
	  .least = 2e6,
	  .most = 4e6,
	  .is_found = true },
	{ .figure = FIGURE_CLASS_BLOCKED,
	  .new_class = &flush,
	  .new_value = 2.9e6,
	  .delta = 2.9e6,
	  .is_found = true },
	{ .figure = FIGURE_CLASS_TIME,
	  .old_class = &wait,
	  .new_class = &wait,
	  .delta = -5e5,
	  .is_found = true },
};
static const struct comparison comparison = { .old_costs = &costs,
					      .new_costs = &costs,
					      .rows = rows,
					      .count = 7,
					      .whole_count = 2,
					      .small_count = 3,
					      .small_new_ns = 500 };

static void print(struct emit *emit, const void *context)
{
	(void)context;
	tables_print(&comparison, emit, 10);
}

START_TEST(rows_stand_by_class_the_largest_first)
{
	char *text = printed_diff(EMIT_TEXT, print, NULL);
	const char *const in_order[] = {
		"mean",           "+3.00 ms",
		"may be chance",  "flush/write",
		"count",          "none",
		"2.50",           "+2.50",
		"+2.40 .. +2.60", "time",
		"table",          "held",
		"wait",           "waited",
		"-500 us",        "next to nothing: 3 classes, +500 ns",
	};
	const char *at = text;
	for (size_t i = 0; i < sizeof(in_order) / sizeof(in_order[0]); i++) {
		const char *found = strstr(at, in_order[i]);
		ck_assert_msg(found != NULL, "no \"%s\" in time in:\n%s", in_order[i], text);
		at = found;
	}
	ck_assert_ptr_null(strstr(text, "blocked"));
	free(text);
}
END_TEST

START_TEST(json_has_all_rows)
{
	char *text = printed_diff(EMIT_JSON, print, NULL);
	ck_assert_ptr_nonnull(strstr(text, "\"class\": \"flush/write\",\"kind\": \"io\","
					   "\"figure\": \"count\",\"old\": 0,\"new\": 2.5"));
	ck_assert_ptr_nonnull(strstr(text, "\"figure\": \"blocked\""));
	ck_assert_ptr_nonnull(strstr(text, "\"is_found\": false"));
	free(text);
}
END_TEST

SUITE()
{
	TEST(rows_stand_by_class_the_largest_first);
	TEST(json_has_all_rows);
}

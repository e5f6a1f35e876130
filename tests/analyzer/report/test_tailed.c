/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, the tail would be made of other requests than those that took long, or its
 * timelines would tell of another moment.
 */
#include "report/tailed.h"

#include <stdlib.h>
#include <string.h>

#include "format.h"
#include "report/analysis.h"
#include "report/report.h"
#include "sketch.h"
#include "suite.h"

enum { COUNT = 600, WORK = 0, LOCK = 1, ASK = 2 };

/* Requests of 1 us, each hundredth of 5 us more in a lock. They begin in reverse order. */
struct made {
	struct sketch sketch;
	struct script script;
	struct options options;
	struct analysis analysis;
	struct request requests[COUNT + 1];
	size_t first[COUNT + 2];
	uint32_t part[2 * COUNT + 2];
	uint64_t ns[2 * COUNT + 2];
};

static void make(struct made *made)
{
	*made = (struct made){ .options = { .top = 20, .tail = "" } };
	struct analysis *analysis = &made->analysis;
	size_t parts = 0;
	sketch_begin(&made->sketch);
	sketch_thread(&made->sketch, "main", 0, 100);
	sketch_thread(&made->sketch, "holder", 0, 100);
	uint32_t hold = sketch_hold(&made->sketch, 1, "table", 1, 0, 6);
	uint32_t wait = sketch_wait(&made->sketch, 0, REASON_MUTEX, "table", 1, 6, hold);
	made->sketch.rec.waits[wait].ident = sketch_string(&made->sketch, "table");
	sketch_sleep(&made->sketch, 0, "nap", 6, 8);
	uint32_t table = sketch_string(&made->sketch, "table");
	sketch_end(&made->sketch);
	path_parts_begin(&analysis->paths.parts);
	path_parts_add(&analysis->paths.parts, PATH_CPU, 0, 0);
	path_parts_add(&analysis->paths.parts, PATH_LOCK, table, 0);
	path_parts_add(&analysis->paths.parts, PATH_DOWNSTREAM, 0, 0);
	for (size_t i = 0; i < COUNT; i++) {
		bool is_slow = i % 100 == 0;
		made->first[i] = parts;
		made->part[parts] = WORK;
		made->ns[parts++] = 1000 + i % 3;
		if (is_slow) {
			made->part[parts] = LOCK;
			made->ns[parts++] = 5000;
		}
		made->requests[i] = (struct request){ .start_ns = (COUNT - i) * 10000,
						      .taken_ns = (is_slow ? 6000 : 1000) + i % 3,
						      .thread = NO_INDEX,
						      .of = NO_INDEX };
	}
	made->first[COUNT] = made->first[COUNT + 1] = parts;
	analysis->recording = &made->sketch.rec;
	analysis->options = &made->options;
	analysis->classes = made->sketch.classes;
	script_build(&made->script, &made->sketch.rec, &analysis->classes,
		     &(const struct script_options){ 0 });
	analysis->script = made->script;
	analysis->script.requests = (struct requests){ .requests = made->requests, .count = COUNT };
	analysis->paths.first = made->first;
	analysis->paths.part = made->part;
	analysis->paths.ns = made->ns;
	analysis->paths.count = COUNT;
	analysis->has_paths = true;
}

static void made_free(struct made *made)
{
	script_free(&made->script);
	path_parts_free(&made->analysis.paths.parts);
	sketch_free(&made->sketch);
}

START_TEST(slow_requests_have_more_of_the_lock)
{
	struct made made;
	struct tailed tailed;
	make(&made);
	ck_assert(tailed_build(&tailed, &made.analysis, 99));
	ck_assert_uint_eq(tailed.tail.state, TAIL_KNOWN);
	ck_assert_uint_eq(tailed.tail.tail_count, 6);
	ck_assert_uint_eq(tailed.tail.parts[0].key, LOCK);
	ck_assert_double_eq(tailed.tail.parts[0].more_ns.value, 5000);
	ck_assert_uint_eq(tailed.requests[0], COUNT - 1); /* the first to begin */
	ck_assert_uint_eq(tailed.requests[tailed.tail.examples[TAIL_SLOWEST]] % 100, 0);
	tailed_free(&tailed);
	made.analysis.has_paths = false;
	ck_assert(!tailed_build(&tailed, &made.analysis, 99));
	made_free(&made);
}
END_TEST

/* The other end of a request took part of the time that its thread was asking. */
START_TEST(time_downstream_is_that_of_the_other_end)
{
	struct made made;
	struct tailed tailed;
	make(&made);
	size_t parts = made.first[COUNT];
	made.requests[COUNT] = (struct request){ .class = 1, .taken_ns = 700, .of = NO_INDEX };
	made.analysis.script.requests.count = made.analysis.paths.count = COUNT + 1;
	made.part[parts] = LOCK;
	made.ns[parts] = 700;
	made.first[COUNT + 1] = parts + 1;
	for (size_t i = 0; i < COUNT; i++) {
		made.requests[i].of = COUNT;
		made.part[made.first[i]] = ASK;
	}
	ck_assert(tailed_build(&tailed, &made.analysis, 99));
	for (size_t i = 0; i < tailed.tail.part_count; i++) {
		const struct tail_part *part = &tailed.tail.parts[i];
		ck_assert_uint_ne(part->key, WORK);
		if (part->key == LOCK)
			ck_assert_double_eq(part->body_ns, 700);
		else
			ck_assert_double_lt(part->body_ns, 303);
	}
	tailed_free(&tailed);
	made_free(&made);
}
END_TEST

START_TEST(a_timeline_is_of_its_request)
{
	struct made made;
	uint64_t left_out_ns;
	size_t count;
	make(&made);
	made.requests[0] =
		(struct request){ .start_ns = 2 * SKETCH_MS, .end_ns = 7 * SKETCH_MS, .thread = 0 };
	struct tailed_slice *slices = tailed_slices(&made.analysis, 0, 10, &count, &left_out_ns);
	ck_assert_uint_ge(count, 2);
	ck_assert_uint_eq(slices[0].start_ns, 2 * SKETCH_MS);
	ck_assert_uint_eq(slices[0].end_ns, 6 * SKETCH_MS);
	ck_assert_str_eq(slices[0].state, "blocked");
	ck_assert_str_eq(slices[0].what, "table");
	ck_assert_uint_eq(slices[count - 1].end_ns, 7 * SKETCH_MS);
	ck_assert_str_eq(slices[count - 1].what, "nap");
	ck_assert_uint_eq(left_out_ns, 0);
	free(slices);
	slices = tailed_slices(&made.analysis, 0, 1, &count, &left_out_ns);
	ck_assert_uint_eq(count, 1);
	ck_assert_uint_eq(left_out_ns, SKETCH_MS);
	free(slices);
	made_free(&made);
}
END_TEST

START_TEST(the_report_says_why_it_is_another_percentile)
{
	struct made made;
	struct emit emit;
	char *text = NULL;
	size_t length;
	make(&made);
	made.analysis.script.requests.count = 300;
	FILE *file = open_memstream(&text, &length);
	emit_begin(&emit, file, EMIT_TEXT, 100, false);
	report_tail(&made.analysis, &emit);
	made.analysis.script.requests.count = 40;
	report_tail(&made.analysis, &emit);
	emit_end(&emit);
	fclose(file);
	ck_assert_ptr_nonnull(strstr(text, "300 requests have no p99 that could be told"));
	ck_assert_ptr_nonnull(strstr(text, "around the median"));
	ck_assert_ptr_nonnull(strstr(text, "40 requests are too few: a tail takes 50."));
	free(text);
	made_free(&made);
}
END_TEST

START_TEST(percentiles_are_numbers_in_range)
{
	ck_assert_double_eq(tailed_percent("99"), 99);
	ck_assert_double_eq(tailed_percent("99.9"), 99.9);
	ck_assert_double_eq(tailed_percent("50"), 50);
	static const char *const wrong[] = { "", "49", "100", "p99", "99%", "nan" };
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ck_assert_double_eq(tailed_percent(wrong[i]), 0);
}
END_TEST

SUITE()
{
	TEST(slow_requests_have_more_of_the_lock);
	TEST(time_downstream_is_that_of_the_other_end);
	TEST(a_timeline_is_of_its_request);
	TEST(the_report_says_why_it_is_another_percentile);
	TEST(percentiles_are_numbers_in_range);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, the tail would be made of other requests than those that took long, or its
 * timelines would tell of another moment.
 */
#include "report/tailed.h"

#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "tailing.h"

START_TEST(slow_requests_have_more_of_the_lock)
{
	struct tailing made;
	struct tailed tailed;
	tailing_make(&made);
	ck_assert(tailed_build(&tailed, &made.analysis, 99));
	ck_assert_uint_eq(tailed.tail.state, TAIL_KNOWN);
	ck_assert_uint_eq(tailed.tail.tail_count, 6);
	ck_assert_uint_eq(tailed.tail.parts[0].key, TAILING_LOCK);
	ck_assert_double_eq(tailed.tail.parts[0].more_ns.value, 5000);
	ck_assert_uint_eq(tailed.requests[0], TAILING_COUNT - 1); /* the first to begin */
	ck_assert_uint_eq(tailed.requests[tailed.tail.examples[TAIL_SLOWEST]] % 100, 0);
	tailed_free(&tailed);
	made.analysis.has_paths = false;
	ck_assert(!tailed_build(&tailed, &made.analysis, 99));
	tailing_free(&made);
}
END_TEST

/* The other end of a request took part of the time that its thread was asking. */
START_TEST(time_downstream_is_that_of_the_other_end)
{
	struct tailing made;
	struct tailed tailed;
	tailing_make(&made);
	size_t parts = made.first[TAILING_COUNT];
	made.requests[TAILING_COUNT] =
		(struct request){ .class = 1, .taken_ns = 700, .of = NO_INDEX };
	made.analysis.script.requests.count = made.analysis.paths.count = TAILING_COUNT + 1;
	made.part[parts] = TAILING_LOCK;
	made.ns[parts] = 700;
	made.first[TAILING_COUNT + 1] = parts + 1;
	for (size_t i = 0; i < TAILING_COUNT; i++) {
		made.requests[i].of = TAILING_COUNT;
		made.part[made.first[i]] = TAILING_ASK;
	}
	ck_assert(tailed_build(&tailed, &made.analysis, 99));
	for (size_t i = 0; i < tailed.tail.part_count; i++) {
		const struct tail_part *part = &tailed.tail.parts[i];
		ck_assert_uint_ne(part->key, TAILING_WORK);
		if (part->key == TAILING_LOCK)
			ck_assert_double_eq(part->body_ns, 700);
		else
			ck_assert_double_lt(part->body_ns, 303);
	}
	tailed_free(&tailed);
	tailing_free(&made);
}
END_TEST

START_TEST(the_report_says_why_it_is_another_percentile)
{
	struct tailing made;
	struct emit emit;
	char *text = NULL;
	size_t length;
	tailing_make(&made);
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
	tailing_free(&made);
}
END_TEST

/* A page and other programs have the words of the text. */
START_TEST(json_has_the_sentences)
{
	struct tailing made;
	struct emit emit;
	char *text = NULL;
	size_t length;
	tailing_make(&made);
	FILE *file = open_memstream(&text, &length);
	emit_begin(&emit, file, EMIT_JSON, 0, false);
	report_tail(&made.analysis, &emit);
	emit_end(&emit);
	fclose(file);
	ck_assert_ptr_nonnull(strstr(text, "\"tail_sentences\": ["));
	ck_assert_ptr_nonnull(strstr(text, "The 6 requests from p99 on ("));
	ck_assert_ptr_nonnull(strstr(text, "\"tail_answer\": \"Slow requests (p99: "));
	free(text);
	tailing_free(&made);
}
END_TEST

START_TEST(percentiles_are_numbers_in_range)
{
	ck_assert_double_eq(tailed_percent("99"), 99);
	ck_assert_double_eq(tailed_percent("99.9"), 99.9);
	ck_assert_double_eq(tailed_percent("50"), 50);
	ck_assert_double_eq(tailed_percent("95:db::parse"), 95);
	ck_assert_str_eq(tailed_class("95:db::parse"), "db::parse");
	ck_assert_ptr_null(tailed_class("95"));
	ck_assert_ptr_null(tailed_class("95:"));
	static const char *const wrong[] = { "", "49", "100", "p99", "99%", "nan" };
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ck_assert_double_eq(tailed_percent(wrong[i]), 0);
}
END_TEST

SUITE()
{
	TEST(slow_requests_have_more_of_the_lock);
	TEST(time_downstream_is_that_of_the_other_end);
	TEST(the_report_says_why_it_is_another_percentile);
	TEST(json_has_the_sentences);
	TEST(percentiles_are_numbers_in_range);
}

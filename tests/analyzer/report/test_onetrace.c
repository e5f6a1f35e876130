/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, --trace shows another request than the one asked for, or only a part of it. */
#include "report/onetrace.h"

#include <errno.h>
#include <stdlib.h>

#include "report/report.h"
#include "suite.h"
#include "two_traces.h"

static struct two_traces two;
static struct options options;
static struct analysis analysis;

static void setup(void)
{
	two_traces_begin(&two);
	sketch_end(&two.sketch);
	options = (struct options){ .top = 20 };
	analysis = (struct analysis){ .recording = &two.sketch.rec, .options = &options };
	analysis.classes = two.sketch.classes;
	script_build(&analysis.script, &two.sketch.rec, &two.sketch.classes,
		     &(const struct script_options){ 0 });
}

static void teardown(void)
{
	script_free(&analysis.script);
	sketch_free(&two.sketch);
}

START_TEST(it_has_all_threads)
{
	struct one_trace one;
	char error[OPTIONS_ERROR_BYTES];
	options.trace = "0a000000000000ff";
	ck_assert_int_eq(one_trace_find(&one, &analysis, error), 0);
	ck_assert_uint_eq(one.start_ns, 10 * SKETCH_MS);
	ck_assert_uint_eq(one.end_ns, 13 * SKETCH_MS);
	ck_assert_uint_eq(one.thread_count, 2);
	ck_assert_uint_eq(one.process_count, 1);
	ck_assert_uint_eq(one.span_count, 2);
	ck_assert_int_eq(analysis.script.requests.requests[one.request].source, REQUEST_TRACED);
}
END_TEST

static const struct {
	const char *digits, *words;
} errors[] = {
	/* 0 */ { "0a", "2 ids begin with 0a, the first one is " TRACE_ONE_TEXT },
	/* 1 */ { "77", "no id of the 2 traces here begins with 77" },
	/* 2 */ { "xyz", "\"xyz\" is no id of a trace" },
};

START_TEST(errors_say_what_to_do)
{
	struct one_trace one;
	char error[OPTIONS_ERROR_BYTES];
	options.trace = errors[_i].digits;
	ck_assert_int_eq(one_trace_find(&one, &analysis, error), -EINVAL);
	ck_assert_msg(strstr(error, errors[_i].words) != NULL, "%s", error);
}
END_TEST

START_TEST(the_report_has_both_sides)
{
	struct emit emit;
	char *text = NULL;
	size_t length;
	options.trace = TRACE_ONE_TEXT;
	options.trace_url = "https://x/{trace}";
	FILE *file = open_memstream(&text, &length);
	emit_begin(&emit, file, EMIT_TEXT, 100, false);
	report_trace(&analysis, &emit);
	emit_end(&emit);
	fclose(file);
	ck_assert_ptr_nonnull(strstr(text, "8.00 ms, by 2 threads of 1 process, in 2 spans."));
	ck_assert_ptr_nonnull(strstr(text, "https://x/" TRACE_ONE_TEXT));
	ck_assert_ptr_nonnull(strstr(text, "0000000000000011"));
	ck_assert_ptr_nonnull(strstr(text, "work"));
	free(text);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(it_has_all_threads);
	EACH(errors_say_what_to_do, errors);
	TEST(the_report_has_both_sides);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, an analysis would be of another part of the run than was asked for. Or a mistake
 * in a pattern would not be said.
 */
#include "report/opened.h"

#include "report/analysis.h"
#include "sketch.h"
#include "suite.h"

static struct sketch sketch;

static struct options options_of(const char *class_by, const char *client)
{
	return (struct options){ .class_by = class_by,
				 .client = client,
				 .thread_glob = "",
				 .folded = "",
				 .export = "",
				 .html = "",
				 .to_ns = UINT64_MAX };
}

static void begin(void)
{
	sketch_begin(&sketch);
	sketch_bare_op(&sketch, NO_INDEX, KIND_SLEEP, 3, 0, 100);
	sketch_bare_op(&sketch, NO_INDEX, KIND_SLEEP, 4, 100, 300);
	sketch.rec.ops[1].client = 5;
}

START_TEST(a_part_is_kept)
{
	char error[OPTIONS_ERROR_BYTES];
	struct options options = options_of("function", "n5");
	begin();
	ck_assert_int_eq(opened_select(&sketch.rec, &options, false, error), 0);
	ck_assert_uint_eq(sketch.rec.op_count, 1);
	ck_assert_uint_eq(sketch.rec.ops[0].name, 4);
	options = options_of("function", "nobody");
	ck_assert_int_lt(opened_select(&sketch.rec, &options, false, error), 0);
	ck_assert_ptr_nonnull(strstr(error, "leave no op"));
	sketch_free(&sketch);
}
END_TEST

/* As a dump of a server that nobody asked: it is a recording of any time. */
START_TEST(nothing_is_left_of_nothing)
{
	char error[OPTIONS_ERROR_BYTES];
	struct options options = options_of("function", "");
	sketch_begin(&sketch);
	options.has_span = true;
	options.window = 1;
	ck_assert_int_eq(opened_select(&sketch.rec, &options, true, error), 0);
	options.from_ns = 1;
	ck_assert_int_lt(opened_select(&sketch.rec, &options, true, error), 0);
	sketch_free(&sketch);
}
END_TEST

/* Thirty requests between 100 and 393 ms, of a run of a second. */
static void begin_server(void)
{
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 1000);
	for (int i = 0; i < 30; i++) {
		double at_ms = 100 + 10 * i;
		uint32_t read = sketch_io(&sketch, 0, "read", "tcp 1.0.0.2:8>1.0.0.1:5", 9,
					  at_ms - 5, at_ms);
		sketch_io(&sketch, 0, "write", "tcp 1.0.0.2:8>1.0.0.1:5", 9, at_ms + 2, at_ms + 3);
		sketch.rec.extras[read].accepted = true;
	}
	sketch.rec.end_ns = 1000000000;
}

static const struct {
	const char *what;
	bool is_whole, has_span;
	uint64_t start_ms, end_ms;
} cuts[] = {
	{ "a report", false, false, 100, 393 },
	{ "a report of all", false, true, 0, 1000 },
	{ "another format", true, false, 0, 1000 },
};

START_TEST(a_servers_report_is_of_its_requests)
{
	char error[OPTIONS_ERROR_BYTES];
	struct options options = options_of("function", "");
	begin_server();
	options.has_span = cuts[_i].has_span;
	ck_assert_int_eq(opened_select(&sketch.rec, &options, cuts[_i].is_whole, error), 0);
	const struct rec_op *thread = &sketch.rec.ops[sketch.rec.threads[0].op];
	ck_assert_msg(thread->start_ns == cuts[_i].start_ms * 1000000, "%s", cuts[_i].what);
	ck_assert_msg(thread->end_ns == cuts[_i].end_ms * 1000000, "%s", cuts[_i].what);
	sketch_free(&sketch);
}
END_TEST

/* A master waits for a signal for three seconds. Meanwhile its worker serves for a while. */
static const struct {
	const char *what;
	bool is_whole, is_unexplained;
	enum check_state pinned;
} idle_servers[] = {
	{ "all that was recorded", true, false, CHECK_WITHHOLDS },
	{ "requests", false, false, CHECK_PASSED },
	{ "requests that wait for nobody knows what", false, true, CHECK_WITHHOLDS },
};

START_TEST(who_waits_for_load_keeps_no_answer_back)
{
	char error[OPTIONS_ERROR_BYTES];
	struct options options = options_of("function", "");
	struct analysis analysis;
	sketch_begin(&sketch);
	sketch_thread(&sketch, "master", 0, 3000);
	sketch_thread(&sketch, "worker", 0, 3000);
	sketch_wait(&sketch, 0, REASON_COND, "S", 1, 3000, NO_INDEX);
	for (int i = 0; i < 40; i++) {
		double at_ms = 1000 + 10 * i;
		uint32_t read = sketch_io(&sketch, 1, "read", "tcp 1.0.0.2:8>1.0.0.1:5", 9,
					  i ? at_ms - 1 : 1, at_ms);
		if (idle_servers[_i].is_unexplained)
			sketch_wait(&sketch, 1, REASON_COND, "U", at_ms, at_ms + 8, NO_INDEX);
		else
			sketch_io(&sketch, 1, "sync", "file log", 1, at_ms, at_ms + 8);
		sketch_io(&sketch, 1, "write", "tcp 1.0.0.2:8>1.0.0.1:5", 9, at_ms + 8, at_ms + 9);
		sketch.rec.extras[read].accepted = true;
	}
	sketch.rec.end_ns = 3000000000;
	sketch_end(&sketch);
	options.top = 10;
	options.factors = (struct factor_list){ { 0, 0.5 }, 2 };
	options.class_regex = "";
	options.model = "threads";
	ck_assert_int_eq(opened_select(&sketch.rec, &options, idle_servers[_i].is_whole, error), 0);
	ck_assert_int_eq(analysis_build(&analysis, &sketch.rec, &options, NULL, error), 0);
	const struct check *pinned = &analysis.checks.rows[CHECK_PINNED];
	ck_assert_msg(pinned->state == idle_servers[_i].pinned, "%s: %.1f%% %s",
		      idle_servers[_i].what, pinned->value, pinned->line);
	analysis_free(&analysis);
	sketch_free(&sketch);
}
END_TEST

START_TEST(patterns_that_are_none_are_named)
{
	char error[OPTIONS_ERROR_BYTES];
	struct labels labels;
	struct options options = options_of("colour", "");
	begin();
	ck_assert_int_lt(opened_name(&labels, &sketch.rec, &options, error), 0);
	ck_assert_ptr_nonnull(strstr(error, "--class-by: \"colour\""));
	options = options_of("function", "");
	options.skips = (struct text_list){ { "fine", "(" }, 2 };
	ck_assert_int_lt(opened_name(&labels, &sketch.rec, &options, error), 0);
	ck_assert_ptr_nonnull(strstr(error, "--skip: \"(\" is no regular expression"));
	options.skips.count = 1;
	ck_assert_int_eq(opened_name(&labels, &sketch.rec, &options, error), 0);
	labels_free(&labels);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(a_part_is_kept);
	TEST(nothing_is_left_of_nothing);
	EACH(who_waits_for_load_keeps_no_answer_back, idle_servers);
	EACH(a_servers_report_is_of_its_requests, cuts);
	TEST(patterns_that_are_none_are_named);
}

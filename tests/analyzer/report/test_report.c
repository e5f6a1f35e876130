/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, text and JSON would tell different stories, or a table lack a column.
 */
#include <jansson.h>

#include "cpu_sample.h"
#include "report/reports.h"
#include "suite.h"

static char *report_text(enum emit_format format, struct options *options, bool has_ops)
{
	struct sketch sketch;
	struct analysis analysis;
	struct emit emit;
	char error[OPTIONS_ERROR_BYTES], *text = NULL;
	size_t length;
	sketch_begin(&sketch);
	if (has_ops) {
		uint32_t root = sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 0, 1000000);
		uint32_t hold = sketch_bare_op(&sketch, root, KIND_HOLD, 2, 100000, 900000);
		sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 3, 1500000, 1600000);
		sketch_bare_wait(&sketch, 2, hold, REASON_MUTEX, 1500000, 1550000);
		sketch.rec.ops[hold].outcome = OUTCOME_OK;
	}
	ck_assert_int_eq(analysis_build(&analysis, &sketch.rec, options, NULL, error), 0);
	FILE *file = open_memstream(&text, &length);
	emit_begin(&emit, file, format, 0, false);
	reports_print(&analysis, &emit);
	emit_end(&emit);
	fclose(file);
	analysis_free(&analysis);
	sketch_free(&sketch);
	return text;
}

static struct options sample_options(void)
{
	return (struct options){ .top = 2,
				 .factors = { { 0, 0.5 }, 2 },
				 .dead_air_min_ns = 1000,
				 .chain_depth = 25,
				 .class_regex = "",
				 .client = "",
				 .thread_glob = "",
				 .color = "never" };
}

START_TEST(text_begins_with_the_best_fix)
{
	struct options options = sample_options();
	char *text = report_text(EMIT_TEXT, &options, true);
	ck_assert_msg(strncmp(text, "Fair (drift): If `n2` (", 23) == 0, "%s", text);
	static const char *const parts[] = { "What would a fix buy?",
					     "Where was the time spent?",
					     "What ran on the CPU?",
					     "What did threads wait for?",
					     "Which locks were contended?",
					     "Where did each thread's time go?",
					     "Where did each process's time go?",
					     "Which ops did the end of the run wait for?",
					     "When did nothing run?",
					     "1 gap",
					     "and 1 more; --top",
					     "Makespan",
					     "mutex",
					     "25.8% sooner" };
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		ck_assert_msg(strstr(text, parts[i]) != NULL, "no \"%s\" in:\n%s", parts[i], text);
	free(text);
	options.factors.count = 1;
	text = report_text(EMIT_TEXT, &options, true);
	ck_assert_ptr_nonnull(strstr(text, "sooner."));
	free(text);
}
END_TEST

/* Answers from a replay that is another run; a reason stands in their place. */
START_TEST(answers_are_withheld)
{
	static const char reason[] = "Withheld (drift is 12.5%, the limit is 10%): the report's "
				     "first line says why; --force shows it\n";
	struct sketch sketch;
	struct options options = sample_options();
	struct analysis analysis;
	struct emit emit;
	char error[OPTIONS_ERROR_BYTES], *text = NULL;
	size_t length;
	sketch_begin(&sketch);
	sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 0, 1000000);
	options.what_ifs = (struct text_list){ { "n1*0.5" }, 1 };
	ck_assert_int_eq(analysis_build(&analysis, &sketch.rec, &options, NULL, error), 0);
	analysis.checks.is_withheld = true;
	analysis.checks.gravest = CHECK_DRIFT;
	analysis.checks.rows[CHECK_DRIFT] = (struct check){ .value = 12.5,
							    .state = CHECK_WITHHOLDS,
							    .line = "it is another run" };
	for (int format = EMIT_TEXT; format <= EMIT_JSON; format++) {
		FILE *file = open_memstream(&text, &length);
		emit_begin(&emit, file, (enum emit_format)format, 0, false);
		reports_print(&analysis, &emit);
		emit_end(&emit);
		fclose(file);
		const char *at = strstr(text, "What would a fix buy?");
		if (format == EMIT_TEXT) {
			at = strchr(at, '\n') + 1;
			ck_assert_msg(strncmp(at, reason, sizeof(reason) - 1) == 0, "%s", at);
			ck_assert_ptr_null(strstr(text, "sooner"));
			ck_assert_int_eq(strncmp(text, "Withheld: it is another run; ", 29), 0);
			ck_assert_ptr_nonnull(strstr(text, "drift 12.5% (!)"));
			at = strstr(text, "What would these changes save?");
			ck_assert_ptr_null(strstr(at, "n1*0.5"));
		} else {
			json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
			ck_assert_uint_eq(json_array_size(json_object_get(root, "what_if")), 0);
			ck_assert_uint_eq(json_array_size(json_object_get(root, "asked")), 0);
			ck_assert_str_eq(json_string_value(json_object_get(root, "answers")),
					 "withheld");
			json_t *drift =
				json_array_get(json_object_get(root, "checks"), CHECK_DRIFT);
			ck_assert_str_eq(json_string_value(json_object_get(drift, "state")),
					 "withholds");
			json_decref(root);
		}
		free(text);
	}
	analysis_free(&analysis);
	sketch_free(&sketch);
}
END_TEST

START_TEST(json_has_every_field)
{
	static const char *const fields[] = { "ops",
					      "roots",
					      "open_ops",
					      "dropped_events",
					      "orphan_waits",
					      "trace_span_ns",
					      "actual_makespan_ns",
					      "baseline_makespan_ns",
					      "broken_cycles",
					      "fallback_anchors",
					      "what_if",
					      "asked",
					      "requests",
					      "baseline_p99_ns",
					      "request_answers",
					      "classes",
					      "blocking_chain",
					      "dead_air",
					      "functions",
					      "waits",
					      "locks",
					      "lock_sites",
					      "lock_instances",
					      "threads",
					      "processes",
					      "checks",
					      "answers",
					      "forced_steps",
					      "warnings" };
	static const char *const class_fields[] = {
		"kind",          "class",         "work_type",           "count",
		"total_self_ns", "total_wall_ns", "p50_self_ns",         "p95_self_ns",
		"max_self_ns",   "outcomes",      "duplicate_executions"
	};
	struct options options = sample_options();
	char *text = report_text(EMIT_JSON, &options, true);
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	ck_assert_msg(root != NULL, "%s", text);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		ck_assert_msg(json_object_get(root, fields[i]) != NULL, "no %s", fields[i]);
	json_t *class = json_array_get(json_object_get(root, "classes"), 0);
	for (size_t i = 0; i < sizeof(class_fields) / sizeof(class_fields[0]); i++)
		ck_assert_msg(json_object_get(class, class_fields[i]) != NULL, "no %s",
			      class_fields[i]);
	ck_assert_str_eq(json_string_value(json_object_get(class, "class")), "n2");
	ck_assert_uint_eq(json_array_size(json_object_get(root, "classes")), 2);
	json_t *saved =
		json_object_get(json_array_get(json_object_get(root, "what_if"), 0), "saved_ns");
	ck_assert_int_eq(json_integer_value(json_object_get(saved, "0.5")), 400000);
	static const char *const row_fields[] = { "saved_least_ns",
						  "saved_most_ns",
						  "p50_saved_ns",
						  "p99_saved_ns",
						  "stops_at",
						  "depends_on_lock_order",
						  "depends_on_timeouts",
						  "depends_on_job_order",
						  "depends_on_cpus",
						  "then",
						  "thread_finish_ns",
						  "process_finish_ns" };
	for (size_t i = 0; i < sizeof(row_fields) / sizeof(row_fields[0]); i++)
		ck_assert_msg(json_object_get(json_array_get(json_object_get(root, "what_if"), 0),
					      row_fields[i]) != NULL,
			      "no %s", row_fields[i]);
	ck_assert_int_eq(json_integer_value(json_array_get(
				 json_array_get(json_object_get(root, "dead_air"), 0), 0)),
			 1000000);
	json_decref(root);
	free(text);
}
END_TEST

/* The tables of threads, locks and functions. */
START_TEST(what_ran_and_what_waited_is_in_the_tables)
{
	struct sketch sketch;
	struct options options = sample_options();
	struct analysis analysis;
	struct emit emit;
	char error[OPTIONS_ERROR_BYTES], *text = NULL;
	size_t length;
	const struct labels labels = { .frames = cpu_names };
	cpu_sketch(&sketch);
	options.model = "recorded";
	ck_assert_int_eq(analysis_build(&analysis, &sketch.rec, &options, &labels, error), 0);
	FILE *file = open_memstream(&text, &length);
	emit_begin(&emit, file, EMIT_JSON, 0, false);
	reports_print(&analysis, &emit);
	emit_end(&emit);
	fclose(file);
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL), *row;
	ck_assert_msg(root != NULL, "%s", text);
	row = json_array_get(json_object_get(root, "functions"), 0);
	ck_assert_str_eq(json_string_value(json_object_get(row, "function")), "n11");
	ck_assert_str_eq(json_string_value(json_object_get(row, "class")), "n3");
	ck_assert_int_eq(json_integer_value(json_object_get(row, "self_ns")), 2000000);
	row = json_array_get(json_object_get(root, "threads"), 1);
	ck_assert_str_eq(json_string_value(json_object_get(row, "name")), "n2");
	ck_assert_int_eq(json_integer_value(json_object_get(row, "wall_ns")), 5000000);
	ck_assert_int_eq(json_integer_value(json_object_get(row, "unexplained_ns")), 1000000);
	row = json_object_get(row, "blocked");
	ck_assert_int_eq(json_integer_value(json_object_get(row, "mutex")), 2000000);
	row = json_array_get(json_object_get(root, "processes"), 0);
	ck_assert_int_eq(json_integer_value(json_object_get(row, "pid")), 7);
	ck_assert_int_eq(json_integer_value(json_object_get(row, "cpu_ns")), 4400000);
	row = json_array_get(json_object_get(root, "locks"), 0);
	ck_assert_str_eq(json_string_value(json_object_get(row, "lock")), "n12");
	ck_assert_int_eq(json_integer_value(json_object_get(row, "wait_total_ns")), 2000000);
	row = json_array_get(json_object_get(root, "lock_sites"), 0);
	ck_assert_str_eq(json_string_value(json_object_get(row, "role")), "holds");
	json_decref(root);
	free(text);
	analysis_free(&analysis);
	sketch_free(&sketch);
}
END_TEST

static char *text_of(const struct analysis *analysis)
{
	struct emit emit;
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);
	emit_begin(&emit, file, EMIT_TEXT, 0, false);
	reports_print(analysis, &emit);
	emit_end(&emit);
	fclose(file);
	return text;
}

/* Rows that say what another row says, or that nothing happened; JSON has them all the same. */
START_TEST(text_leaves_out_what_says_nothing)
{
	static struct function functions[] = {
		{ .name = 13, .total_ns = 1000 },
		{ .name = 14, .total_ns = 1000 },
		{ .name = 15, .total_ns = 999, .sampled_ns = 900, .samples = 9 }
	};
	static struct estimate estimates[] = { { .saved_ns = 500, .most_ns = 1e12 },
					       { .saved_ns = 250, .most_ns = 1e12 } };
	struct whatif_row rows[3];
	struct rec_counter counters[] = { { 0, 21, 2 }, { 0, 22, 9 }, { 0, 21, 3 } };
	struct sketch sketch;
	struct options options = sample_options();
	struct analysis analysis;
	char error[OPTIONS_ERROR_BYTES];
	const struct labels labels = { .frames = cpu_names };
	cpu_sketch(&sketch);
	options.model = "recorded";
	sketch.rec.strings[21] = "skipped_brief";
	sketch.rec.strings[22] = "unseen_static";
	sketch.rec.counters = counters;
	sketch.rec.counter_count = 3;
	sketch.rec.strings[16] = "/usr/bin/other";
	struct rec_process process = { .pid = 7, .exe = 16, .op = 0 };
	sketch.rec.processes = &process;
	ck_assert_int_eq(analysis_build(&analysis, &sketch.rec, &options, &labels, error), 0);
	struct whatif whatif = analysis.whatif;
	struct shares shares = analysis.script.shares;
	for (uint32_t i = 0; i < 3; i++)
		rows[i] =
			(struct whatif_row){ .class = analysis.classes.count + i,
					     .estimates = estimates,
					     .same_as = i == 1 ? analysis.classes.count : NO_INDEX,
					     .within = NO_INDEX,
					     .next_class = NO_INDEX };
	analysis.whatif.rows = rows;
	analysis.whatif.row_count = 3;
	analysis.script.shares.functions = functions;
	analysis.script.shares.function_count = 3;
	analysis.waits.rows[0].times.total_ns = 0;
	analysis.locks.rows[0].contended = 0;
	char *text = text_of(&analysis);
	static const char *const parts[] = {
		"skipped_brief        5: calls of kinds that seldom block",
		"\nn13 = n14 ",
		"\nn15 ",
		"= F: ",
		"0.0..100.0%",
		"too few samples",
		"Nothing.\n1 more never made a thread wait.",
		"1 more were acquired, and never waited for.",
		"9 started programs not recorded: linked statically",
		"\nn3 (/usr/bin/other) "
	};
	static const char *const none_of[] = { "\nn14", "repeated", "Roots", "9  unseen_static" };
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		ck_assert_msg(strstr(text, parts[i]) != NULL, "no \"%s\" in:\n%s", parts[i], text);
	for (size_t i = 0; i < sizeof(none_of) / sizeof(none_of[0]); i++)
		ck_assert_msg(!strstr(text, none_of[i]), "\"%s\" in:\n%s", none_of[i], text);
	free(text);
	analysis.whatif = whatif;
	analysis.script.shares = shares;
	sketch.rec.counters = NULL;
	analysis_free(&analysis);
	sketch_free(&sketch);
}
END_TEST

START_TEST(an_empty_recording_is_reported)
{
	struct options options = sample_options();
	char *text = report_text(EMIT_JSON, &options, false);
	json_t *root = json_loads(text, 0, NULL);
	ck_assert_ptr_nonnull(root);
	json_decref(root);
	free(text);
	text = report_text(EMIT_TEXT, &options, false);
	ck_assert_ptr_nonnull(strstr(text, "What would a fix buy?"));
	free(text);
}
END_TEST

SUITE()
{
	TEST(text_begins_with_the_best_fix);
	TEST(answers_are_withheld);
	TEST(json_has_every_field);
	TEST(what_ran_and_what_waited_is_in_the_tables);
	TEST(text_leaves_out_what_says_nothing);
	TEST(an_empty_recording_is_reported);
}

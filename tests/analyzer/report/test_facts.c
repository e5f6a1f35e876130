/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a row would bear another's name or time, or a bad replay pass for a good one.
 */
#include "report/facts.h"

#include <string.h>

#include <errno.h>

#include "sketch.h"
#include "suite.h"

enum { CLASS, FUNCTION };

static struct sketch sketch;
static struct class classes[] = { { .name = 3, .kind = KIND_SLEEP, .op_count = 5 } };
static struct class_times times[] = { { .self = { .total_ns = 70 } } };
static struct function functions[] = { { .name = 4, .total_ns = 90 } };

static struct analysis analysis_of(void)
{
	sketch_begin(&sketch);
	struct analysis analysis = {
		.recording = &sketch.rec,
		.classes = { .classes = classes, .count = 1 },
		.selftime = { .classes = times },
		.actual_makespan_ns = 200,
	};
	analysis.script.shares.functions = functions;
	analysis.script.shares.function_count = 1;
	return analysis;
}

START_TEST(functions_come_behind_the_classes)
{
	const struct analysis analysis = analysis_of();
	ck_assert_str_eq(facts_class_name(&analysis, CLASS), "n3");
	ck_assert_str_eq(facts_class_kind(&analysis, CLASS), "sleep");
	ck_assert_uint_eq(facts_class_self_ns(&analysis, CLASS), 70);
	ck_assert_uint_eq(facts_class_op_count(&analysis, CLASS), 5);
	ck_assert_str_eq(facts_class_name(&analysis, FUNCTION), "n4");
	ck_assert_str_eq(facts_class_kind(&analysis, FUNCTION), "func");
	ck_assert_uint_eq(facts_class_self_ns(&analysis, FUNCTION), 90);
	ck_assert_uint_eq(facts_class_op_count(&analysis, FUNCTION), 0);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_replay_is_off_by_part_of_what_was_recorded)
{
	struct analysis analysis = analysis_of();
	analysis.whatif.recorded.makespan_ns = analysis.whatif.baseline.makespan_ns = 150;
	ck_assert_double_eq(facts_drift_percent(&analysis), -25);
	analysis.has_script = true;
	analysis.script.requests.asking.paused_ns = 100;
	ck_assert_double_eq(facts_recorded_ns(&analysis), 100);
	ck_assert_double_eq(facts_replayed_ns(&analysis), 50);
	ck_assert_double_eq(facts_drift_percent(&analysis), -50);
	/* without what recording took to begin */
	analysis.whatif.baseline.makespan_ns = 140;
	ck_assert_double_eq(facts_replayed_ns(&analysis), 40);
	ck_assert_double_eq(facts_drift_percent(&analysis), -50);
	analysis.actual_makespan_ns = 0;
	ck_assert_double_eq(facts_drift_percent(&analysis), 0);
	sketch_free(&sketch);
}
END_TEST

START_TEST(waits_without_a_cause_are_part_of_those_that_ended)
{
	struct analysis analysis = analysis_of();
	analysis.actual_makespan_ns = 0;
	sketch_bare_wait(&sketch, 0, NO_INDEX, REASON_LOCK, 0, 40);
	sketch_bare_wait(&sketch, 0, NO_INDEX, REASON_LOCK, 40, 100);
	sketch.rec.waits[1].open = true;
	ck_assert_double_eq(facts_unexplained_percent(&analysis), 0);
	analysis.waits.untargeted_ns = 30;
	analysis.waits.total_ns = 300;
	ck_assert_double_eq(facts_unexplained_percent(&analysis), 10);
	analysis.has_script = true;
	analysis.script.unresolved_ns = 10;
	ck_assert_double_eq(facts_unexplained_percent(&analysis), 25);
	/* calls that are no waits */
	analysis.script.unresolved_ns += 10;
	analysis.script.unresolved_calls_ns = 10;
	ck_assert_double_eq(facts_unexplained_percent(&analysis), 40);
	/* one after the other they are not more of the run */
	analysis.actual_makespan_ns = 200;
	ck_assert_double_eq(facts_unexplained_percent(&analysis), 10);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_client_that_is_not_recorded_is_called_one)
{
	struct analysis analysis = analysis_of();
	sketch_thread(&sketch, "main", 0, 1);
	sketch_end(&sketch);
	analysis.classes = sketch.classes;
	analysis.script.clients.count = 1;
	ck_assert_str_eq(facts_thread_name(&analysis, 0), "main");
	ck_assert_str_eq(facts_thread_name(&analysis, 1), "a client");
	sketch_free(&sketch);
}
END_TEST

static const struct {
	uint32_t wanted;
	size_t count;
	const char *said; /* NULL = nothing is wrong */
} wanted[] = {
	/* 0 */ { 0, 7, NULL },
	/* 1 */ { 7, 7, NULL },
	/* 2 */ { 6, 7, "at least 7 of them at once" },
	/* 3 */ { 8, 7, "7 of them, not recorded, is the most" },
};

START_TEST(a_recording_may_not_be_of_so_many_clients)
{
	const struct clients clients = { .asker_count = wanted[_i].count };
	const struct clients_wanted want = { CLIENTS_TAKEN_CLOSED, wanted[_i].wanted };
	char error[OPTIONS_ERROR_BYTES] = "";

	ck_assert_int_eq(facts_clients_check(&clients, &want, error),
			 wanted[_i].said ? -EINVAL : 0);
	if (wanted[_i].said)
		ck_assert_msg(strstr(error, wanted[_i].said), "%s", error);
}
END_TEST

SUITE()
{
	TEST(functions_come_behind_the_classes);
	TEST(a_replay_is_off_by_part_of_what_was_recorded);
	TEST(waits_without_a_cause_are_part_of_those_that_ended);
	TEST(a_client_that_is_not_recorded_is_called_one);
	EACH(a_recording_may_not_be_of_so_many_clients, wanted);
}

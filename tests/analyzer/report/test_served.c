/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, the user of a server would read of its makespan, or of requests that are none.
 */
#include "report/served.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/emit.h"
#include "format.h"
#include "sketch.h"
#include "suite.h"

enum { REQUESTS = 1000, ROWS = 4 };

/* A run of one second with a thousand requests of class 0, ten of each length from 1 to 100 ms.
 * Half of `a_lock` saves most of p99, half of `parse/read` most of the run. `ask/write` of a client
 * would save more. */
struct sample {
	struct rec_op ops[ROWS]; /* one of each class; the last one of a client */
	struct rec_op_extra extras[ROWS];
	struct recording recording;
	struct options options;
	struct request requests[REQUESTS + 1];
	struct estimate estimates[ROWS];
	struct whatif_row rows[ROWS];
	struct class classes[ROWS];
	struct class_times times[ROWS];
	const char *strings[ROWS + 1];
	uint32_t of_op[ROWS];
	struct rec_thread threads[2];
	struct rec_process processes[2];
	struct analysis analysis;
};

static void sample_make(struct sample *sample)
{
	static const char *const names[] = { "", "a_lock", "parse/read", "useless/write",
					     "ask/write" };
	static const uint16_t kinds[] = { KIND_HOLD, KIND_IO, KIND_IO, KIND_IO };
	static const struct estimate estimates[] = {
		{ .saved_ns = 100e6,
		  .least_ns = 100e6,
		  .most_ns = 100e6,
		  .requests = { [REQUEST_P99] = { 40e6, 30e6, 50e6, true } } },
		{ .saved_ns = 200e6,
		  .least_ns = 100e6,
		  .most_ns = 500e6,
		  .requests = { [REQUEST_P99] = { 10e6, 5e6, 15e6, true } } },
		{ .saved_ns = 0 },
		{ .saved_ns = 900e6, .requests = { [REQUEST_P99] = { 90e6, 80e6, 95e6, true } } },
	};
	*sample = (struct sample){ .extras[0].accepted = true };
	memcpy(sample->strings, names, sizeof(names));
	memcpy(sample->estimates, estimates, sizeof(estimates));
	sample->recording = (struct recording){ .ops = sample->ops,
						.extras = sample->extras,
						.op_count = ROWS,
						.threads = sample->threads,
						.thread_count = 2,
						.processes = sample->processes,
						.process_count = 2,
						.strings = sample->strings,
						.kinds = { (const char **)sketch_kinds, 0 } };
	sample->options = (struct options){ .factors = { { 0.5 }, 1 }, .top = 5 };
	for (uint32_t i = 0; i < ROWS; i++) {
		sample->of_op[i] = i;
		sample->classes[i] = (struct class){ .name = i + 1, .kind = kinds[i] };
		sample->rows[i] = (struct whatif_row){ .class = i,
						       .same_as = NO_INDEX,
						       .within = NO_INDEX,
						       .next_class = NO_INDEX,
						       .estimates = &sample->estimates[i] };
	}
	for (size_t i = 0; i < REQUESTS; i++)
		sample->requests[i] = (struct request){ .class = 1,
							.source = REQUEST_SERVED,
							.taken_ns = (i / 10 + 1) * 1000000 };
	sample->requests[REQUESTS] =
		(struct request){ .class = ROWS - 1, .source = REQUEST_ASKED, .op = ROWS - 1 };
	struct analysis *analysis = &sample->analysis;
	analysis->recording = &sample->recording;
	analysis->options = &sample->options;
	analysis->has_script = true;
	analysis->actual_makespan_ns = 1000000000;
	analysis->classes.classes = sample->classes;
	analysis->classes.count = ROWS;
	analysis->classes.of_op = sample->of_op;
	sample->ops[ROWS - 1].thread = sample->threads[1].process = 1;
	analysis->selftime.classes = sample->times;
	analysis->script.requests = (struct requests){ .requests = sample->requests,
						       .count = REQUESTS + 1,
						       .judged_class = 1,
						       .judged_source = REQUEST_SERVED };
	analysis->whatif =
		(struct whatif){ .rows = sample->rows,
				 .row_count = ROWS,
				 .baseline = { .makespan_ns = 1e9,
					       .requests_ns = { [REQUEST_P99] = 100e6 } } };
}

/* One of those that are no recording of a server. */
static void sample_spoil(struct sample *sample, int how)
{
	struct requests *requests = &sample->analysis.script.requests;
	if (how == 0)
		sample->extras[0].accepted = false;
	else if (how == 1)
		requests->judged_class = NO_INDEX;
	else if (how == 2)
		requests->judged_source = REQUEST_LOCK;
	else if (how == 3)
		requests->count = 0;
	else
		sample->analysis.has_script = false;
}

START_TEST(a_batch_program_is_no_server)
{
	struct sample sample;
	struct served served;
	sample_make(&sample);
	ck_assert(served_find(&sample.analysis, &served));
	served_free(&served);
	sample_spoil(&sample, _i);
	ck_assert(!served_find(&sample.analysis, &served));
}
END_TEST

START_TEST(a_program_that_marks_requests_is_one)
{
	struct sample sample;
	struct served served;
	sample_make(&sample);
	sample.extras[0].accepted = false;
	sample.analysis.script.requests.judged_source = REQUEST_MARKED;
	for (size_t i = 0; i < REQUESTS; i++)
		sample.requests[i].source = REQUEST_MARKED;
	ck_assert(served_find(&sample.analysis, &served));
	served_free(&served);
}
END_TEST

static const char figures[] = "1000 requests in 1.00 s, 1000 per second: p50 51.0 ms, p99 100 ms.";

/* A user who records both may change both. */
#define CLIENTS " In recorded clients there is more: 900.0%, if `ask/write` (io) took half as long."

static const struct {
	bool is_withheld, is_p99_withheld;
	double p99_ms[ROWS - 1], saved_ms[ROWS - 1];
	const char *answer; /* behind the figures */
} rows[] = {
	/* 0 */
	{ false,
	  false,
	  { 40, 10, 0 },
	  { 100, 200, 0 },
	  " If `a_lock` (lock) were held half as long, p99 would be 40.0% shorter. Throughput "
	  "would rise most, by 25.0%, if `parse/read` (io) took half as long." CLIENTS },
	/* 1: one for both */
	{ false,
	  false,
	  { 40, 10, 0 },
	  { 500, 200, 0 },
	  " If `a_lock` (lock) were held half as long, p99 would be 40.0% shorter and throughput "
	  "100.0% higher." CLIENTS },
	/* 2: nothing is worth a word */
	{ false,
	  false,
	  { -1, 0, 0 },
	  { 0, 0, 0.01 },
	  " No single class would surely shorten p99. No single class would raise "
	  "throughput." CLIENTS },
	/* 3 */
	{ false,
	  true,
	  { 40, 10, 0 },
	  { 100, 200, 0 },
	  " What would shorten p99 is withheld: the replay of the unchanged run has it wrong by "
	  "70% (--force shows it all the same). Throughput would rise most, by 25.0%, if "
	  "`parse/read` (io) took half as long." CLIENTS },
	/* 4: as far as chance goes */
	{ false,
	  false,
	  { 0.9, 0.8, 0 },
	  { 0, 0, 0.01 },
	  " No single class would surely shorten p99. No single class would raise "
	  "throughput." CLIENTS },
	/* 5 */ { true, false, { 40, 10, 0 }, { 100, 200, 0 }, "" },
};

START_TEST(the_answer_is_a_sentence_of_requests)
{
	struct sample sample;
	struct served served;
	sample_make(&sample);
	sample.analysis.checks.is_withheld = rows[_i].is_withheld;
	sample.analysis.checks.is_figure_withheld[REQUEST_P99] = rows[_i].is_p99_withheld;
	sample.analysis.checks.figure_off[REQUEST_P99] = 70;
	for (size_t i = 0; i < ROWS - 1; i++) {
		double saved_ns = 1e6 * rows[_i].p99_ms[i];
		sample.estimates[i].requests[REQUEST_P99] =
			(struct shortened){ saved_ns, saved_ns - 1e6, saved_ns + 1e6, true };
		sample.estimates[i].saved_ns = 1e6 * rows[_i].saved_ms[i];
	}
	ck_assert(served_find(&sample.analysis, &served));
	char *sentence = served_sentence(&sample.analysis, &served);
	ck_assert_msg(strncmp(sentence, figures, strlen(figures)) == 0, "%s", sentence);
	ck_assert_str_eq(sentence + strlen(figures), rows[_i].answer);
	free(sentence);
	served_free(&served);
}
END_TEST

/* Else a server that was idle for half of the time would seem to gain half as much. */
START_TEST(rates_and_gains_are_of_the_time_without_pauses)
{
	static const char half[] = "1000 requests in 500 ms, 2000 per second: p50 51.0 ms";
	static const char gain[] = "Throughput would rise most, by 66.7%, if `parse/read`";
	struct sample sample;
	struct served served;
	sample_make(&sample);
	sample.analysis.script.requests.asking.paused_ns = 500000000;
	ck_assert(served_find(&sample.analysis, &served));
	char *sentence = served_sentence(&sample.analysis, &served);
	ck_assert_msg(strncmp(sentence, half, strlen(half)) == 0, "%s", sentence);
	ck_assert_msg(strstr(sentence, gain) != NULL, "%s", sentence);
	free(sentence);
	served_free(&served);
}
END_TEST

START_TEST(few_requests_have_no_p99)
{
	static const char said[] = "1000 requests in 1.00 s, 1000 per second: p50 51.0 ms. ";
	struct sample sample;
	struct served served;
	sample_make(&sample);
	ck_assert(served_find(&sample.analysis, &served));
	served.recorded.ns[REQUEST_P99] = NAN;
	char *sentence = served_sentence(&sample.analysis, &served);
	ck_assert_msg(strncmp(sentence, said, strlen(said)) == 0, "%s", sentence);
	free(sentence);
	served_free(&served);
}
END_TEST

static const struct {
	double p99_ms[ROWS - 1], saved_ms[ROWS - 1];
	size_t top; /* 0: not asked for */
	const char *text;
} lists[] = {
	/* 0: the same rows */
	{ { 40, 10, 0 },
	  { 100, 200, 0 },
	  0,
	  "Best for p99 and for throughput:\n"
	  "class       kind  p50 saved       p99 saved  throughput (range)\n"
	  "a_lock      hold          -  40.0 ms  40.0%  +11.1%\n"
	  "parse/read  io            -  10.0 ms  10.0%  +25.0%\n" },
	/* 1: a list is not shorter for what the other one has */
	{ { 40, 30, 0 },
	  { 0, 200, 100 },
	  0,
	  "Best for p99:\n"
	  "class       kind  p50 saved       p99 saved  throughput (range)\n"
	  "a_lock      hold          -  40.0 ms  40.0%  +0.0%\n"
	  "parse/read  io            -  30.0 ms  30.0%  +25.0%\n"
	  "Best for throughput:\n"
	  "class          kind  p50 saved       p99 saved  throughput (range)\n"
	  "parse/read     io            -  30.0 ms  30.0%  +25.0%\n"
	  "useless/write  io            -              ~0  +11.1%\n"
	  "1 of them is in both lists.\n" },
	/* 2: nothing would shorten p99 */
	{ { 0, 0, 0 },
	  { 0, 200, 0 },
	  0,
	  "Best for throughput:\n"
	  "class       kind  p50 saved  p99 saved  throughput (range)\n"
	  "parse/read  io            -         ~0  +25.0%\n" },
	/* 3 */
	{ { 40, 10, 0 },
	  { 100, 200, 0 },
	  1,
	  "Best for p99:\n"
	  "class   kind  p50 saved       p99 saved  throughput (range)\n"
	  "a_lock  hold          -  40.0 ms  40.0%  +11.1%\n"
	  "Best for throughput:\n"
	  "class       kind  p50 saved       p99 saved  throughput (range)\n"
	  "parse/read  io            -  10.0 ms  10.0%  +25.0%\n" },
};

START_TEST(each_list_has_its_own_best)
{
	struct sample sample;
	struct served served;
	struct emit emit;
	char *text = NULL;
	size_t length;
	sample_make(&sample);
	if (lists[_i].top) {
		sample.options.top = lists[_i].top;
		sample.options.has_top = true;
	}
	for (size_t i = 0; i < ROWS - 1; i++) {
		double saved_ns = 1e6 * lists[_i].p99_ms[i], run_ns = 1e6 * lists[_i].saved_ms[i];
		sample.estimates[i] = (struct estimate){ .saved_ns = run_ns,
							 .least_ns = run_ns,
							 .most_ns = run_ns };
		sample.estimates[i].requests[REQUEST_P99] =
			(struct shortened){ saved_ns, saved_ns - 1e6, saved_ns + 1e6, true };
	}
	ck_assert(served_find(&sample.analysis, &served));
	FILE *file = open_memstream(&text, &length);
	emit_begin(&emit, file, EMIT_TEXT, 100, false);
	served_print_fixes(&sample.analysis, &served, &emit);
	emit_end(&emit);
	fclose(file);
	const char *heading =
		"\nWhat would a fix buy? (to requests, if a class takes half as long)\n";
	ck_assert_msg(strncmp(text, heading, strlen(heading)) == 0, "%s", text);
	ck_assert_str_eq(text + strlen(heading), lists[_i].text);
	free(text);
	served_free(&served);
}
END_TEST

SUITE()
{
	LOOP(a_batch_program_is_no_server, 0, 5);
	TEST(a_program_that_marks_requests_is_one);
	TEST(rates_and_gains_are_of_the_time_without_pauses);
	TEST(few_requests_have_no_p99);
	EACH(the_answer_is_a_sentence_of_requests, rows);
	EACH(each_list_has_its_own_best, lists);
}

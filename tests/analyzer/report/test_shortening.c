/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, noise would be printed as a saving of requests, or a figure that nobody knows be
 * given as one that is known.
 */
#include "report/shortening.h"

#include <stdlib.h>
#include <string.h>

#include "format.h"
#include "report/analysis.h"
#include "sketch.h"
#include "suite.h"

enum { ROWS = 3, REQUESTS = 1000 };

struct made {
	struct sketch sketch;
	struct analysis analysis;
	struct options options;
	struct request requests[REQUESTS];
	struct whatif_row rows[ROWS];
	struct estimate estimates[ROWS];
};

/* Of 100 us each: the first row saves 30, the second perhaps something, the third the median. */
static void make(struct made *made, size_t count)
{
	static const char *const names[ROWS] = { "table", "noise", "parse" };
	*made = (struct made){ .options = { .factors = { { 0.5 }, 1 } } };
	sketch_begin(&made->sketch);
	sketch_thread(&made->sketch, "main", 0, 100);
	for (size_t i = 0; i < ROWS; i++)
		sketch_op(&made->sketch, KIND_CALL, names[i], 0, 10.0 * (double)i,
			  10.0 * (double)i + 5);
	sketch_end(&made->sketch);
	struct analysis *analysis = &made->analysis;
	analysis->recording = &made->sketch.rec;
	analysis->options = &made->options;
	analysis->classes = made->sketch.classes;
	for (size_t i = 0; i < ROWS; i++) {
		struct shortened told = { 30e3, 20e3, 40e3, true },
				 noise = { 25e3, -5e3, 60e3, true };
		struct estimate *estimate = &made->estimates[i];
		*estimate = (struct estimate){ .saved_ns = 4e6, .least_ns = i == 1 ? -1 : 3e6 };
		for (size_t f = 0; f < REQUEST_FIGURES; f++)
			estimate->requests[f] =
				i == 0 || (i == 2 && f == REQUEST_P50) ? told : noise;
		made->rows[i] = (struct whatif_row){ .class = sketch_class(&made->sketch, names[i]),
						     .same_as = NO_INDEX,
						     .is_sure = true,
						     .estimates = estimate };
	}
	for (size_t i = 0; i < count; i++)
		made->requests[i] =
			(struct request){ .class = made->rows[2].class, .taken_ns = 100000 };
	analysis->script.requests = (struct requests){ .requests = made->requests,
						       .count = count,
						       .judged_class = made->rows[2].class,
						       .judged_count = count };
	analysis->whatif =
		(struct whatif){ .rows = made->rows,
				 .row_count = ROWS,
				 .baseline = { .makespan_ns = 20e6,
					       .requests_ns = { 100e3, 100e3, 100e3, 100e3 } } };
}

static char *print(struct made *made, enum emit_format format)
{
	char *text = NULL;
	size_t length;
	struct emit emit;
	FILE *file = open_memstream(&text, &length);
	emit_begin(&emit, file, format, 0, false);
	shortening_emit(&made->analysis, &emit);
	emit_end(&emit);
	fclose(file);
	sketch_free(&made->sketch);
	return text;
}

static void expect(const char *text, const char *part, bool is_there)
{
	ck_assert_msg((strstr(text, part) != NULL) == is_there, "\"%s\": %s", part, text);
}

START_TEST(noise_is_no_saving)
{
	struct made made;
	make(&made, REQUESTS);
	char *text = print(&made, EMIT_TEXT);
	expect(text, "30.0 us  30.0%", true);
	expect(text, "20..40%", true);
	expect(text, "~0", true); /* of parse, all but the median */
	expect(text, "25.0 us", false);
	expect(text, "noise", false);
	expect(text, "withheld", false);
	free(text);
}
END_TEST

START_TEST(unknown_figures_are_left_out_with_the_cause)
{
	struct made made;
	make(&made, 100);
	char *text = print(&made, EMIT_TEXT);
	expect(text, "Savings of p99 are withheld: 100 requests are too few, it takes 401.", true);
	expect(text, "p95 range", true);
	free(text);
	make(&made, REQUESTS);
	made.analysis.checks.is_figure_withheld[REQUEST_P99] = true;
	made.analysis.checks.figure_off[REQUEST_P99] = 83;
	text = print(&made, EMIT_TEXT);
	expect(text, "p99 are withheld: the replay of the unchanged run has it wrong by 83%", true);
	free(text);
	make(&made, REQUESTS);
	made.analysis.checks.is_figure_withheld[REQUEST_P99] = true;
	made.analysis.checks.handed_percent = 24;
	text = print(&made, EMIT_TEXT);
	expect(text, "p99 are withheld: a loop answers 24% of the requests when one of several",
	       true);
	free(text);
	make(&made, REQUESTS);
	for (size_t i = 0; i < 20; i++)
		made.requests[i] = (struct request){ .class = made.requests[0].class,
						     .taken_ns = 1000000,
						     .is_unfinished = true };
	text = print(&made, EMIT_JSON);
	expect(text, "20 of 1000 requests were not finished", true);
	expect(text, "\"p99_saved_ns\": null", true);
	expect(text, "\"p95_saved_ns\": 30000", true);
	expect(text, "\"per_second\": 62500", true);
	free(text);
}
END_TEST

START_TEST(nothing_is_said_of_answers_that_are_withheld)
{
	struct made made;
	make(&made, REQUESTS);
	made.analysis.checks.is_withheld = true;
	char *text = print(&made, EMIT_TEXT);
	expect(text, "table", false);
	expect(text, "Savings", false); /* that is said elsewhere */
	free(text);
}
END_TEST

SUITE()
{
	TEST(noise_is_no_saving);
	TEST(unknown_figures_are_left_out_with_the_cause);
	TEST(nothing_is_said_of_answers_that_are_withheld);
}

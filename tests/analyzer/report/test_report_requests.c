/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, what a server asks a database would count as what its clients ask, and requests
 * per second would be twice as many.
 */
#include "report/report.h"

#include "sketch.h"
#include "suite.h"

enum { OUTER = 3, INNER = 5 };

START_TEST(questions_on_behalf_of_others_are_counted_apart)
{
	struct request list[OUTER + INNER] = { 0 };
	struct options options = { .factors = { { 0.5 }, 1 } };
	struct analysis analysis = { .options = &options, .actual_makespan_ns = 1000000000 };
	struct sketch sketch;
	struct emit emit;
	char *text = NULL;
	size_t length = 0;

	sketch_begin(&sketch);
	sketch_thread(&sketch, "client", 0, 10);
	sketch_io(&sketch, 0, "write", "tcp a>b", 1, 1, 2);
	sketch_end(&sketch);
	for (size_t i = 0; i < OUTER + INNER; i++)
		list[i] = (struct request){ .class = sketch_class(&sketch, "write"),
					    .source = REQUEST_ASKED,
					    .of = NO_INDEX,
					    .taken_ns = 1000000,
					    .is_part = i >= OUTER };
	analysis.recording = &sketch.rec;
	analysis.classes = sketch.classes;
	analysis.script.class_count = sketch.classes.count;
	analysis.script.requests = (struct requests){ .requests = list,
						      .count = OUTER + INNER,
						      .judged_class = list[0].class,
						      .judged_source = REQUEST_ASKED,
						      .judged_count = OUTER };
	FILE *file = open_memstream(&text, &length);
	emit_begin(&emit, file, EMIT_JSON, 0, false);
	report_requests(&analysis, &emit);
	emit_end(&emit);
	fclose(file);
	const char *first = strstr(text, "\"is_judged\": true");
	ck_assert_ptr_nonnull(strstr(text, "\"count\": 3"));
	ck_assert_ptr_nonnull(strstr(text, "\"count\": 5"));
	ck_assert_ptr_nonnull(first);
	ck_assert_ptr_null(strstr(first + 1, "\"is_judged\": true"));
	free(text);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(questions_on_behalf_of_others_are_counted_apart);
}

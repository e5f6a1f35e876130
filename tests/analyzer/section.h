/* SPDX-License-Identifier: Apache-2.0 */
/* The data of one section of the page, as JSON: for the tests of what puts them. */
#ifndef WCPROF_TESTS_SECTION_H
#define WCPROF_TESTS_SECTION_H

#include "sketch.h"

#include "base/emit.h"
#include "export/walk.h"
#include "report/analysis.h"
#include "suite.h"

#include <jansson.h>

/* To be freed by json_decref(). */
static inline json_t *section_of(struct sketch *sketch,
				 void (*put)(const struct analysis *, struct emit *))
{
	const struct options options = { .factors = { { 0 }, 1 },
					 .class_regex = "",
					 .client = "",
					 .thread_glob = "",
					 .model = "threads",
					 .top = 20 };
	struct analysis analysis;
	struct emit emit;
	char error[OPTIONS_ERROR_BYTES], *text = NULL;
	size_t length = 0;
	FILE *file = open_memstream(&text, &length);
	ck_assert_int_eq(analysis_build(&analysis, &sketch->rec, &options, NULL, error), 0);
	emit_begin(&emit, file, EMIT_JSON, 0, false);
	put(&analysis, &emit);
	emit_end(&emit);
	fclose(file);
	analysis_free(&analysis);
	json_t *data = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	ck_assert_msg(data != NULL, "no JSON: %s", text);
	free(text);
	return data;
}

/* Number `index` of the list `key`. */
static inline json_int_t section_number(const json_t *data, const char *key, size_t index)
{
	const json_t *list = json_object_get(data, key);
	ck_assert_msg(index < json_array_size(list), "%s has no %zu", key, index);
	return json_integer_value(json_array_get(list, index));
}

/* Text `index` of the list `key`. */
static inline const char *section_text(const json_t *data, const char *key, size_t index)
{
	return json_string_value(json_array_get(json_object_get(data, key), index));
}

/* Main and two workers; one has the lock M from 10 ms to 40 ms, the other waits for it from 15 ms,
 * then has it until 60 ms. */
static inline void section_sketch(struct sketch *sketch)
{
	sketch_begin(sketch);
	sketch_join_two(sketch, "worker", "worker", 50, 60);
	uint32_t hold = sketch_hold(sketch, 1, "M", 1, 10, 40);
	uint32_t wait = sketch_wait(sketch, 2, REASON_MUTEX, "M", 15, 40, hold);
	sketch->rec.waits[wait].holder = 1;
	sketch->rec.waits[wait].ident = sketch_string(sketch, "M");
	sketch_hold(sketch, 2, "M", 2, 40, 60);
	sketch_end(sketch);
}

/* In a walk of this alone, each wait ended with the end of its target. */
static inline void section_wakers(struct walk *walk)
{
	const struct recording *recording = walk->recording;
	walk->wakers->of_wait = memory_new(recording->wait_count, sizeof(struct waker));
	walk->wakers->of_op = memory_new(recording->op_count, sizeof(struct waker));
	for (size_t i = 0; i < recording->wait_count; i++)
		if (recording->waits[i].target != NO_INDEX)
			walk->wakers->of_wait[i] =
				(struct waker){ WAKER_OP_END, recording->waits[i].target };
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server of which all is known, for the tests of paths, in milliseconds. Its thread 1 is an event
 * loop: a poll to 10 finds the connections a and b.
 *
 *     a    read 10 to 10.5, sleeps until 15, answers until 15.5
 *     b    read 15.5 to 16, waits for "table" until 19, has it until 20, asks d until 20.5, has the
 *          answer at 24, answers until 24.5
 *
 * Thread 2 has the table from 12 to 19, from site 5. Request 0 is of a, 1 of b, 2 of d. A test may
 * add to the sketch between pathed_begin() and pathed_end().
 */
#ifndef WCPROF_TESTS_PATHED_H
#define WCPROF_TESTS_PATHED_H

#include "sketch.h"

#include "paths/requestpaths.h"
#include "suite.h"

enum { PATHED_REQUESTS = 16, PATHED_SITE = 5 };

struct pathed {
	struct sketch sketch;
	struct request requests[PATHED_REQUESTS];
	struct stamp_place places[2 * PATHED_REQUESTS];
	uint8_t has_places[SKETCH_MAX / 8];
	struct requests all;
	struct waker of_wait[64];
	struct waker of_op[SKETCH_MAX];
	struct wakers wakers;
	uint32_t sites[SKETCH_STACKS];
	struct timeline timeline;
	struct request_paths_of of;
	uint32_t wait; /* for the table */
};

/* From an op's end, or its begin, to another one's end; NO_INDEX = it has none. */
static inline uint32_t pathed_request(struct pathed *pathed, enum request_source source,
				      uint32_t from, enum stamp_point point, uint32_t to,
				      double start_ms)
{
	struct recording *rec = &pathed->sketch.rec;
	uint32_t index = (uint32_t)pathed->all.count++;
	uint64_t start_ns = (uint64_t)(start_ms * 1e6);
	uint64_t end_ns = to == NO_INDEX ? rec->end_ns : rec->ops[to].end_ns;

	assert(index < PATHED_REQUESTS);
	pathed->requests[index] = (struct request){
		.source = source,
		.start_ns = start_ns,
		.early_ns = start_ns,
		.end_ns = end_ns,
		.taken_ns = end_ns - start_ns,
		.op = from,
		.thread = rec->ops[from].thread,
		.connection = rec->ops[from].ident,
		.of = NO_INDEX,
		.is_unfinished = to == NO_INDEX,
	};
	pathed->places[pathed->all.place_count++] = (struct stamp_place){ from, 2 * index, point };
	if (to != NO_INDEX)
		pathed->places[pathed->all.place_count++] =
			(struct stamp_place){ to, 2 * index + 1, STAMP_END };
	return index;
}

static inline void pathed_begin(struct pathed *pathed)
{
	struct sketch *sketch = &pathed->sketch;

	*pathed = (struct pathed){ 0 };
	sketch_begin(sketch);
	sketch_thread(sketch, "main", 0, 40);
	sketch_thread(sketch, "loop", 0, 40);
	sketch_thread(sketch, "holder", 0, 40);
	uint32_t poll = sketch_op(sketch, KIND_POLL, "poll", 1, 0, 10);
	uint32_t read_a = sketch_io(sketch, 1, "read_a", "tcp l>a", 1, 10, 10.5);
	sketch_sleep(sketch, 1, "slow", 10.5, 15);
	uint32_t write_a = sketch_io(sketch, 1, "write_a", "tcp l>a", 1, 15, 15.5);
	uint32_t read_b = sketch_io(sketch, 1, "read_b", "tcp l>b", 1, 15.5, 16);
	uint32_t hold = sketch_hold(sketch, 2, "table", PATHED_SITE, 12, 19);
	pathed->wait = sketch_wait(sketch, 1, REASON_MUTEX, "table", 16, 19, hold);
	sketch->rec.waits[pathed->wait].ident = sketch_string(sketch, "table");
	sketch_hold(sketch, 1, "table", 1, 19, 20);
	uint32_t ask = sketch_io(sketch, 1, "ask", "tcp l>d", 1, 20, 20.5);
	uint32_t hear = sketch_io(sketch, 1, "hear", "tcp l>d", 1, 20.5, 24);
	uint32_t write_b = sketch_io(sketch, 1, "write_b", "tcp l>b", 1, 24, 24.5);
	uint32_t last = sketch_op(sketch, KIND_POLL, "poll", 1, 25, 40);
	sketch->rec.extras[poll].fd = sketch->rec.extras[last].fd = -1;
	pathed_request(pathed, REQUEST_SERVED, read_a, STAMP_BEGIN, write_a, 10);
	pathed_request(pathed, REQUEST_SERVED, read_b, STAMP_BEGIN, write_b, 10);
	pathed_request(pathed, REQUEST_ASKED, ask, STAMP_BEGIN, hear, 20);
	pathed->of_wait[pathed->wait] = (struct waker){ WAKER_OP_END, hold };
}

static inline int pathed_compare(const void *left, const void *right)
{
	const struct stamp_place *a = left, *b = right;

	if (a->op != b->op)
		return a->op < b->op ? -1 : 1;
	return a->point < b->point ? -1 : a->point > b->point;
}

static inline void pathed_end(struct pathed *pathed)
{
	struct sketch *sketch = &pathed->sketch;

	sketch_end(sketch);
	for (uint32_t i = 0; i < SKETCH_STACKS; i++)
		pathed->sites[i] = i;
	for (size_t i = 0; i < pathed->all.count; i++)
		pathed->requests[i].class = sketch->classes.of_op[pathed->requests[i].op];
	qsort(pathed->places, pathed->all.place_count, sizeof(*pathed->places), pathed_compare);
	for (size_t i = 0; i < pathed->all.place_count; i++)
		pathed->has_places[pathed->places[i].op / 8] |=
			(uint8_t)(1 << pathed->places[i].op % 8);
	pathed->all.requests = pathed->requests;
	pathed->all.places = pathed->places;
	pathed->all.has_places = pathed->has_places;
	pathed->all.judged_class = pathed->requests[1].class;
	pathed->all.judged_source = REQUEST_SERVED;
	pathed->wakers = (struct wakers){ .of_wait = pathed->of_wait, .of_op = pathed->of_op };
	timeline_build(&pathed->timeline, &sketch->rec);
	pathed->of = (struct request_paths_of){ .recording = &sketch->rec,
						.timeline = &pathed->timeline,
						.wakers = &pathed->wakers,
						.requests = &pathed->all,
						.classes = &sketch->classes,
						.sites = pathed->sites };
}

static inline void pathed_free(struct pathed *pathed)
{
	timeline_free(&pathed->timeline);
	sketch_free(&pathed->sketch);
}

/* " kind name/by ms", the longest first. */
static inline void pathed_print(char *to, const struct pathed *pathed,
				const struct request_paths *paths, uint32_t request)
{
	const char **strings = pathed->sketch.rec.strings;

	*to = '\0';
	for (size_t i = paths->first[request]; i < paths->first[request + 1]; i++) {
		struct path_part part = path_parts_at(&paths->parts, paths->part[i]);

		to += sprintf(to, " %s %s/%s %g", path_kind_word(part.kind), strings[part.name],
			      strings[part.by], (double)paths->ns[i] / SKETCH_MS);
	}
}

static inline void pathed_expect(struct pathed *pathed, uint32_t request, const char *expected)
{
	struct request_paths paths;
	char text[1024];

	request_paths_build(&paths, &pathed->of);
	pathed_print(text, pathed, &paths, request);
	ck_assert_str_eq(text, expected);
	ck_assert(request_paths_are_valid(&paths, &pathed->all));
	request_paths_free(&paths);
}

#endif

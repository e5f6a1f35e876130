/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, time of one request is shown as another one's. */
#include "export/request_spans.h"
#include "sketch.h"
#include "suite.h"

enum { ROW_REQUESTS = 3, ROW_SPANS = 4 };

struct span {
	double from_ms, to_ms;
	uint32_t op; /* the request's, of these rows */
};

static const struct {
	struct span requests[ROW_REQUESTS]; /* in order of their begin; `op`: the source */
	struct span spans[ROW_SPANS];
} rows[] = {
	/* 0 */ { { { 0, 0, 0 } }, { { 0, 0, 0 } } },
	/* 1: one after the other */
	{ { { 0, 4, REQUEST_SERVED }, { 4, 6, REQUEST_SERVED } }, { { 0, 4, 0 }, { 4, 6, 1 } } },
	/* 2: the outermost counts, of those that begin together too */
	{ { { 0, 9, REQUEST_SERVED }, { 0, 2, REQUEST_ASKED }, { 3, 9, REQUEST_ASKED } },
	  { { 0, 9, 0 } } },
	/* 3: where two overlap neither counts */
	{ { { 0, 4, REQUEST_SERVED }, { 3, 6, REQUEST_SERVED } }, { { 0, 3, 0 }, { 4, 6, 1 } } },
	/* 4: nor where three do */
	{ { { 0, 6, REQUEST_SERVED }, { 2, 7, REQUEST_SERVED }, { 4, 9, REQUEST_SERVED } },
	  { { 0, 2, 0 }, { 7, 9, 2 } } },
	/* 5: a lock is no request */
	{ { { 0, 4, REQUEST_LOCK }, { 1, 3, REQUEST_MARKED } }, { { 1, 3, 1 } } },
};

/* Each on thread 1, and again on thread 2, a millisecond later. */
static uint32_t add_requests(struct sketch *sketch, struct requests *requests, size_t row)
{
	static struct request all[2 * ROW_REQUESTS];
	uint32_t count = 0;
	for (uint32_t i = 0; i < 2 * ROW_REQUESTS; i++) {
		const struct span *from = &rows[row].requests[i % ROW_REQUESTS];
		uint32_t later = i / ROW_REQUESTS;
		if (from->to_ms == 0)
			continue;
		uint32_t op = sketch_op(sketch, KIND_IO, "read", 1 + later, from->from_ms + later,
					from->to_ms + later);
		all[count++] = (struct request){
			.class = i,
			.source = (enum request_source)from->op,
			.start_ns = (uint64_t)((from->from_ms + later) * 1e6),
			.end_ns = (uint64_t)((from->to_ms + later) * 1e6),
			.op = op,
		};
	}
	*requests = (struct requests){ .requests = all, .count = count };
	return count;
}

START_TEST(threads_work_for_one_at_a_time)
{
	struct sketch sketch;
	struct requests requests;
	struct request_spans spans;
	size_t count = 0;
	sketch_begin(&sketch);
	for (int i = 0; i < 3; i++)
		sketch_thread(&sketch, "t", 0, 20);
	add_requests(&sketch, &requests, (size_t)_i);
	struct walk walk = { .recording = &sketch.rec, .requests = &requests };
	request_spans_build(&spans, &walk);
	for (uint32_t i = 0; i < 2 * ROW_SPANS; i++) {
		const struct span *expected = &rows[_i].spans[i % ROW_SPANS];
		uint32_t later = i / ROW_SPANS, thread = 1 + later;
		if (expected->to_ms == 0)
			continue;
		ck_assert_uint_lt(count, spans.count);
		const struct request_span *span = &spans.spans[count++];
		uint64_t from_ns = (uint64_t)((expected->from_ms + later) * 1e6);
		uint64_t to_ns = (uint64_t)((expected->to_ms + later) * 1e6);
		ck_assert_uint_eq(span->thread, thread);
		ck_assert_uint_eq(span->start_ns, from_ns);
		ck_assert_uint_eq(span->end_ns, to_ns);
		const struct walk_request *request = request_spans_at(&spans, thread, from_ns);
		ck_assert_ptr_eq(request, &spans.requests[span->request]);
		ck_assert_uint_eq(request->class, expected->op + later * ROW_REQUESTS);
		ck_assert_ptr_eq(request_spans_at(&spans, thread, to_ns - 1), request);
		ck_assert_ptr_ne(request_spans_at(&spans, thread, to_ns), request);
	}
	ck_assert_uint_eq(count, spans.count);
	ck_assert_ptr_null(request_spans_after(&spans, 0, 0));
	ck_assert_ptr_null(request_spans_after(&spans, 2, 20000000));
	request_spans_free(&spans);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	EACH(threads_work_for_one_at_a_time, rows);
}

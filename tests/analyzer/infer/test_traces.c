/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a request across processes lacks what one of them did, or has another's. */
#include "infer/traces.h"

#include "infer/requests.h"
#include "replayed.h"
#include "suite.h"
#include "two_traces.h"

static struct two_traces two;
static struct timeline timeline;
static struct traces traces;

static void setup(void)
{
	two_traces_begin(&two);
	sketch_end(&two.sketch);
	timeline_build(&timeline, &two.sketch.rec);
	traces_build(&traces, &two.sketch.rec, &timeline);
}

static void teardown(void)
{
	traces_free(&traces);
	timeline_free(&timeline);
	sketch_free(&two.sketch);
}

START_TEST(stretches_are_of_their_trace)
{
	ck_assert_uint_eq(traces.count, 2);
	ck_assert_uint_eq(traces.stretch_count, 4);
	const struct trace_stretch *one = traces.stretches + traces.traces[0].first;
	ck_assert_uint_eq(traces.traces[0].count, 2);
	ck_assert_uint_eq(one[0].thread, 0);
	ck_assert_uint_eq(one[0].from_ns, 1 * SKETCH_MS);
	ck_assert_uint_eq(one[0].to_ns, 9500000);
	ck_assert_uint_eq(one[0].first_op, two.ask[0]);
	ck_assert_uint_eq(one[0].last_op, two.hear[0]);
	ck_assert_uint_eq(one[1].thread, 1);
	ck_assert_uint_eq(one[1].before_ns, 2500000);
	ck_assert_uint_eq(one[1].first_op, two.work);
	ck_assert_uint_eq(one[1].last_op, two.answer[0]);
	const struct trace_stretch *late = traces.stretches + traces.traces[1].first + 1;
	ck_assert_uint_eq(late->to_ns, 20 * SKETCH_MS);
	/* a poll is idle time */
	ck_assert_uint_eq(late->last_op, two.answer[1]);
	ck_assert(!late->is_open);
}
END_TEST

START_TEST(ends_are_of_any_thread)
{
	struct trace_ends ends;
	ck_assert(traces_ends(&traces, &two.sketch.rec, &traces.traces[0], &ends));
	ck_assert_uint_eq(ends.first_op, two.ask[0]);
	ck_assert_uint_eq(ends.last_op, two.hear[0]);
	ck_assert_uint_eq(ends.ids.span, 0x10);
	/* the client is not recorded */
	traces.traces[0].first++;
	traces.traces[0].count--;
	ck_assert(traces_ends(&traces, &two.sketch.rec, &traces.traces[0], &ends));
	ck_assert_uint_eq(ends.first_op, two.work);
	ck_assert_uint_eq(ends.last_op, two.answer[0]);
	traces.traces[0].count = 0;
	ck_assert(!traces_ends(&traces, &two.sketch.rec, &traces.traces[0], &ends));
}
END_TEST

START_TEST(a_call_that_goes_on_leaves_it_unfinished)
{
	struct trace_ends ends;
	two.sketch.rec.extras[two.hear[0]].open = true;
	traces_free(&traces);
	traces_build(&traces, &two.sketch.rec, &timeline);
	ck_assert(traces_ends(&traces, &two.sketch.rec, &traces.traces[0], &ends));
	ck_assert_uint_eq(ends.last_op, NO_INDEX);
}
END_TEST

static const struct {
	const char *digits;
	size_t count, first;
	bool is_prefix;
} searches[] = {
	/* 0 */ { TRACE_ONE_TEXT, 1, 0, true },
	/* 1 */ { "0a000000000000ff", 1, 1, true },
	/* 2 */ { "0A-000000-000000FF", 1, 1, true },
	/* 3 */ { "0x0a000000000000ff", 1, 1, true },
	/* 4 */ { "0a", 2, 0, true },
	/* 5 */ { "b", 0, 0, true },
	/* 6 */ { "", 0, 0, false },
	/* 7 */ { "0ag", 0, 0, false },
	/* 8 */ { TRACE_ONE_TEXT "0", 0, 0, false },
};

START_TEST(they_are_found_by_their_first_digits)
{
	size_t first;
	ck_assert_uint_eq(traces_find(&traces, searches[_i].digits, &first), searches[_i].count);
	ck_assert_uint_eq(first, searches[_i].first);
	ck_assert(traces_is_prefix(searches[_i].digits) == searches[_i].is_prefix);
}
END_TEST

START_TEST(they_are_found_by_their_ids)
{
	ck_assert_ptr_eq(traces_by_id(&traces, (uint64_t[])TRACE_TWO), &traces.traces[1]);
	ck_assert_ptr_null(traces_by_id(&traces, (uint64_t[]){ 0, 0 }));
	ck_assert_ptr_null(traces_by_id(&(struct traces){ 0 }, (uint64_t[])TRACE_TWO));
}
END_TEST

/* They are surer than what goes over connections, and are replayed as it was. */
START_TEST(each_is_one_request)
{
	static const struct script_options as_recorded = { 0 };
	struct script script;
	script_build(&script, &two.sketch.rec, &two.sketch.classes, &as_recorded);
	const struct requests *requests = &script.requests;
	ck_assert_int_eq(requests->judged_source, REQUEST_TRACED);
	ck_assert_uint_eq(requests->judged_count, 2);
	for (size_t i = 0; i < requests->count; i++) {
		const struct request *request = &requests->requests[i];
		if (request->source != REQUEST_TRACED)
			continue;
		bool is_first = request->ids.span == 0x10;
		ck_assert_uint_eq(request->start_ns, (is_first ? 1 : 10) * SKETCH_MS);
		ck_assert_uint_eq(request->end_ns, (is_first ? 9 : 13) * SKETCH_MS);
		ck_assert(!request->is_part);
	}
	struct replay_answer answer = replayed_script(&script, NO_INDEX, 1);
	ck_assert_double_eq_tol(answer.requests_ns[REQUEST_P99] / 1e6, 8, 0.1);
	script_free(&script);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(stretches_are_of_their_trace);
	TEST(ends_are_of_any_thread);
	TEST(a_call_that_goes_on_leaves_it_unfinished);
	EACH(they_are_found_by_their_first_digits, searches);
	TEST(they_are_found_by_their_ids);
	TEST(each_is_one_request);
}

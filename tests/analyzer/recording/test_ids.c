/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, calls and waits carry ids of another trace. */
#include "recording/ids.h"

#include "suite.h"
#include "two_traces.h"

static const struct {
	uint32_t thread;
	double at_ms;
	uint64_t span;
	double change_ms; /* 0 = never */
} looks[] = {
	/* 0 */ { 0, 0, 0, 1 },
	/* 1 */ { 0, 1, 0x10, 9.5 },
	/* 2 */ { 0, 9.4, 0x10, 9.5 },
	/* 3 */ { 0, 9.5, 0, 10 },
	/* 4: what is said again does not change */ { 0, 10, 0x20, 13.5 },
	/* 5 */ { 0, 12.5, 0x20, 13.5 },
	/* 6 */ { 0, 14, 0, 0 },
	/* 7: not the other thread's */ { 1, 0, 0, 3 },
	/* 8 */ { 1, 10, 0, 11 },
	/* 9 */ { 1, 19, 0x21, 0 },
};

START_TEST(ids_are_those_in_force)
{
	struct two_traces two;
	two_traces_begin(&two);
	uint64_t at_ns = (uint64_t)(looks[_i].at_ms * 1e6);
	struct rec_ids ids = ids_at(&two.sketch.rec, looks[_i].thread, at_ns);
	ck_assert_uint_eq(ids.span, looks[_i].span);
	ck_assert_int_eq(ids_have_trace(&ids), looks[_i].span != 0);
	ck_assert_uint_eq(ids_change_after(&two.sketch.rec, looks[_i].thread, at_ns),
			  looks[_i].change_ms > 0 ? (uint64_t)(looks[_i].change_ms * 1e6)
						  : UINT64_MAX);
	sketch_free(&two.sketch);
}
END_TEST

static const struct {
	uint32_t thread;
	double from_ms, to_ms;
	uint64_t span;
} times[] = {
	/* 0 */ { 0, 0, 0.9, 0 },
	/* 1 */ { 0, 0, 1, 0x10 },
	/* 2 */ { 0, 2, 13, 0x10 },
	/* 3 */ { 0, 9.6, 20, 0x20 },
	/* 4 */ { 0, 14, 20, 0 },
	/* 5 */ { 1, 0, 20, 0x11 },
};

START_TEST(the_first_ones_of_a_time_are_found)
{
	struct two_traces two;
	two_traces_begin(&two);
	struct rec_ids ids =
		ids_within(&two.sketch.rec, times[_i].thread, (uint64_t)(times[_i].from_ms * 1e6),
			   (uint64_t)(times[_i].to_ms * 1e6));
	ck_assert_uint_eq(ids.span, times[_i].span);
	sketch_free(&two.sketch);
}
END_TEST

START_TEST(each_thread_has_its_own)
{
	struct two_traces two;
	size_t count;
	two_traces_begin(&two);
	ck_assert_ptr_eq(ids_of_thread(&two.sketch.rec, 0, &count), two_traces_contexts);
	ck_assert_uint_eq(count, 5);
	ck_assert_ptr_eq(ids_of_thread(&two.sketch.rec, 1, &count), two_traces_contexts + 5);
	ck_assert_uint_eq(count, 3);
	two.sketch.rec.context_count = 0;
	ck_assert_ptr_null(ids_of_thread(&two.sketch.rec, 1, &count));
	sketch_free(&two.sketch);
}
END_TEST

START_TEST(texts_have_all_digits)
{
	char trace[IDS_TRACE_BYTES], span[IDS_SPAN_BYTES];
	ids_trace_text(trace, (uint64_t[])TRACE_ONE);
	ck_assert_str_eq(trace, TRACE_ONE_TEXT);
	ids_trace_text(trace, (uint64_t[]){ 0, 0 });
	ck_assert_str_eq(trace, "");
	ids_span_text(span, 0x10);
	ck_assert_str_eq(span, "0000000000000010");
	ids_span_text(span, 0);
	ck_assert_str_eq(span, "");
}
END_TEST

SUITE()
{
	EACH(ids_are_those_in_force, looks);
	EACH(the_first_ones_of_a_time_are_found, times);
	TEST(each_thread_has_its_own);
	TEST(texts_have_all_digits);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* If these fail, uploads fill the memory, hammer a receiver, or are lost without being counted. */
#include "outbox.h"

#include <string.h>

#include "metrics.h"
#include "suite.h"

#define SECOND_NS UINT64_C(1000000000)

static struct outbox outbox;
static const struct config_upload receiver = { .url = "http://h" };

static void add(size_t bytes, uint64_t now_ns, uint64_t most)
{
	static const char zeros[1000];
	struct upload_request request = { 0 };

	body_put(&request.body, zeros, bytes);
	outbox_add(&outbox, &receiver, &request, now_ns, most);
	ck_assert_ptr_null(request.body.bytes);
}

START_TEST(the_first_comes_first)
{
	struct outgoing *one, *two;

	add(10, 0, 100);
	add(20, 0, 100);
	one = outbox_next(&outbox, 0);
	two = outbox_next(&outbox, 0);
	ck_assert_uint_eq(one->request.body.used, 10);
	ck_assert_uint_eq(two->request.body.used, 20);
	ck_assert_ptr_null(outbox_next(&outbox, 0));
	ck_assert_uint_eq(outbox_due_ns(&outbox), UINT64_MAX);
	outbox_settle(&outbox, two, OUTBOX_TAKEN, 0, 0, 3, 0);
	outbox_settle(&outbox, one, OUTBOX_REFUSED, 0, 0, 3, 0);
	ck_assert_uint_eq(outbox.count, 0);
	ck_assert_uint_eq(outbox.bytes, 0);
	ck_assert_ptr_null(outbox.last);
	ck_assert_double_eq(metrics.uploads_total, 1);
	ck_assert_double_eq(metrics.uploads_refused_total, 1);
	ck_assert_double_eq(metrics.upload_bytes_total, 20);
}
END_TEST

START_TEST(when_it_is_full_the_oldest_that_waits_goes)
{
	struct outgoing *under_way;

	add(40, 0, 100);
	under_way = outbox_next(&outbox, 0);
	add(30, 0, 100);
	add(30, 0, 100);
	add(30, 0, 100);
	ck_assert_uint_eq(outbox.count, 3);
	ck_assert_uint_eq(outbox.bytes, 100);
	ck_assert_ptr_eq(outbox.first, under_way);
	ck_assert_double_eq(metrics.uploads_overflowed_total, 1);
	/* One that has no place is dropped itself. */
	add(101, 0, 100);
	ck_assert_uint_eq(outbox.count, 3);
	ck_assert_double_eq(metrics.uploads_overflowed_total, 2);
	ck_assert_double_eq(metrics.uploads_queued, 3);
	ck_assert_double_eq(metrics.uploads_queued_bytes, 100);
	outbox_free(&outbox);
	ck_assert_double_eq(metrics.uploads_queued, 0);
}
END_TEST

START_TEST(it_is_tried_so_often_and_no_more)
{
	uint64_t now_ns = 0;

	add(10, 0, 100);
	for (int i = 1; i <= 4; i++) {
		struct outgoing *outgoing = outbox_next(&outbox, now_ns);

		ck_assert_ptr_nonnull(outgoing);
		outbox_settle(&outbox, outgoing, OUTBOX_LATER, 0, 7, 4, now_ns);
		if (i == 4)
			break;
		ck_assert_ptr_null(outbox_next(&outbox, now_ns));
		ck_assert_uint_gt(outbox_due_ns(&outbox), now_ns);
		now_ns = outbox_due_ns(&outbox);
	}
	ck_assert_uint_eq(outbox.count, 0);
	ck_assert_double_eq(metrics.uploads_retried_total, 3);
	ck_assert_double_eq(metrics.uploads_dropped_total, 1);
}
END_TEST

static const struct {
	unsigned tries, retry_after_s;
	uint64_t chance, least_s, most_s;
} waits[] = {
	/* 0 */ { 1, 0, 0, 1, 1 },
	/* 1 */ { 1, 0, UINT64_MAX, 1, 2 },
	/* 2 */ { 2, 0, 0, 2, 2 },
	/* 3 */ { 5, 0, UINT64_MAX, 16, 32 },
	/* 4 */ { 100, 0, UINT64_MAX, 150, 300 },
	/* 5: the receiver's word is the least */ { 1, 60, 0, 60, 60 },
	/* 6 */ { 1, 60, UINT64_MAX, 60, 90 },
	/* 7 */ { 1, 80000, 0, 300, 300 },
	/* 8 */ { 8, 1, UINT64_MAX, 256, 384 },
};

START_TEST(waits_grow_and_are_not_the_same)
{
	uint64_t wait_ns =
		outbox_wait_ns(waits[_i].tries, waits[_i].retry_after_s, waits[_i].chance);

	ck_assert_uint_ge(wait_ns, waits[_i].least_s * SECOND_NS);
	ck_assert_uint_le(wait_ns, waits[_i].most_s * SECOND_NS);
}
END_TEST

static const struct {
	int status;
	enum outbox_verdict verdict;
} statuses[] = {
	/*  0 */ { 200, OUTBOX_TAKEN },
	/*  1 */ { 202, OUTBOX_TAKEN },
	/*  2 */ { 0, OUTBOX_LATER },
	/*  3 */ { 408, OUTBOX_LATER },
	/*  4 */ { 429, OUTBOX_LATER },
	/*  5 */ { 500, OUTBOX_LATER },
	/*  6 */ { 503, OUTBOX_LATER },
	/*  7 */ { 302, OUTBOX_REFUSED },
	/*  8 */ { 400, OUTBOX_REFUSED },
	/*  9 */ { 403, OUTBOX_REFUSED },
	/* 10 */ { 422, OUTBOX_REFUSED },
};

START_TEST(a_status_means_the_same_to_all)
{
	ck_assert_int_eq(outbox_judge(statuses[_i].status), statuses[_i].verdict);
}
END_TEST

SUITE()
{
	TEST(the_first_comes_first);
	TEST(when_it_is_full_the_oldest_that_waits_goes);
	TEST(it_is_tried_so_often_and_no_more);
	EACH(waits_grow_and_are_not_the_same, waits);
	EACH(a_status_means_the_same_to_all, statuses);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* If these fail, top shows requests that hang which do not, or none of those that do, or requests
 * of two sources at once. */
#include <check.h>

#include "suite.h"
#include "top_requests.h"

enum { THREAD = 1, FD = 9, ONE = 20, OTHER = 21, NOBODY = 0 };
#define S UINT64_C(1000000000)

static struct top_requests requests;
static struct top_stacks stacks;

static void begin(void)
{
	ck_assert(top_requests_begin(&requests));
	ck_assert(top_stacks_begin(&stacks));
}

static void end(void)
{
	top_requests_end(&requests);
	top_stacks_end(&stacks);
}

static void call(uint32_t ident, bool is_write, uint64_t end_ns)
{
	const struct record record = { .type = RECORD_OP,
				       .what = KIND_IO,
				       .flags = RECORD_ACCEPTED,
				       .ident = ident,
				       .fd = FD,
				       .value = 10,
				       .start = end_ns,
				       .end = end_ns };

	(void)top_requests_look_at(&requests, &stacks, &record, THREAD, is_write, end_ns / S);
}

static size_t running(uint64_t now_ns, uint64_t taken_ns)
{
	size_t count;
	struct top_request *list = top_requests_running(&requests, now_ns, &count);

	for (size_t i = 0; i < count; i++) {
		ck_assert(list[i].is_running);
		ck_assert_uint_eq(list[i].taken_ns, taken_ns);
		ck_assert_uint_eq(list[i].ident, ONE);
		ck_assert_int_eq(list[i].fd, FD);
	}
	free(list);
	return count;
}

static size_t ended(void)
{
	size_t count;

	free(top_requests_list(&requests, 0, &count));
	return count;
}

START_TEST(one_that_is_not_answered_is_running)
{
	begin();
	call(ONE, false, 10 * S);
	ck_assert_uint_eq(running(13 * S, 3 * S), 1);
	ck_assert_uint_eq(ended(), 0);
	call(ONE, true, 14 * S);
	ck_assert_uint_eq(running(14 * S, 0), 0);
	top_requests_tick(&requests, &stacks, 15 * S, 15);
	ck_assert_uint_eq(ended(), 1);
	end();
}
END_TEST

START_TEST(a_connection_that_was_closed_has_none)
{
	begin();
	call(ONE, false, 10 * S);
	call(OTHER, true, 11 * S); /* the descriptor is another's now */
	ck_assert_uint_eq(running(13 * S, 0), 0);
	call(ONE, false, 14 * S);
	top_requests_forget(&requests, ONE);
	ck_assert_uint_eq(running(15 * S, 0), 0);
	end();
}
END_TEST

/* It has ended with its answer, whoever has the descriptor next. */
START_TEST(a_connection_that_was_closed_behind_its_answer_had_one)
{
	struct top_request *list;
	size_t count;

	for (int is_forgotten = 0; is_forgotten < 2; is_forgotten++) {
		begin();
		call(ONE, false, 10 * S);
		call(ONE, true, 12 * S);
		if (is_forgotten)
			top_requests_forget(&requests, ONE);
		else
			call(OTHER, false, 12 * S);
		top_requests_tick(&requests, &stacks, 15 * S, 15);
		list = top_requests_list(&requests, 0, &count);
		ck_assert_uint_eq(count, 1);
		ck_assert_uint_eq(list[0].taken_ns, 2 * S);
		ck_assert_uint_eq(list[0].ident, ONE);
		free(list);
		end();
	}
}
END_TEST

START_TEST(a_call_without_a_name_says_nothing_of_its_connection)
{
	begin();
	call(ONE, false, 10 * S);
	call(NOBODY, false, 11 * S);
	ck_assert_uint_eq(running(13 * S, 3 * S), 1);
	end();
}
END_TEST

START_TEST(marks_are_surer_than_connections)
{
	const struct top_work work = { .piece_count = 1, .pieces = { { 1, 5 } } };
	const struct top_work none = { .piece_count = 0 };
	struct top_request request = { .end_ns = 20 * S, .taken_ns = S, .kind = 3 };
	const struct record record = { .stack = 9 };

	begin();
	ck_assert_uint_eq(top_stacks_find(&stacks, TOP_RUNNING, &record), 1);
	top_requests_add(&requests, &stacks, TOP_MARKED, request, &work, 20); /* of no class */
	ck_assert_uint_eq(ended(), 0);
	top_requests_add(&requests, &stacks, TOP_SERVED, request, &work, 20);
	ck_assert_uint_eq(ended(), 1);
	ck_assert_float_eq(stacks.stacks[0].ns[TOP_OF_REST][20], 5);
	request.op = 77;
	top_requests_mark(&requests, &stacks, 3, 20);
	top_requests_mark(&requests, &stacks, 4, 20); /* another class */
	top_requests_add(&requests, &stacks, TOP_MARKED, request, &none, 20);
	top_requests_add(&requests, &stacks, TOP_MARKED, request, &work, 20); /* not the first */
	ck_assert_uint_eq(ended(), 1);
	ck_assert_uint_eq(requests.ring[0].op, 0);
	top_requests_mark(&requests, &stacks, 4, 20);
	/* Of before, only the first mark. */
	ck_assert_uint_eq(ended(), 1);
	ck_assert_uint_eq(requests.ring[0].op, 77);
	ck_assert_double_eq(requests.by_second[TOP_OF_ALL][20], 1);
	ck_assert_float_eq(stacks.stacks[0].ns[TOP_OF_REST][20], 0);
	top_requests_add(&requests, &stacks, TOP_SERVED, request, &work, 20);
	ck_assert_uint_eq(ended(), 1);
	top_requests_add(&requests, &stacks, TOP_MARKED, request, &work, 20);
	ck_assert_uint_eq(ended(), 2);
	ck_assert_float_eq(stacks.stacks[0].ns[TOP_OF_REST][20], 5);
	end();
}
END_TEST

/* A class without a name is one. */
START_TEST(a_mark_may_have_no_class)
{
	begin();
	top_requests_mark(&requests, &stacks, 0, 20);
	ck_assert_int_eq(requests.source, TOP_SERVED);
	top_requests_mark(&requests, &stacks, 0, 20);
	ck_assert_int_eq(requests.source, TOP_MARKED);
	end();
}
END_TEST

SUITE()
{
	TEST(one_that_is_not_answered_is_running);
	TEST(a_connection_that_was_closed_has_none);
	TEST(a_connection_that_was_closed_behind_its_answer_had_one);
	TEST(a_call_without_a_name_says_nothing_of_its_connection);
	TEST(marks_are_surer_than_connections);
	TEST(a_mark_may_have_no_class);
}

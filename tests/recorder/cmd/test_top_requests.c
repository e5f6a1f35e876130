/* SPDX-License-Identifier: Apache-2.0 */
/* If these fail, top shows requests that hang which do not, or none of those that do. */
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

START_TEST(a_call_without_a_name_says_nothing_of_its_connection)
{
	begin();
	call(ONE, false, 10 * S);
	call(NOBODY, false, 11 * S);
	ck_assert_uint_eq(running(13 * S, 3 * S), 1);
	end();
}
END_TEST

SUITE()
{
	TEST(one_that_is_not_answered_is_running);
	TEST(a_connection_that_was_closed_has_none);
	TEST(a_call_without_a_name_says_nothing_of_its_connection);
}

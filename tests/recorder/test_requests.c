/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, it is not known which request a thread is at, how old it is, or which are slow. */
#define WCPROF_IS_LIBRARY /* this program has the library inside */
#include "wcprof.h"

#include "requests.h"

#include <sys/socket.h>

#include "recording.h"
#include "suite.h"

static struct self *self;
static int ends[2];

static void open_pair(void)
{
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	descriptor_accepted(self, ends[0]);
}

static void setup(void)
{
	recording_begin();
	ck_assert(requests_follow(REQUESTS_FOR_PROBES, true));
	self = self_enter();
	open_pair();
	clock_kind = 0;
	clock_test_ticks = 1000000;
}

static void teardown(void)
{
	self_leave(self);
	recording_end();
}

static void call(enum kind kind, const char *name, int fd, int64_t value)
{
	uint64_t op = op_begin(self, kind, string_intern(name, strlen(name)), 0, fd, 0,
			       __builtin_frame_address(0));

	op_end(self, op, OUTCOME_OK, (uint64_t)value);
}

static uint64_t begun(void)
{
	return requests_now(self).begun_ticks;
}

static void pass(uint64_t ticks)
{
	clock_test_ticks += ticks;
}

/* One that takes so long. */
static void serve(uint64_t ticks)
{
	call(KIND_IO, "read", ends[0], 4);
	pass(ticks);
	call(KIND_IO, "write", ends[0], 4);
}

START_TEST(a_request_is_from_a_read_to_the_next)
{
	uint64_t first = clock_test_ticks;

	ck_assert_uint_eq(begun(), 0);
	call(KIND_IO, "read", ends[0], 4);
	ck_assert_uint_eq(begun(), first);
	pass(100);
	/* The rest of the same one. */
	call(KIND_IO, "recvfrom", ends[0], 4);
	ck_assert_uint_eq(begun(), first);
	call(KIND_IO, "write", ends[0], 4);
	ck_assert_uint_eq(begun(), first);
	ck_assert_uint_eq(requests_ended(REQUESTS_SERVED), 0);
	pass(1000);
	call(KIND_IO, "read", ends[0], 4);
	ck_assert_uint_eq(begun(), first + 1100);
	ck_assert_uint_eq(requests_ended(REQUESTS_SERVED), 1);
	/* Not what the thread asks somebody else. */
	pass(7);
	call(KIND_IO, "write", ends[1], 4);
	call(KIND_IO, "read", ends[1], 4);
	ck_assert_uint_eq(begun(), first + 1100);
}
END_TEST

START_TEST(the_end_of_a_connection_ends_its_request)
{
	serve(10);
	call(KIND_IO, "read", ends[0], 0);
	ck_assert_uint_eq(begun(), 0);
	ck_assert_uint_eq(requests_ended(REQUESTS_SERVED), 1);
}
END_TEST

/* Else the age of one that nobody answered would be its next tenant's. */
START_TEST(another_connection_has_another_request)
{
	uint64_t second;

	call(KIND_IO, "read", ends[0], 4);
	pass(1000000);
	second = clock_test_ticks;
	descriptor_forget(ends[0]);
	descriptor_accepted(self, ends[0]);
	call(KIND_IO, "read", ends[0], 4);
	ck_assert_uint_eq(begun(), second);
}
END_TEST

static const struct {
	bool is_answered;
	enum kind kind;
	const char *name; /* NULL: a wait for a condition */
	bool is_left;
} leaving[] = {
	/* 0 */ { false, KIND_POLL, "poll", false },
	/* 1 */ { true, KIND_POLL, "poll", true },
	/* 2 */ { false, KIND_POLL, "epoll_wait", true },
	/* 3 */ { true, KIND_POLL, "epoll_pwait", true },
	/* 4 */ { false, KIND_SLEEP, "nanosleep", false },
	/* 5 */ { true, KIND_SLEEP, "nanosleep", false },
	/* 6 */ { false, KIND_NONE, NULL, false },
	/* 7 */ { true, KIND_NONE, NULL, true },
};

START_TEST(a_thread_leaves_a_request)
{
	call(KIND_IO, "read", ends[0], 4);
	if (leaving[_i].is_answered)
		call(KIND_IO, "write", ends[0], 4);
	if (leaving[_i].name)
		call(leaving[_i].kind, leaving[_i].name, -1, 1);
	else
		wait_end(self,
			 wait_begin(self, REASON_COND, CALL_LOCK, &ends, 0, 0,
				    __builtin_frame_address(0)),
			 0, 0);
	ck_assert_int_eq(begun() == 0, leaving[_i].is_left);
}
END_TEST

static void *answer(void *unused)
{
	self = self_enter();
	ck_assert_uint_eq(begun(), 0);
	pass(500);
	call(KIND_IO, "write", ends[0], 4);
	ck_assert_uint_eq(begun(), 1000000);
	pass(1);
	call(KIND_IO, "read", ends[0], 4);
	self_leave(self);
	return unused;
}

/* It is known only when it answers; but how long the request took is right. */
START_TEST(a_request_that_moves_is_the_same)
{
	struct self *own = self;
	pthread_t thread;

	call(KIND_IO, "read", ends[0], 4);
	pthread_create(&thread, NULL, answer, NULL);
	pthread_join(thread, NULL);
	self = own;
	/* The other one has read the next. */
	ck_assert_uint_eq(begun(), 0);
	ck_assert_uint_eq(requests_ended(REQUESTS_SERVED), 1);
	pass(500);
	call(KIND_IO, "write", ends[0], 4);
	for (int i = 0; i < 20; i++)
		serve(500);
	ck_assert_uint_le(requests_percentile(REQUESTS_SERVED, 500), 512);
	ck_assert_uint_ge(requests_percentile(REQUESTS_SERVED, 500), 496);
}
END_TEST

/* Of 1000 lengths, evenly from 1000 to 1999 times 100. */
static const struct {
	uint32_t permille;
	uint64_t ticks;
} percentiles[] = {
	/* 0 */ { 500, 150000 },
	/* 1 */ { 900, 190000 },
	/* 2 */ { 950, 195000 },
	/* 3 */ { 990, 199000 },
	/* 4 */ { 999, 0 }, /* one beyond it is too few */
};

START_TEST(percentiles_are_good_to_a_step)
{
	uint64_t found;

	for (uint64_t i = 0; i < 1000; i++)
		serve(100 * (1000 + i * 379 % 1000));
	call(KIND_IO, "read", ends[0], 0);
	ck_assert_uint_eq(requests_ended(REQUESTS_SERVED), 1000);
	found = requests_percentile(REQUESTS_SERVED, percentiles[_i].permille);
	ck_assert_uint_ge(found, percentiles[_i].ticks - percentiles[_i].ticks / 50);
	ck_assert_uint_le(found, percentiles[_i].ticks + percentiles[_i].ticks / 50);
}
END_TEST

START_TEST(the_last_ones_decide)
{
	for (int i = 0; i < REQUESTS_HALVED_AT; i++)
		serve(1000);
	ck_assert_uint_le(requests_percentile(REQUESTS_SERVED, 950), 1040);
	for (int i = 0; i < REQUESTS_HALVED_AT; i++)
		serve(50000);
	ck_assert_uint_ge(requests_percentile(REQUESTS_SERVED, 500), 48000);
}
END_TEST

START_TEST(marked_requests_come_first)
{
	wcprof_op outer, inner;
	struct request_now now;

	call(KIND_IO, "read", ends[0], 4);
	pass(10);
	self_leave(self);
	outer = wcprof_v1_begin(0, WCPROF_KIND_USER, "outer", NULL);
	pass(10);
	inner = wcprof_v1_begin(0, WCPROF_KIND_USER, "inner", NULL);
	self = self_enter();
	now = requests_now(self);
	ck_assert_uint_eq(now.begun_ticks, 1000010);
	ck_assert_int_eq(now.kind, REQUESTS_MARKED);
	self_leave(self);
	pass(10);
	wcprof_v1_end(inner, WCPROF_OK, 0);
	ck_assert_uint_eq(requests_ended(REQUESTS_MARKED), 0);
	wcprof_v1_end(outer, WCPROF_OK, 0);
	ck_assert_uint_eq(requests_ended(REQUESTS_MARKED), 1);
	self = self_enter();
	now = requests_now(self);
	ck_assert_uint_eq(now.begun_ticks, 1000000);
	ck_assert_int_eq(now.kind, REQUESTS_SERVED);
}
END_TEST

/* Of those that began before the pause it is not known what became. */
START_TEST(nothing_is_known_of_a_pause)
{
	call(KIND_IO, "read", ends[0], 4);
	ck_assert_uint_ne(begun(), 0);
	ck_assert(requests_follow(REQUESTS_FOR_PROBES, false));
	ck_assert(!requests_are_followed());
	ck_assert(requests_follow(REQUESTS_FOR_SAMPLES, true));
	ck_assert_uint_eq(begun(), 0);
	ck_assert(requests_follow(REQUESTS_FOR_PROBES, true));
	serve(10);
	ck_assert(requests_follow(REQUESTS_FOR_SAMPLES, false));
	ck_assert_uint_ne(begun(), 0);
}
END_TEST

START_TEST(status_has_what_is_known)
{
	char bytes[1024];
	struct text text = { .bytes = bytes, .size = sizeof(bytes) };

	for (int i = 0; i < 120; i++)
		serve(1000000);
	call(KIND_IO, "read", ends[0], 0);
	requests_put_status(&text);
	ck_assert(text_end(&text));
	ck_assert_ptr_nonnull(strstr(bytes, ",\"served_requests\":120,\"served_p50_ns\":"));
	ck_assert_ptr_nonnull(strstr(bytes, ",\"served_p95_ns\":"));
	ck_assert_ptr_null(strstr(bytes, "served_p99_ns"));
	ck_assert_ptr_nonnull(strstr(bytes, ",\"marked_requests\":0"));
	ck_assert_ptr_null(strstr(bytes, "marked_p50_ns"));
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(a_request_is_from_a_read_to_the_next);
	TEST(the_end_of_a_connection_ends_its_request);
	TEST(another_connection_has_another_request);
	EACH(a_thread_leaves_a_request, leaving);
	TEST(a_request_that_moves_is_the_same);
	EACH(percentiles_are_good_to_a_step, percentiles);
	TEST(the_last_ones_decide);
	TEST(marked_requests_come_first);
	TEST(nothing_is_known_of_a_pause);
	TEST(status_has_what_is_known);
}

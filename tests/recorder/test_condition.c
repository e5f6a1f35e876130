/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a condition means something else than its text, or a wrong text is taken. */
#define WCPROF_IS_LIBRARY /* this program has the library inside */
#include "wcprof.h"

#include "condition.h"

#include <sys/socket.h>

#include "recording.h"
#include "stacks.h"
#include "suite.h"
#include "watch.h"

static const struct {
	const char *text;
	const char *why; /* begin of it; NULL: it is one */
	uint32_t count;
} texts[] = {
	/*  0 */ { "", NULL, 0 },
	/*  1 */ { "request", NULL, 1 },
	/*  2 */ { "request>10ms", NULL, 1 },
	/*  3 */ { "request>p95", NULL, 1 },
	/*  4 */ { "request > p99.9", NULL, 1 },
	/*  5 */ { "request>p50,lock", NULL, 2 },
	/*  6 */ { "request and op:parse and class:*sync and lock:mutex a+0x10", NULL, 4 },
	/*  7 */ { " lock ", NULL, 1 },
	/*  8 */ { "op:random and", NULL, 1 },
	/*  9 */ { "reqest", "\"reqest\" at byte 1 is none of request, request>10ms, ", 0 },
	/* 10 */ { "lock and request>p49", "\"request>p49\" at byte 10 is none", 0 },
	/* 11 */ { "request>p99.95", "\"request>p99.95\" at byte 1", 0 },
	/* 12 */ { "request>p100", "\"request>p100\" at byte 1", 0 },
	/* 13 */ { "request>10", "\"request>10\" at byte 1", 0 },
	/* 14 */ { "request>10m", "\"request>10m\" at byte 1", 0 },
	/* 15 */ { "request>-1ms", "\"request>-1ms\" at byte 1", 0 },
	/* 16 */ { "request<1ms", "\"request<1ms\" at byte 1", 0 },
	/* 17 */ { "request>", "\"request>\" at byte 1", 0 },
	/* 18 */ { "request>p", "\"request>p\" at byte 1", 0 },
	/* 19 */ { "op:", "\"op:\" at byte 1", 0 },
	/* 20 */ { "locks", "\"locks\" at byte 1", 0 },
	/* 21 */ { "lock,", "\"\" at byte 6", 0 },
	/* 22 */ { ",lock", "\"\" at byte 1", 0 },
	/* 23 */ { "lock and and lock", "\"and lock\" at byte 10", 0 },
	/* 24 */ { "lock,lock,lock,lock,lock", "more than 4 are joined", 0 },
	/* 25 */ { " ", "\"\" at byte 2", 0 },
	/* 26 */ { "lock@flush and request", NULL, 2 },
	/* 27 */ { "lock@cache.c:12,lock", NULL, 2 },
	/* 28 */ { "lock@", "\"lock@\" at byte 1", 0 },
	/* 29 */ { "lock@a,lock@b", "it has lock@ more than once", 0 },
};

START_TEST(a_text_is_a_condition_or_says_why_not)
{
	char bytes[CONDITION_WHY_BYTES];
	struct text why = { .bytes = bytes, .size = sizeof(bytes) };
	struct condition condition;
	const char *text = texts[_i].text;
	bool is_one = condition_parse(text, strlen(text), &condition, &why);

	ck_assert(text_end(&why));
	ck_assert_msg(is_one == !texts[_i].why, "%s", bytes);
	if (is_one)
		ck_assert_uint_eq(condition.count, texts[_i].count);
	else
		ck_assert_msg(strncmp(bytes, texts[_i].why, strlen(texts[_i].why)) == 0, "%s",
			      bytes);
	ck_assert_int_eq(condition_parse(text, strlen(text), &condition, NULL), is_one);
}
END_TEST

START_TEST(nothing_too_long_is_taken)
{
	char text[CONDITION_BYTES + 1];
	struct condition condition;

	memset(text, 'x', sizeof(text));
	memcpy(text, "op:", 3);
	ck_assert(condition_parse(text, 3 + CONDITION_NAME_BYTES - 1, &condition, NULL));
	ck_assert_uint_eq(strlen(condition.terms[0].pattern), CONDITION_NAME_BYTES - 1);
	ck_assert(!condition_parse(text, 3 + CONDITION_NAME_BYTES, &condition, NULL));
	memset(text, ' ', sizeof(text));
	memcpy(text, "lock", 4);
	ck_assert(condition_parse(text, CONDITION_BYTES - 1, &condition, NULL));
	ck_assert(!condition_parse(text, CONDITION_BYTES, &condition, NULL));
}
END_TEST

START_TEST(bounds_are_read)
{
	struct condition condition;

	ck_assert(condition_parse("request>10ms,request>p99.9,request>2s", 37, &condition, NULL));
	ck_assert_uint_eq(condition.terms[0].least_ns, 10000000);
	ck_assert_uint_eq(condition.terms[0].permille, 0);
	ck_assert_uint_eq(condition.terms[1].permille, 999);
	ck_assert_uint_eq(condition.terms[2].least_ns, 2000000000);
	ck_assert(condition_asks_for_requests(&condition));
	ck_assert(condition_parse("lock,op:request", 15, &condition, NULL));
	ck_assert(!condition_asks_for_requests(&condition));
}
END_TEST

/* --- What a thread is in ---------------------------------------------------------------------- */

static struct self *self;
static int ends[2];
static pthread_mutex_t global_lock;

static void begin(void)
{
	recording_begin();
	ck_assert(requests_follow(REQUESTS_FOR_PROBES, true));
	self = self_enter();
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	descriptor_accepted(self, ends[0]);
	clock_kind = 0;
	clock_test_ticks = 1000000;
}

/* Each from a frame below those of the ops that are open. */
static uint64_t begin_op(enum kind kind, const char *name)
{
	const char *frame = __builtin_frame_address(0);

	return op_begin(self, kind, string_intern(name, strlen(name)), 0, ends[0], 0,
			frame - 16 * self->depth);
}

static void read_some(void)
{
	op_end(self, begin_op(KIND_IO, "read"), OUTCOME_OK, 4);
}

static struct request_now request;
static struct condition condition;

static enum condition_verdict judge(const char *text)
{
	ck_assert(condition_parse(text, strlen(text), &condition, NULL));
	condition_settle(&condition);
	return condition_judge(&condition, self, 0, &request);
}

static const struct {
	const char *text;
	bool outside, inside; /* of a request, a probed function, and a call */
} places[] = {
	/*  0 */ { "", true, true },
	/*  1 */ { "request", false, true },
	/*  2 */ { "op:parse", false, true },
	/*  3 */ { "op:par*", false, true },
	/*  4 */ { "op:arse", false, false },
	/*  5 */ { "op:fsync", false, false }, /* a call of libc's is none */
	/*  6 */ { "class:fsync", false, true },
	/*  7 */ { "class:parse", false, true },
	/*  8 */ { "class:thread", false, false },
	/*  9 */ { "request and op:parse", false, true },
	/* 10 */ { "request and op:other", false, false },
	/* 11 */ { "lock", false, false },
};

START_TEST(what_a_thread_is_in)
{
	uint64_t op, call;

	begin();
	ck_assert_int_eq(judge(places[_i].text) == CONDITION_YES, places[_i].outside);
	read_some();
	op = begin_op(KIND_OP_USER, "parse");
	call = begin_op(KIND_IO, "fsync");
	ck_assert_int_eq(judge(places[_i].text) == CONDITION_YES, places[_i].inside);
	op_end(self, call, OUTCOME_OK, 0);
	op_end(self, op, OUTCOME_OK, 0);
	op_end(self, begin_op(KIND_IO, "read"), OUTCOME_OK, 0);
	ck_assert_int_eq(judge(places[_i].text) == CONDITION_YES, places[_i].outside);
	self_leave(self);
	recording_end();
}
END_TEST

START_TEST(declared_ops_and_those_around_them)
{
	wcprof_op outer, inner;

	begin();
	self_leave(self);
	outer = wcprof_v1_begin(0, WCPROF_KIND_USER, "outer", NULL);
	inner = wcprof_v1_begin(outer, WCPROF_KIND_CALL, "inner", NULL);
	wcprof_v1_leave(inner);
	wcprof_v1_leave(outer);
	self = self_enter();
	ck_assert_int_eq(judge("op:inner"), CONDITION_NO);
	self_leave(self);
	/* As a thread of a pool does that gets the inner one alone. */
	wcprof_v1_adopt(inner);
	self = self_enter();
	ck_assert_int_eq(judge("op:inner"), CONDITION_YES);
	ck_assert_int_eq(judge("op:outer"), CONDITION_YES);
	ck_assert_int_eq(judge("class:outer"), CONDITION_YES);
	ck_assert_int_eq(judge("op:neither"), CONDITION_NO);
	self_leave(self);
	wcprof_v1_end(inner, WCPROF_OK, 0);
	wcprof_v1_end(outer, WCPROF_OK, 0);
	self = self_enter();
	ck_assert_int_eq(judge("op:outer"), CONDITION_NO);
	self_leave(self);
	recording_end();
}
END_TEST

START_TEST(locks_by_name_and_address)
{
	char name[64];
	struct hold_release release;
	struct watch *watch;
	uint32_t bytes;

	begin();
	watch = watch_get(self, &global_lock, WATCH_MUTEX);
	ck_assert_int_eq(judge("lock"), CONDITION_NO);
	hold_begin(self, watch, 0, __builtin_frame_address(0));
	ck_assert_int_eq(judge("lock"), CONDITION_YES);
	snprintf(name, sizeof(name), "lock:%s", strings_get(recorder_arena, watch->ident, &bytes));
	ck_assert_int_eq(judge(name), CONDITION_YES);
	ck_assert_int_eq(judge("lock:test_condition+0x*"), CONDITION_YES);
	ck_assert_int_eq(judge("lock:rwlock*"), CONDITION_NO);
	snprintf(name, sizeof(name), "lock:%p", (void *)&global_lock);
	ck_assert_int_eq(judge(name), CONDITION_YES);
	ck_assert_int_eq(judge("lock:0x10"), CONDITION_NO);
	hold_release(self, watch, &release);
	ck_assert_int_eq(judge("lock"), CONDITION_NO);
	hold_record(self, watch, &release);
	ck_assert_int_eq(judge("lock"), CONDITION_NO);
	self_leave(self);
	recording_end();
}
END_TEST

/* Frames of the call that took the lock: 0x1000 is where it returns to. */
START_TEST(locks_by_where_they_were_taken)
{
	static const uint64_t frames[] = { 0x1000, 0x2008 };
	static const struct {
		struct condition_range ranges[2];
		uint64_t count;
		bool is_there;
	} rows[] = {
		/* 0 */ { { { 0xff0, 0x1000 } }, 1, true },
		/* 1: the next line's */ { { { 0x1000, 0x1010 } }, 1, false },
		/* 2: by a function that was called there */ { { { 0x2000, 0x2010 } }, 1, true },
		/* 3 */ { { { 0x10, 0x20 }, { 0x2000, 0x2010 } }, 2, true },
		/* 4 */ { { { 0x10, 0x20 }, { 0x2000, 0x2010 } }, 1, false },
		/* 5: nobody has said where it is */ { { { 0 } }, 0, false },
	};
	struct hold_release release;
	struct watch *watch;

	begin();
	ck_assert(condition_parse("lock@flush", 10, &condition, NULL));
	ck_assert_str_eq(condition_site(&condition), "flush");
	memcpy(condition.sites.ranges, rows[_i].ranges, sizeof(rows[_i].ranges));
	condition.sites.count = rows[_i].count;
	watch = watch_get(self, &global_lock, WATCH_MUTEX);
	hold_begin(self, watch, stack_intern(frames, 2), __builtin_frame_address(0));
	ck_assert_int_eq(condition_judge(&condition, self, 0, &request) == CONDITION_YES,
			 rows[_i].is_there);
	hold_release(self, watch, &release);
	hold_record(self, watch, &release);
	/* One whose stack is not known. */
	hold_begin(self, watch, 0, __builtin_frame_address(0));
	ck_assert_int_eq(condition_judge(&condition, self, 0, &request), CONDITION_NO);
	hold_release(self, watch, &release);
	hold_record(self, watch, &release);
	self_leave(self);
	recording_end();
}
END_TEST

START_TEST(a_request_grows_old)
{
	begin();
	ck_assert_int_eq(judge("request>1ms"), CONDITION_NO);
	read_some();
	ck_assert_int_eq(judge("request>1ms"), CONDITION_LATER);
	ck_assert_uint_eq(request.begun_ticks, 1000000);
	ck_assert(!condition_is_reached(&condition, request, clock_test_ticks));
	clock_test_ticks += condition.terms[0].least_ticks;
	ck_assert(condition_is_reached(&condition, request, clock_test_ticks));
	ck_assert_int_eq(judge("request>1ms"), CONDITION_YES);
	/* Another CPU's clock may be behind. */
	ck_assert(!condition_is_reached(&condition, request, request.begun_ticks - 1));
	ck_assert_int_eq(judge("request>1ms and op:x"), CONDITION_NO);
	self_leave(self);
	recording_end();
}
END_TEST

START_TEST(a_percentile_is_not_known_at_first)
{
	begin();
	for (int i = 0; i < 256; i++) {
		read_some();
		if (i == 50) {
			clock_test_ticks += 1000000;
			ck_assert_int_eq(judge("request>p95"), CONDITION_LATER);
		}
		clock_test_ticks += 1000;
		op_end(self, begin_op(KIND_IO, "write"), OUTCOME_OK, 4);
	}
	read_some();
	clock_test_ticks += 900;
	ck_assert_int_eq(judge("request>p95"), CONDITION_LATER);
	clock_test_ticks += 200;
	ck_assert_int_eq(judge("request>p95"), CONDITION_YES);
	self_leave(self);
	recording_end();
}
END_TEST

SUITE()
{
	EACH(a_text_is_a_condition_or_says_why_not, texts);
	TEST(nothing_too_long_is_taken);
	TEST(bounds_are_read);
	EACH(what_a_thread_is_in, places);
	TEST(declared_ops_and_those_around_them);
	TEST(locks_by_name_and_address);
	LOOP(locks_by_where_they_were_taken, 0, 6);
	TEST(a_request_grows_old);
	TEST(a_percentile_is_not_known_at_first);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, ops have wrong parents, ends or results. */
#include "op.h"

#include <fcntl.h>
#include <sys/socket.h>

#include "calls.h"
#include "suite.h"

START_TEST(an_inner_op_belongs_to_the_outer_one)
{
	uint64_t outer = begin(KIND_OP_USER, 500);
	uint64_t inner = begin(KIND_IO, 400);
	json_t *lines, *event;

	ck_assert_uint_eq(op_current(self), inner);
	op_end(self, inner, OUTCOME_OK, 100);
	ck_assert_uint_eq(op_current(self), outer);
	op_end(self, outer, OUTCOME_OK, 0);
	ck_assert_uint_eq(op_current(self), (1ULL << 32) + 1);
	lines = recording_dump(true);
	event = event_of(lines, "k", "io");
	ck_assert_uint_eq((uint64_t)number_of(event, "p"), outer);
	ck_assert_int_eq(number_of(event, "n"), 100);
	ck_assert_int_eq(number_of(event, "fd"), 3);
	ck_assert_int_eq(number_of(event, "th"), 1);
	ck_assert_str_eq(word_of(event, "o"), "ok");
	ck_assert_str_eq(word_of(event, "w"), "external");
	ck_assert_str_eq(name_of(lines, event, "c"), "read");
	ck_assert_int_le(number_of(event, "s"), number_of(event, "d"));
}
END_TEST

START_TEST(a_failed_io_is_an_error)
{
	uint64_t op = begin(KIND_IO, 500);
	json_t *event;

	op_end(self, op, OUTCOME_OK, (uint64_t)-11);
	event = event_of(recording_dump(true), "k", "io");
	ck_assert_str_eq(word_of(event, "o"), "error");
	ck_assert_int_eq(number_of(event, "err"), 11);
	ck_assert_ptr_null(json_object_get(event, "n"));
}
END_TEST

START_TEST(a_sleep_says_what_was_asked_for)
{
	uint64_t op = op_begin(self, KIND_SLEEP, CALL_READ, 5000, -1, 0, FRAME(500));
	json_t *event;

	op_set_flags(self, op, RECORD_ABSOLUTE);
	op_set_ident(self, op, CALL_LOCK);
	op_end(self, op, OUTCOME_OK, 5000);
	event = event_of(recording_dump(true), "k", "sleep");
	ck_assert_int_eq(number_of(event, "rq"), 5000);
	ck_assert_int_eq(number_of(event, "abs"), 1);
	ck_assert_int_eq(number_of(event, "i"), CALL_LOCK);
	ck_assert_ptr_null(json_object_get(event, "fd"));
}
END_TEST

/* Bytes on connections and pipes say who waited for whom, however short their calls are. */
static const struct {
	enum { NO_FILE, ZERO, PIPE, SOCKET, UNKNOWN } descriptor;
	enum kind kind;
	uint32_t count; /* another descriptor, a lock or the like */
	bool is_left_out;
} short_calls[] = {
	/* 0 */ { ZERO, KIND_IO, 0, true },
	/* 1 */ { NO_FILE, KIND_IO, 0, true },
	/* 2 */ { PIPE, KIND_IO, 0, false },
	/* 3 */ { SOCKET, KIND_IO, 0, false },
	/* 4 */ { UNKNOWN, KIND_IO, 0, false },
	/* 5 */ { ZERO, KIND_IO, CALL_LOCK, false },
	/* 6 */ { NO_FILE, KIND_OP_USER, 0, false },
	/* 7 */ { ZERO, KIND_POLL, 0, false },
};

static int descriptor_of(int row)
{
	int ends[2];

	switch (short_calls[row].descriptor) {
	case ZERO:
		return open("/dev/zero", O_RDONLY | O_CLOEXEC);
	case PIPE:
		ck_assert_int_eq(pipe(ends), 0);
		return ends[0];
	case SOCKET:
		return socket(AF_UNIX, SOCK_STREAM, 0);
	case UNKNOWN:
		return INT32_MAX;
	case NO_FILE:
		break;
	}
	return -1;
}

START_TEST(short_calls_of_files_may_be_left_out)
{
	uint64_t op = op_begin(self, short_calls[_i].kind, CALL_READ, 0, descriptor_of(_i), 0,
			       FRAME(400));
	bool is_left_out = short_calls[_i].is_left_out;

	op_min_io_ticks = UINT64_MAX;
	op_set_count(self, op, short_calls[_i].count);
	op_end(self, op, OUTCOME_OK, 1);
	ck_assert_uint_eq(snapshot_pending(recorder_arena), !is_left_out);
	ck_assert_uint_eq(roster_counter(recorder_arena, COUNTER_skipped_io), is_left_out);
	ck_assert_uint_eq(snapshot_losses(recorder_arena), 0);
}
END_TEST

START_TEST(an_end_without_a_beginning_is_counted)
{
	op_end(self, 12345, OUTCOME_OK, 0);
	ck_assert_uint_eq(roster_counter(recorder_arena, COUNTER_lost_ends), 1);
	ck_assert_uint_eq(snapshot_pending(recorder_arena), 0);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(an_inner_op_belongs_to_the_outer_one);
	TEST(a_failed_io_is_an_error);
	TEST(a_sleep_says_what_was_asked_for);
	LOOP(short_calls_of_files_may_be_left_out, 0, sizeof(short_calls) / sizeof(short_calls[0]));
	TEST(an_end_without_a_beginning_is_counted);
}

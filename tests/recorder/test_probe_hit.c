/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, calls of a probed function are counted or recorded wrongly. */
#include "probe_hit.h"

#include <sys/socket.h>

#include "probe_patch.h"
#include "probed.h"
#include "recording.h"
#include "suite.h"

static void probe(uint64_t min_ns)
{
	struct probe_order order = probed_order();

	recording_begin();
	order.min_ns = min_ns;
	ck_assert_ptr_null(probe_add(&order, 0));
}

static void probe_when(const char *when)
{
	struct probe_order order = probed_order();

	recording_begin();
	memcpy(order.when, when, strlen(when));
	ck_assert_ptr_null(probe_add(&order, 0));
}

START_TEST(short_calls_are_counted_and_not_recorded)
{
	probe(UINT64_C(3600000000000));
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(probed(i), i + 1);
	ck_assert_uint_eq(probe_hits(0, PROBE_CALLS), 5);
	ck_assert_uint_eq(probe_hits(0, PROBE_BRIEF), 5);
	ck_assert_uint_eq(count_events(recording_dump(false), "k", "user"), 0);
	recording_end();
}

START_TEST(nothing_is_recorded_while_recording_is_off)
{
	probe(0);
	switch_disable();
	ck_assert_int_eq(probed(1), 2);
	ck_assert_uint_eq(probe_hits(0, PROBE_CALLS), 0);
	ck_assert_int_eq(switch_enable(), 0);
	ck_assert_int_eq(probed(1), 2);
	ck_assert_uint_eq(probe_hits(0, PROBE_CALLS), 1);
	recording_end();
}

/* A hit within the recorder itself, as by a signal's handler, is no op. */
START_TEST(a_hit_within_the_recorder_is_none)
{
	struct self *self;

	probe(0);
	self = self_enter();
	self->busy_frame = self->stack_top;
	ck_assert_int_eq(probed(1), 2);
	self_leave(self);
	ck_assert_uint_eq(probe_hits(0, PROBE_CALLS), 0);
	recording_end();
}

START_TEST(entries_are_left_for_what_is_called)
{
	struct probe_stack stacks[SLOT_ENTRIES];

	probe(0);
	for (int i = SLOT_ENTRIES; i-- > 0;) {
		stacks[i] = (struct probe_stack){ .index = 0 };
		probe_enter(&stacks[i]);
		ck_assert_uint_eq(stacks[i].moved, probe_table[0].moved);
	}
	ck_assert_uint_ne(stacks[SLOT_ENTRIES - 1].op, 0);
	ck_assert_uint_eq(stacks[0].op, 0);
	for (int i = 0; i < SLOT_ENTRIES; i++)
		probe_leave(&stacks[i]);
	ck_assert_uint_eq(probe_hits(0, PROBE_CALLS), SLOT_ENTRIES);
	ck_assert_uint_eq(count_events(recording_dump(false), "k", "user"), SLOT_ENTRIES - 9);
	recording_end();
}

/* The clock stands still, and goes on within the call. */
static int request_ends[2];

static void begin_request(void)
{
	struct self *self = self_enter();

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, request_ends), 0);
	descriptor_accepted(self, request_ends[0]);
	op_end(self,
	       op_begin(self, KIND_IO, CALL_READ, 0, request_ends[0], 0,
			__builtin_frame_address(0)),
	       OUTCOME_OK, 1);
	self_leave(self);
}

static void hit(uint64_t ticks)
{
	struct probe_stack stack = { .index = 0 };

	probe_enter(&stack);
	clock_test_ticks += ticks;
	probe_leave(&stack);
}

START_TEST(calls_outside_of_the_condition_are_counted)
{
	probe_when("op:never");
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(probed(i), i + 1);
	ck_assert_uint_eq(probe_hits(0, PROBE_CALLS), 5);
	ck_assert_uint_eq(probe_hits(0, PROBE_UNMET), 5);
	ck_assert(!requests_are_followed());
	ck_assert_uint_eq(count_events(recording_dump(false), "k", "user"), 0);
	recording_end();
}

/* The age of the request counts that it has when the call ends. */
START_TEST(a_request_may_become_old_within_the_call)
{
	uint64_t least;

	probe_when("request>1ms");
	ck_assert(requests_are_followed());
	clock_kind = 0;
	clock_test_ticks = 1000000;
	least = probe_table[0].when.terms[0].least_ticks;
	hit(10 * least); /* outside of a request */
	ck_assert_uint_eq(probe_hits(0, PROBE_UNMET), 1);
	begin_request();
	hit(least / 4);
	ck_assert_uint_eq(probe_hits(0, PROBE_UNMET), 2);
	hit(least);
	hit(1);
	ck_assert_uint_eq(probe_hits(0, PROBE_UNMET), 2);
	ck_assert_uint_eq(probe_hits(0, PROBE_CALLS), 4);
	ck_assert_uint_eq(count_events(recording_dump(false), "k", "user"), 2);
	ck_assert_uint_eq(probe_remove("", 0), 1);
	ck_assert(!requests_are_followed());
	recording_end();
}

START_TEST(a_condition_that_is_none_is_refused)
{
	struct probe_order order = probed_order();

	ck_assert(probe_order_is_valid(&order));
	memcpy(order.when, "request>", 8);
	ck_assert(!probe_order_is_valid(&order));
	memset(order.when, 'x', sizeof(order.when));
	ck_assert(!probe_order_is_valid(&order));
}

/* Registers are as they are at the place, and the stack begins there. */
START_TEST(a_moment_has_its_values_and_its_stack)
{
	struct probe_order order = passed_order();
	json_t *lines, *op;

	recording_begin();
	order.code.fetch_count = 2;
	order.code.fetches[0] =
		(struct probe_fetch){ .name = "number", .reg = PROBE_RDI, .size = 4 };
	order.code.fetches[1] = (struct probe_fetch){
		.name = "kept",
		.reg = PROBE_RSP,
		.add = -8,
		.size = 4,
		.step_count = 1,
		.steps = { { .bytes = 4 } },
	};
	ck_assert_ptr_null(probe_add(&order, 0));
	ck_assert_int_eq(passed(7), 7);
	ck_assert_uint_eq(probe_remove("", 0), 1);
	lines = recording_dump(false);
	op = event_of(lines, "k", "user");
	ck_assert_str_eq(name_of(lines, op, "c"), "passed");
	ck_assert_int_eq(json_integer_value(json_object_get(op, "s")),
			 json_integer_value(json_object_get(op, "d")));
	ck_assert_str_eq(name_of(lines, op, "vn"), "number");
	ck_assert_int_eq(json_integer_value(json_object_get(op, "v")), 7);
	ck_assert_str_eq(name_of(lines, op, "vn2"), "kept");
	ck_assert_uint_eq(count_events(lines, "lk", "value"), 0);
	recording_end();
}
END_TEST

/* Two are in the op itself, the second if it is whole and has 32 bits; all others are links. */
START_TEST(values_that_find_no_room_are_links)
{
	static const struct {
		int64_t values[3];
		enum probe_type type;
		int64_t own;
		uint32_t links;
	} rows[] = {
		/* 0 */ { { 1, 2, 3 }, PROBE_UNSIGNED, 2, 1 },
		/* 1 */ { { 1, UINT32_MAX, 3 }, PROBE_UNSIGNED, UINT32_MAX, 1 },
		/* 2 */ { { 1, UINT32_MAX + INT64_C(1), 3 }, PROBE_UNSIGNED, 0, 2 },
		/* 3 */ { { INT64_MIN, -2, 3 }, PROBE_SIGNED, -2, 1 },
		/* 4 */ { { 1, INT32_MAX + INT64_C(1), 3 }, PROBE_SIGNED, 0, 2 },
		/* 5 */ { { 1, 2, 3 }, PROBE_REAL, 0, 2 },
	};
	struct probe_order order = passed_order();
	json_t *lines, *op;

	recording_begin();
	order.code.fetch_count = 3;
	for (int i = 0; i < 3; i++)
		order.code.fetches[i] = (struct probe_fetch){ .name = { 'a' },
							      .start = PROBE_FROM_ZERO,
							      .add = rows[_i].values[i],
							      .type = (uint8_t)rows[_i].type,
							      .size = 8 };
	order.code.has_reals = probe_code_has_reals(&order.code);
	ck_assert_ptr_null(probe_add(&order, 0));
	ck_assert_int_eq(passed(7), 7);
	ck_assert_uint_eq(probe_remove("", 0), 1);
	lines = recording_dump(false);
	op = event_of(lines, "k", "user");
	ck_assert_int_eq(json_integer_value(json_object_get(op, "v")), rows[_i].values[0]);
	ck_assert_int_eq(json_integer_value(json_object_get(op, "v2")), rows[_i].own);
	ck_assert_uint_eq(count_events(lines, "lk", "value"), rows[_i].links);
	recording_end();
}

/* One call in ten takes ten times as long. */
START_TEST(the_slowest_calls_are_recorded)
{
	struct probe_order order = probed_order();

	recording_begin();
	order.min_permille = 950;
	ck_assert_ptr_null(probe_add(&order, 0));
	clock_kind = 0;
	clock_test_ticks = 1000000;
	for (int i = 0; i < 2000; i++)
		hit(i % 10 == 9 ? 10000 + (uint64_t)(i * 7 % 1009) : 1000);
	ck_assert_uint_eq(probe_hits(0, PROBE_CALLS), 2000);
	/* The first 64, and then the longer half of the long ones, as far as that was known. */
	ck_assert_uint_ge(probe_hits(0, PROBE_BRIEF), 1750);
	ck_assert_uint_le(probe_hits(0, PROBE_BRIEF), 1900);
	ck_assert_uint_gt(probe_table[0].min_ticks, 10000);
	recording_end();
}

static json_t *open_call(const json_t *lines)
{
	json_t *opens = json_object_get(json_array_get(lines, 0), "open_ops");

	for (size_t i = 0; i < json_array_size(opens); i++)
		if (strcmp(word_of(json_array_get(opens, i), "kind"), "user") == 0)
			return json_array_get(opens, i);
	return NULL;
}

/* Else the few that were recorded would be taken for all. */
START_TEST(a_call_says_that_others_are_left_out)
{
	static const struct {
		uint64_t min_ns;
		uint16_t min_permille;
		const char *when;
		uint8_t op_count; /* of a condition: that a value, which is 1, is not 0 */
		int is_chosen;
	} rows[] = {
		/* 0 */ { 0, 0, "", 0, 0 },
		/* 1 */ { 1, 0, "", 0, 1 },
		/* 2 */ { 0, 990, "", 0, 1 },
		/* 3 */ { 0, 0, "request", 0, 1 },
		/* 4 */ { 0, 0, "", 1, 1 },
	};
	struct probe_order order = probed_order();
	struct probe_stack stack = { .index = 0 };

	recording_begin();
	order.min_ns = rows[_i].min_ns;
	order.min_permille = rows[_i].min_permille;
	snprintf(order.when, sizeof(order.when), "%s", rows[_i].when);
	order.code.op_count = rows[_i].op_count;
	if (order.code.op_count) {
		order.code.fetch_count = 1;
		order.code.fetches[0] = (struct probe_fetch){
			.name = { 'a' }, .start = PROBE_FROM_ZERO, .add = 1, .size = 8
		};
		order.code.ops[0] = (struct probe_op){ .code = PROBE_OP_FETCH };
	}
	ck_assert_ptr_null(probe_add(&order, 0));
	begin_request();
	probe_enter(&stack);
	ck_assert_uint_ne(stack.op, 0);
	ck_assert_int_eq(number_of(open_call(recording_dump(false)), "ch"), rows[_i].is_chosen);
	probe_leave(&stack);
	ck_assert_int_eq(number_of(event_of(recording_dump(false), "k", "user"), "ch"),
			 rows[_i].is_chosen);
	recording_end();
}

/* At a place, a request is old enough or it is not. */
START_TEST(a_moment_does_not_wait_for_a_condition)
{
	struct probe_order order = passed_order();

	recording_begin();
	snprintf(order.when, sizeof(order.when), "request>1000s");
	ck_assert_ptr_null(probe_add(&order, 0));
	begin_request();
	ck_assert_int_eq(passed(7), 7);
	ck_assert_int_eq(passed(70), -70);
	ck_assert_uint_eq(probe_hits(0, PROBE_UNMET), 2);
	ck_assert_uint_eq(count_events(recording_dump(false), "k", "user"), 0);
	recording_end();
}

SUITE()
{
	TEST(calls_outside_of_the_condition_are_counted);
	TEST(a_request_may_become_old_within_the_call);
	TEST(a_condition_that_is_none_is_refused);
	TEST(short_calls_are_counted_and_not_recorded);
	TEST(nothing_is_recorded_while_recording_is_off);
	TEST(a_hit_within_the_recorder_is_none);
	TEST(entries_are_left_for_what_is_called);
	TEST(the_slowest_calls_are_recorded);
	TEST(a_moment_has_its_values_and_its_stack);
	LOOP(values_that_find_no_room_are_links, 0, 6);
	TEST(a_moment_does_not_wait_for_a_condition);
	LOOP(a_call_says_that_others_are_left_out, 0, 5);
}

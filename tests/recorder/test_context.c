/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, what is recorded carries ids of another trace, or of none, or of too many. */
#include "recording.h"

#include "context.h"
#include "roster.h"
#include "suite.h"
#include "watch.h"

struct published {
	uint8_t trace_id[16];
	uint8_t span_id[8];
	uint8_t valid;
	uint8_t flags;
	uint8_t attribute_bytes[2];
};

static __thread struct published *pointer;
static struct published published = { .trace_id = { 1, [15] = 2 }, .span_id = { 3 }, .valid = 1 };

static void teardown(void)
{
	recording_end();
}

/* The pointer's distance from the thread's own block. */
static void begin(void)
{
	const struct context_place place = {
		.offset = (uint64_t)(uintptr_t)&pointer -
			  (uint64_t)(uintptr_t)__builtin_thread_pointer()
	};

	recording_begin();
	context_publish(&place);
}

static size_t dump_contexts(void)
{
	return count_events(recording_dump(true), "e", "ctx");
}

START_TEST(only_what_has_changed_is_written)
{
	json_t *lines;

	begin();
	record_io(1);
	pointer = &published;
	record_io(1);
	record_io(1);
	published.span_id[7] = 9;
	record_io(1);
	pointer = NULL;
	record_io(1);
	lines = recording_dump(true);
	ck_assert_uint_eq(count_events(lines, "e", "ctx"), 3);
	ck_assert_str_eq(word_of(event_of(lines, "e", "ctx"), "ti"),
			 "01000000000000000000000000000002");
	ck_assert_str_eq(word_of(event_of(lines, "e", "ctx"), "si"), "0300000000000000");
}
END_TEST

/* Each dump can be read alone. */
START_TEST(each_dump_has_them)
{
	begin();
	pointer = &published;
	record_io(1);
	ck_assert_uint_eq(dump_contexts(), 1);
	record_io(1);
	record_io(1);
	ck_assert_uint_eq(dump_contexts(), 1);
	pointer = NULL;
	record_io(1);
	ck_assert_uint_eq(dump_contexts(), 1);
	record_io(1);
	ck_assert_uint_eq(dump_contexts(), 0);
}
END_TEST

/* So does each chunk, as a ring forgets the oldest. */
START_TEST(each_chunk_has_them)
{
	begin();
	pointer = &published;
	for (int i = 0; i < 3 * CHUNK_WORDS; i++)
		record_io(1);
	ck_assert_uint_ge(dump_contexts(), 3);
}
END_TEST

START_TEST(a_record_that_is_being_changed_is_not_read)
{
	begin();
	pointer = &published;
	record_io(1);
	published.valid = 0;
	published.span_id[0] = 77;
	record_io(1);
	published.valid = 1;
	published.span_id[0] = 3;
	record_io(1);
	ck_assert_uint_eq(dump_contexts(), 1);
	ck_assert_uint_eq(roster_counter(recorder_arena, COUNTER_skipped_contexts), 1);
}
END_TEST

/* It began before the look at the ids. */
START_TEST(a_hold_begins_with_its_ids)
{
	static pthread_mutex_t lock;
	struct self *self;
	json_t *lines;

	begin();
	self = self_enter();
	struct watch *watch = watch_get(self, &lock, WATCH_MUTEX);
	pointer = &published;
	hold_begin_since(self, watch, 0, clock_now_ticks());
	self_leave(self);
	lines = recording_dump(true);
	ck_assert_int_le(
		number_of(event_of(lines, "e", "ctx"), "s"),
		number_of(json_array_get(json_object_get(json_array_get(lines, 0), "open_ops"), 1),
			  "start_ns"));
}
END_TEST

/* By the program itself; its record is not looked at then. */
START_TEST(what_is_said_stands)
{
	static const uint8_t other[16] = { 7 };
	struct self *self;
	json_t *lines;

	begin();
	pointer = &published;
	self = self_enter();
	context_say(self, other, NULL);
	self_leave(self);
	record_io(1);
	lines = recording_dump(true);
	ck_assert_uint_eq(count_events(lines, "e", "ctx"), 1);
	ck_assert_str_eq(word_of(event_of(lines, "e", "ctx"), "ti"),
			 "07000000000000000000000000000000");
	ck_assert_ptr_null(json_object_get(event_of(lines, "e", "ctx"), "si"));
	record_io(1);
	ck_assert_uint_eq(dump_contexts(), 1);
}
END_TEST

START_TEST(what_was_withdrawn_is_not_read)
{
	begin();
	context_publish(NULL);
	pointer = &published;
	record_io(1);
	ck_assert_uint_eq(dump_contexts(), 0);
}
END_TEST

SUITE()
{
	FIXTURE(NULL, teardown);
	TEST(only_what_has_changed_is_written);
	TEST(each_dump_has_them);
	TEST(each_chunk_has_them);
	TEST(a_record_that_is_being_changed_is_not_read);
	TEST(a_hold_begins_with_its_ids);
	TEST(what_is_said_stands);
	TEST(what_was_withdrawn_is_not_read);
}

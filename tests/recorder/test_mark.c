/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a recording says that a thread computed while it slept, or the other way round. */
#include "recording.h"

#include "chunk.h"
#include "mark.h"
#include "suite.h"

static void setup(void)
{
	setenv("WCPROF_CPU_TIME", "1", 1);
	recording_begin();
}

static void teardown(void)
{
	recording_end();
}

/* The `index`th sample of a thread; NULL: it has no more. */
static json_t *sample_of(const json_t *lines, json_int_t thread, int index)
{
	for (size_t i = 1; i < json_array_size(lines); i++) {
		json_t *event = json_array_get(lines, i);

		if (strcmp(word_of(event, "e"), "sample") == 0 &&
		    number_of(event, "th") == thread && index-- == 0)
			return event;
	}
	return NULL;
}

static void burn(uint64_t cpu_ns)
{
	uint64_t until = clock_thread_cpu_ns() + cpu_ns;

	while (clock_thread_cpu_ns() < until)
		continue;
}

static void *live(void *unused)
{
	thread_begin(0, 0, NULL, __builtin_frame_address(0));
	burn(3000000);
	thread_end();
	return unused;
}

START_TEST(a_thread_begins_and_ends_with_a_mark)
{
	pthread_t thread;
	json_t *lines, *first, *last;

	pthread_create(&thread, NULL, live, NULL);
	pthread_join(thread, NULL);
	lines = recording_dump(true);
	first = sample_of(lines, 1, 0);
	last = sample_of(lines, 1, 1);
	ck_assert_ptr_nonnull(last);
	ck_assert_ptr_null(sample_of(lines, 1, 2));
	ck_assert_int_ge(number_of(last, "cpu") - number_of(first, "cpu"), 3000000);
	ck_assert_int_le(number_of(last, "cpu") - number_of(first, "cpu"),
			 number_of(last, "s") - number_of(first, "s") + 100000);
	ck_assert_int_eq(number_of(last, "p"), (1LL << 32) + 1);
	ck_assert_int_eq(number_of(json_array_get(lines, 0), "event_count"),
			 (json_int_t)json_array_size(lines) - 1);
}
END_TEST

START_TEST(a_sleeping_thread_uses_no_time)
{
	struct timespec pause = { 0, 30000000 };
	struct self *self;
	json_t *lines, *first, *last;
	uint64_t op;

	self = self_enter();
	mark_write(self, clock_ticks());
	op = op_begin(self, KIND_SLEEP, CALL_READ, 0, -1, 0, __builtin_frame_address(0));
	self_leave(self);
	nanosleep(&pause, NULL);
	self = self_enter();
	op_end(self, op, OUTCOME_OK, 0);
	self_leave(self);
	lines = recording_dump(true);
	first = sample_of(lines, 1, 1);
	last = sample_of(lines, 1, 2);
	ck_assert_int_ge(number_of(last, "s") - number_of(first, "s"), 30000000);
	ck_assert_int_lt(number_of(last, "cpu") - number_of(first, "cpu"), 30000000);
}
END_TEST

enum call { IO, WAIT, USER, HOLD };

static const struct {
	uint64_t after_ticks; /* the last mark */
	enum call call;
	uint32_t marks;
} rows[] = {
	/* 0 */ { MARK_GAP_TICKS - 1, IO, 0 },
	/* 1 */ { MARK_GAP_TICKS, IO, 1 },
	/* 2 */ { MARK_GAP_TICKS - 1, WAIT, 0 },
	/* 3 */ { MARK_GAP_TICKS, WAIT, 1 },
	/* 4: blocks nobody */ { 10 * MARK_GAP_TICKS, USER, 0 },
	/* 5 */ { 10 * MARK_GAP_TICKS, HOLD, 0 },
};

static void call(struct self *self, enum call call)
{
	static const enum kind kinds[] = {
		[IO] = KIND_IO, [USER] = KIND_OP_USER, [HOLD] = KIND_HOLD
	};
	uint64_t handle;

	if (call == WAIT) {
		handle = wait_begin(self, REASON_COND, CALL_LOCK, kinds, 0, 0,
				    __builtin_frame_address(0));
		wait_end(self, handle, 0, 0);
	} else {
		handle = op_begin(self, kinds[call], CALL_READ, 0, -1, 0,
				  __builtin_frame_address(0));
		op_end(self, handle, OUTCOME_OK, 0);
	}
}

static uint32_t count_marks(uint64_t parent)
{
	const struct chunk *chunk = chunk_at(recorder_arena, 0);
	struct recording_reader reader = recording_read(chunk, 0, chunk->published);
	struct record record;
	uint32_t count = 0;

	while (recording_next(&reader, &record))
		count += record.type == RECORD_SAMPLE && record.parent == parent;
	return count;
}

START_TEST(marks_come_after_calls_that_block)
{
	struct self *self = self_enter();
	uint64_t outer;

	clock_kind = 0;
	clock_test_ticks = self->marked_ticks + rows[_i].after_ticks;
	outer = op_begin(self, KIND_OP_USER, CALL_READ, 0, -1, 0,
			 (char *)__builtin_frame_address(0) + 64);
	call(self, rows[_i].call);
	call(self, rows[_i].call);
	ck_assert_uint_eq(count_marks(outer), rows[_i].marks);
	self_leave(self);
}
END_TEST

static pthread_barrier_t barrier;

static void *stay(void *unused)
{
	thread_begin(0, 0, NULL, __builtin_frame_address(0));
	burn(1000000);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return unused;
}

START_TEST(a_dump_marks_all_that_live)
{
	pthread_t thread;
	json_t *first, *last;

	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, stay, NULL);
	pthread_barrier_wait(&barrier);
	first = sample_of(recording_dump(true), 1, 1);
	last = sample_of(recording_dump(true), 1, 0);
	ck_assert_ptr_nonnull(last);
	ck_assert_int_ge(number_of(first, "cpu"), 1000000);
	ck_assert_int_ge(number_of(last, "cpu"), number_of(first, "cpu"));
	ck_assert_int_gt(number_of(last, "s"), number_of(first, "s"));
	ck_assert_int_eq(number_of(last, "p"), (1LL << 32) + 1);
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
}
END_TEST

/* Work after the last call shows, though nobody can ask the kernel any more. */
START_TEST(the_end_of_a_process_marks_all_that_live)
{
	json_t *lines, *last;
	uint64_t before_ns;

	record_io(1);
	before_ns = clock_thread_cpu_ns();
	burn(2000000);
	recorder_image_ends(END_PERHAPS);
	lines = recording_dump_of(recorder_arena, DUMP_DEAD, true);
	last = sample_of(lines, 1, 0);
	for (int i = 1; sample_of(lines, 1, i); i++)
		last = sample_of(lines, 1, i);
	ck_assert_ptr_nonnull(last);
	ck_assert_int_ge(number_of(last, "cpu"), (json_int_t)before_ns + 2000000);
	ck_assert_int_le(number_of(last, "s"),
			 number_of(json_array_get(lines, 0), "dumped_unix_nano") -
				 number_of(json_array_get(lines, 0), "epoch_unix_nano"));
}
END_TEST

/* Recording was turned off once, on again, dumped, and then the process died. */
START_TEST(a_dead_process_has_no_mark_of_before_its_last_dump)
{
	self_leave(self_enter());
	switch_disable();
	ck_assert_int_eq(switch_enable(), 0);
	self_leave(self_enter());
	ck_assert_ptr_nonnull(
		sample_of(recording_dump_of(recorder_arena, DUMP_RUNNING, true), 1, 1));
	ck_assert_ptr_null(sample_of(recording_dump_of(recorder_arena, DUMP_DEAD, true), 1, 0));
}
END_TEST

START_TEST(none_are_written_when_none_are_wanted)
{
	mark_gap_ticks = MARK_NEVER;
	record_io(1);
	thread_end();
	ck_assert_uint_eq(count_events(recording_dump(true), "e", "sample"), 0);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(a_thread_begins_and_ends_with_a_mark);
	TEST(a_sleeping_thread_uses_no_time);
	EACH(marks_come_after_calls_that_block, rows);
	TEST(a_dump_marks_all_that_live);
	TEST(the_end_of_a_process_marks_all_that_live);
	TEST(a_dead_process_has_no_mark_of_before_its_last_dump);
	TEST(none_are_written_when_none_are_wanted);
}

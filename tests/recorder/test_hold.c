/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, holds are lost or have the wrong length, or waits name the wrong holder. */
#include "watch.h"

#include "chunk.h"
#include "opening.h"
#include "recording.h"
#include "suite.h"

static struct self *self;
static pthread_mutex_t global_lock;

static void setup(void)
{
	recording_begin();
	self = self_enter();
}

static void teardown(void)
{
	self_leave(self);
	recording_end();
}

START_TEST(a_hold_is_an_op)
{
	struct watch *watch = watch_get(self, &global_lock, WATCH_MUTEX);
	struct hold_release release;
	uint64_t hold;
	json_t *lines, *event;

	hold_begin(self, watch, 0, __builtin_frame_address(0));
	hold = watch->holder_op;
	ck_assert_uint_eq(op_current(self), hold);
	op_end(self, op_begin(self, KIND_IO, 1, 0, 3, 0, __builtin_frame_address(0)), OUTCOME_OK,
	       0);
	watch_wait_begins(watch);
	hold_release(self, watch, &release);
	ck_assert_uint_eq(watch->last_op, hold);
	ck_assert_uint_eq(watch->holder_op, 0);
	ck_assert_uint_eq(release.waiters, 1);
	watch_wait_ends(watch);
	hold_record(self, watch, &release);
	lines = recording_dump(true);
	event = event_of(lines, "k", "hold");
	ck_assert_uint_eq((uint64_t)number_of(event, "id"), hold);
	ck_assert_int_eq(number_of(event, "sq"), 1);
	ck_assert_uint_eq((uint64_t)number_of(event, "a"), (uint64_t)(uintptr_t)&global_lock);
	ck_assert_ptr_nonnull(strstr(name_of(lines, event, "c"), "mutex test_hold+0x"));
	ck_assert_uint_eq((uint64_t)number_of(event_of(lines, "k", "io"), "p"), hold);
	ck_assert_int_eq(number_of(event_of(lines, "lk", "wake"), "n"), 1);
}
END_TEST

START_TEST(nobody_waited_means_no_wake)
{
	struct watch *watch = watch_get(self, &global_lock, WATCH_MUTEX);
	struct hold_release release;

	hold_begin(self, watch, 0, __builtin_frame_address(0));
	hold_release(self, watch, &release);
	hold_record(self, watch, &release);
	ck_assert_uint_eq(count_events(recording_dump(true), "lk", "wake"), 0);
}
END_TEST

/* Locked before recording was on, or before it was watched: nothing to record, but somebody let
 * go. */
START_TEST(a_release_without_a_hold_says_who_let_go)
{
	struct watch *watch = watch_get(self, &global_lock, WATCH_MUTEX);
	struct hold_release release;

	hold_release(self, watch, &release);
	ck_assert_uint_eq(release.hold.type, RECORD_NONE);
	ck_assert_uint_eq(watch->last_op, op_current(self));
	hold_record(self, watch, &release);
	ck_assert_uint_eq(snapshot_pending(recorder_arena), 0);
}
END_TEST

/* When a hold began that was not recorded then: from its thread's last record to the first wait. */
static const struct {
	uint64_t last, hot, before, opened, thread;
	uint32_t nth;
	uint64_t start;
} late_rows[] = {
	/* 0 */ { 1000, 2000, 0, 0, 0, 1, 1000 }, /* the first lock since then */
	/* 1 */ { 1000, 2000, 0, 0, 0, 4, 1750 }, /* the fourth: each took a quarter */
	/* 2 */ { 1000, 2000, 0, 0, 0, UINT32_MAX, 2000 },
	/* 3 */ { 2000, 1000, 0, 0, 0, 3, 2000 }, /* hot before: it began after its last record */
	/* 4 */ { 1000, 2000, 1500, 0, 0, 1, 1500 }, /* not before the end of another's hold */
	/* 5 */ { 1000, 2000, 0, 1600, 0, 1, 1600 }, /* not before recording was turned on */
	/* 6 */ { 1000, 2000, 0, 0, 1700, 1, 1700 }, /* not before its thread */
};

START_TEST(a_hold_may_become_known_late)
{
	struct watch *watch = watch_get(self, &global_lock, WATCH_MUTEX);
	struct hold_release release;
	json_t *lines, *event;

	clock_kind = 0;
	clock_test_ticks = 5000;
	watch->hot_ticks = late_rows[_i].hot;
	watch->last_ticks = late_rows[_i].before;
	recorder_arena->opened_ticks[opening_now(recorder_arena) % OPENINGS_KEPT] =
		late_rows[_i].opened;
	self->slot->entries[0].record.start = late_rows[_i].thread;
	hold_begin_late(self, watch, late_rows[_i].last, late_rows[_i].nth);
	hold_release(self, watch, &release);
	ck_assert_uint_eq(release.hold.start, late_rows[_i].start);
	ck_assert_uint_eq(release.hold.end, 5000);
	ck_assert_uint_eq(watch->last_op, release.hold.id);
	hold_record(self, watch, &release);
	clock_kind = CLOCK_KIND_TSC;
	lines = recording_dump(true);
	event = event_of(lines, "k", "hold");
	ck_assert_int_eq(number_of(event, "sq"), 1);
	ck_assert_uint_eq((uint64_t)number_of(event, "p"), op_current(self));
}
END_TEST

START_TEST(no_holds_when_none_are_wanted)
{
	struct watch *watch = watch_get(self, &global_lock, WATCH_MUTEX);
	struct hold_release release;

	recorder_holds = HOLDS_NONE;
	hold_begin(self, watch, 0, __builtin_frame_address(0));
	hold_begin_late(self, watch, 1000, 1);
	ck_assert_uint_eq(watch->holder_op, 0);
	hold_release(self, watch, &release);
	ck_assert_uint_eq(release.hold.type, RECORD_NONE);
	recorder_holds = HOLDS_CONTENDED;
}
END_TEST

static void *unlock_for_another(void *watch)
{
	struct self *other = self_enter();
	struct hold_release release;

	hold_release(other, watch, &release);
	hold_record(other, watch, &release);
	self_leave(other);
	thread_end();
	return NULL;
}

START_TEST(another_thread_may_release)
{
	struct watch *watch = watch_get(self, &global_lock, WATCH_MUTEX);
	pthread_t thread;
	uint64_t hold, op;
	json_t *lines;

	hold_begin(self, watch, 0, __builtin_frame_address(0));
	hold = watch->holder_op;
	pthread_create(&thread, NULL, unlock_for_another, watch);
	pthread_join(thread, NULL);
	/* The holder's own entry is gone at its next look. */
	ck_assert_uint_ne(op_current(self), hold);
	op = op_begin(self, KIND_IO, 1, 0, 3, 0, __builtin_frame_address(0));
	ck_assert_uint_eq(self->depth, 2);
	op_end(self, op, OUTCOME_OK, 0);
	lines = recording_dump(true);
	ck_assert_uint_eq(count_events(lines, "k", "hold"), 1);
	ck_assert_int_eq(number_of(event_of(lines, "k", "hold"), "th"), 1);
}
END_TEST

/* --- Recording is turned off ------------------------------------------------------------------ */

static uint64_t off_and_on(void)
{
	uint64_t closed;

	switch_disable();
	closed = recorder_arena->closed_ticks[opening_now(recorder_arena) % OPENINGS_KEPT];
	switch_enable();
	return closed;
}

static void *lock_and_unlock(void *watch)
{
	struct self *other = self_enter();
	struct hold_release release;

	hold_begin(other, watch, 0, __builtin_frame_address(0));
	hold_release(other, watch, &release);
	hold_record(other, watch, &release);
	self_leave(other);
	thread_end();
	return NULL;
}

/* Other threads use the lock before the thread comes by that had it. */
static const struct {
	void *(*others)(void *watch);
	unsigned int holds; /* recorded afterwards */
} off_rows[] = {
	/* 0 */ { NULL, 1 },
	/* 1 */ { lock_and_unlock, 2 },
	/* 2 */ { unlock_for_another, 1 }, /* it was locked while recording was off */
};

START_TEST(a_hold_is_cut_off_once)
{
	struct watch *watch = watch_get(self, &global_lock, WATCH_MUTEX);
	uint64_t hold, closed, end = 0;
	struct snapshot snapshot;
	pthread_t thread;

	hold_begin(self, watch, 0, __builtin_frame_address(0));
	hold = watch->holder_op;
	self_leave(self);
	closed = off_and_on();
	/* Its thread was not there yet: it is said to be cut off. */
	ck_assert_int_eq(snapshot_take(&snapshot, recorder_arena, DUMP_AT_END), 0);
	ck_assert_uint_eq(snapshot.opens[0].handle, hold);
	ck_assert_uint_eq(snapshot.opens[0].cut, closed);
	snapshot_drop(&snapshot, recorder_arena, false);
	if (off_rows[_i].others) {
		pthread_create(&thread, NULL, off_rows[_i].others, watch);
		pthread_join(thread, NULL);
	}
	self = self_enter();
	ck_assert_uint_eq(watch->holder_op, 0);
	ck_assert_uint_eq(self->depth, 1);
	ck_assert_int_eq(snapshot_take(&snapshot, recorder_arena, DUMP_AT_END), 0);
	for (uint32_t i = 0; i < snapshot.chunk_count; i++) {
		const struct chunk *chunk = chunk_at(recorder_arena, i);
		struct recording_reader reader = recording_read(chunk, 0, chunk->snapshot);
		struct record record;

		while (recording_next(&reader, &record))
			if (record.id == hold)
				end = record.end;
	}
	snapshot_drop(&snapshot, recorder_arena, false);
	ck_assert_uint_eq(end, closed);
	ck_assert_uint_eq(count_events(recording_dump(true), "k", "hold"), off_rows[_i].holds);
}
END_TEST

/* Between the release and the record of it. */
START_TEST(a_released_hold_is_cut_off_where_it_was_released)
{
	struct watch *watch = watch_get(self, &global_lock, WATCH_MUTEX);
	struct hold_release release;
	json_t *lines, *event;

	hold_begin(self, watch, 0, __builtin_frame_address(0));
	hold_release(self, watch, &release);
	self_leave(self);
	(void)off_and_on();
	self = self_enter();
	hold_record(self, watch, &release);
	ck_assert_uint_eq(self->depth, 1);
	lines = recording_dump(true);
	ck_assert_uint_eq(count_events(lines, "k", "hold"), 1);
	event = event_of(lines, "k", "hold");
	/* In ticks, of which there are more than nanoseconds. */
	ck_assert_int_le(number_of(event, "d") - number_of(event, "s"),
			 (json_int_t)(release.hold.end - release.hold.start));
}
END_TEST

START_TEST(a_hold_of_a_destroyed_lock_is_not_lost)
{
	struct watch *watch = watch_get(self, &global_lock, WATCH_MUTEX);

	hold_begin(self, watch, 0, __builtin_frame_address(0));
	self_leave(self);
	switch_disable();
	watch_forget(&global_lock);
	switch_enable();
	self = self_enter();
	ck_assert_uint_eq(count_events(recording_dump(true), "k", "hold"), 1);
	ck_assert_ptr_eq(watch_get(self, &global_lock, WATCH_MUTEX), watch);
	hold_begin(self, watch, 0, __builtin_frame_address(0));
	/* Another lock takes its place. */
	watch_forget(&global_lock);
	ck_assert_ptr_eq(watch_get(self, &global_lock, WATCH_RWLOCK), watch);
	ck_assert_uint_eq(count_events(recording_dump(true), "k", "hold"), 1);
}
END_TEST

START_TEST(a_hold_that_has_gone_to_another_thread_is_not_written_twice)
{
	struct watch *watch = watch_get(self, &global_lock, WATCH_MUTEX);
	pthread_t thread;

	hold_begin(self, watch, 0, __builtin_frame_address(0));
	pthread_create(&thread, NULL, unlock_for_another, watch);
	pthread_join(thread, NULL);
	/* It ends everything, as at the end of the thread. */
	op_end_nested(self, clock_now_ticks(), OUTCOME_CANCELED);
	ck_assert_uint_eq(count_events(recording_dump(true), "k", "hold"), 1);
}
END_TEST

/* The lock was let go past the library, and taken again: the first hold ends with that. */
START_TEST(a_hold_is_of_one_op_open_and_ended)
{
	struct watch *watch = watch_get(self, &global_lock, WATCH_MUTEX);
	struct hold_release release;
	json_t *open = NULL, *opens;
	uint64_t hold;

	hold_begin(self, watch, 0, __builtin_frame_address(0));
	hold_begin(self, watch, 0, __builtin_frame_address(0));
	hold = watch->holder_op;
	opens = json_object_get(json_array_get(recording_dump(true), 0), "open_ops");
	for (size_t i = 0; i < json_array_size(opens); i++)
		if ((uint64_t)number_of(json_array_get(opens, i), "op_id") == hold)
			open = json_array_get(opens, i);
	ck_assert_ptr_nonnull(open);
	hold_release(self, watch, &release);
	ck_assert_uint_eq(release.hold.parent, (uint64_t)number_of(open, "parent_id"));
	hold_record(self, watch, &release);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(a_hold_is_an_op);
	TEST(nobody_waited_means_no_wake);
	TEST(a_release_without_a_hold_says_who_let_go);
	EACH(a_hold_may_become_known_late, late_rows);
	TEST(no_holds_when_none_are_wanted);
	TEST(another_thread_may_release);
	TEST(a_hold_is_of_one_op_open_and_ended);
	EACH(a_hold_is_cut_off_once, off_rows);
	TEST(a_released_hold_is_cut_off_where_it_was_released);
	TEST(a_hold_of_a_destroyed_lock_is_not_lost);
	TEST(a_hold_that_has_gone_to_another_thread_is_not_written_twice);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, holds are lost or have the wrong length, or waits name the wrong holder. */
#include "watch.h"

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
	uint64_t last, hot, before;
	uint32_t nth;
	uint64_t start;
} late_rows[] = {
	/* 0 */ { 1000, 2000, 0, 1, 1000 }, /* the first lock since then */
	/* 1 */ { 1000, 2000, 0, 4, 1750 }, /* the fourth: each took a quarter */
	/* 2 */ { 1000, 2000, 0, UINT32_MAX, 2000 },
	/* 3 */ { 2000, 1000, 0, 3, 2000 },    /* hot before: it began after its last record */
	/* 4 */ { 1000, 2000, 1500, 1, 1500 }, /* not before the end of another's hold */
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

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(a_hold_is_an_op);
	TEST(nobody_waited_means_no_wake);
	TEST(a_release_without_a_hold_says_who_let_go);
	EACH(a_hold_may_become_known_late, late_rows);
	TEST(no_holds_when_none_are_wanted);
	TEST(another_thread_may_release);
}

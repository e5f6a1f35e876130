/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, waits name the wrong holder, holds are lost, or a lock that is not watched
 * costs time. */
#include "waiters.h"

#include "recording.h"
#include "roster.h"
#include "suite.h"

enum { THREADS = 4, ADDRESSES = 2000 };

static struct self *self;
static pthread_mutex_t global_lock;
static char many[70000];

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

static const char *string_of(uint32_t id)
{
	uint32_t bytes;

	return strings_get(recorder_arena, id, &bytes);
}

START_TEST(what_nobody_watches_is_not_found)
{
	ck_assert_ptr_null(watch_find(&global_lock));
	ck_assert_ptr_nonnull(watch_get(self, &global_lock, WATCH_MUTEX));
	ck_assert_ptr_eq(watch_find(&global_lock), watch_get(self, &global_lock, WATCH_MUTEX));
	ck_assert_ptr_null(watch_find((char *)&global_lock + 1));
	watch_forget(&global_lock);
	ck_assert_ptr_null(watch_find(&global_lock));
}
END_TEST

START_TEST(names_say_where_the_object_is)
{
	pthread_mutex_t local_lock;
	char expected[64];

	ck_assert_ptr_nonnull(strstr(string_of(watch_get(self, &global_lock, WATCH_MUTEX)->ident),
				     "mutex test_waiters+0x"));
	snprintf(expected, sizeof(expected), "sem 0x%lx", (unsigned long)&local_lock);
	ck_assert_str_eq(string_of(watch_get(self, &local_lock, WATCH_SEM)->ident), expected);
	/* Threads and children come and go: names of them would fill the table. */
	ck_assert_uint_eq(watch_get(self, (void *)4711, WATCH_CHILD)->ident, 0);
}
END_TEST

START_TEST(an_object_of_another_type_is_another_object)
{
	struct watch *watch = watch_get(self, &global_lock, WATCH_MUTEX);

	watch->hold_count = 5;
	ck_assert_ptr_eq(watch_get(self, &global_lock, WATCH_SEM), watch);
	ck_assert_uint_eq(watch->hold_count, 0);
	ck_assert_uint_eq(watch->type, WATCH_SEM);
}
END_TEST

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
	ck_assert_ptr_nonnull(strstr(name_of(lines, event, "c"), "mutex test_waiters+0x"));
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

/* Far more objects than entries, each forgotten before the next: places are used again. */
START_TEST(forgotten_entries_are_taken_over)
{
	for (int round = 0; round < 10; round++)
		for (size_t i = 0; i < sizeof(many); i += 8) {
			ck_assert_ptr_nonnull(watch_get(self, many + i, WATCH_THREAD));
			watch_forget(many + i);
		}
	ck_assert_uint_eq(roster_counter(recorder_arena, COUNTER_dropped_watches), 0);
}
END_TEST

START_TEST(a_full_table_is_counted)
{
	uint32_t found = 0, missing = 0;

	for (size_t i = 0; i < 70000; i++) {
		if (watch_get(self, many + i, WATCH_THREAD))
			found++;
		else
			missing++;
	}
	ck_assert_uint_le(found, WATCHES_MAX);
	ck_assert_uint_gt(found, WATCHES_MAX / 2);
	ck_assert_uint_eq(roster_counter(recorder_arena, COUNTER_dropped_watches), missing);
}
END_TEST

static void *watch_all(void *watches)
{
	struct self *own = self_enter();

	for (int i = 0; i < ADDRESSES; i++)
		((struct watch **)watches)[i] = watch_get(own, many + 16 * i, WATCH_MUTEX);
	self_leave(own);
	thread_end();
	return NULL;
}

START_TEST(threads_agree_on_entries)
{
	static struct watch *watches[THREADS][ADDRESSES];
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, watch_all, watches[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int k = 0; k < ADDRESSES; k++)
		for (int i = 0; i < THREADS; i++)
			ck_assert(watches[i][k] == watch_find(many + 16 * k) ||
				  watches[i][k] == NULL);
}
END_TEST

/* Who has the table's lock may not run for long: a thread that nobody can find then would be one
 * whose join waits for nobody. */
START_TEST(threads_and_children_need_no_lock)
{
	struct watch *watch;

	store_relaxed(&recorder_arena->watch_lock, 4711);
	ck_assert_ptr_null(watch_get(self, &global_lock, WATCH_MUTEX));
	watch = watch_get(self, many, WATCH_THREAD);
	ck_assert_ptr_nonnull(watch);
	ck_assert_ptr_eq(watch_find(many), watch);
	ck_assert_ptr_nonnull(watch_get(self, (void *)4711, WATCH_CHILD));
	store_relaxed(&recorder_arena->watch_lock, 0);
	ck_assert_uint_eq(roster_counter(recorder_arena, COUNTER_dropped_watches), 1);
}
END_TEST

static uint32_t ready_granules(void)
{
	uint64_t end = ARENA_WATCHES + WATCHES_MAX * sizeof(struct watch);
	uint32_t count = 0;

	for (uint64_t at = ARENA_WATCHES; at < end; at += ARENA_GRANULE_BYTES)
		count += arena_granule_is_ready(recorder_arena, at / ARENA_GRANULE_BYTES);
	return count;
}

/* Making memory ready under the lock would take longer than the next one waits for it. */
START_TEST(memory_is_ready_before_the_lock_is_taken)
{
	uint32_t before = ready_granules();

	store_relaxed(&recorder_arena->watch_lock, 4711);
	ck_assert_ptr_null(watch_get(self, &global_lock, WATCH_MUTEX));
	store_relaxed(&recorder_arena->watch_lock, 0);
	ck_assert_uint_gt(ready_granules(), before);
}
END_TEST

/* What lies behind a place that is claimed and not filled yet is found all the same. */
START_TEST(a_claimed_place_hides_nothing)
{
	struct watch *first = watch_get(self, many, WATCH_THREAD);
	struct watch *behind;

	/* As if the first had come after the second, and its thread did not run any more. */
	first->address = 0;
	first->type = WATCH_CLAIMED;
	behind = watch_get(self, many, WATCH_THREAD);
	ck_assert_ptr_nonnull(behind);
	ck_assert_ptr_ne(behind, first);
	ck_assert_ptr_eq(watch_find(many), behind);
	ck_assert_ptr_eq(watch_get(self, many, WATCH_THREAD), behind);
}
END_TEST

/* Entries of its own, among those of locks that come and go in the same places. */
static void *watch_own(void *own)
{
	struct self *other = self_enter();

	for (int i = 0; i < ADDRESSES; i++) {
		struct watch *watch = watch_get(other, (char *)own + 2 * i, WATCH_THREAD);

		if (watch)
			store_release(&watch->holder_op,
				      (uint64_t)(uintptr_t)own + 2 * (uint64_t)i);
		(void)watch_get(other, many + 2 * i + 1, WATCH_MUTEX);
		watch_forget(many + 2 * i + 1);
	}
	self_leave(other);
	thread_end();
	return NULL;
}

START_TEST(no_threads_entry_is_lost_to_another)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, watch_own, many + 2 * ADDRESSES * i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < THREADS * ADDRESSES; i++) {
		struct watch *watch = watch_find(many + 2 * i);

		ck_assert_ptr_nonnull(watch);
		ck_assert_uint_eq(watch->holder_op, (uint64_t)(uintptr_t)(many + 2 * i));
	}
}
END_TEST

static void *be_joined(void *published)
{
	struct self *other = self_enter();

	thread_publish(other, published);
	*(uint64_t *)published = other->slot->op;
	self_leave(other);
	thread_end();
	return NULL;
}

START_TEST(a_thread_is_found_by_its_number)
{
	pthread_t thread;
	uint64_t op = 0;

	pthread_create(&thread, NULL, be_joined, &op);
	pthread_join(thread, NULL);
	ck_assert_uint_ne(op, 0);
	ck_assert_uint_eq(watch_find(&op)->holder_op, op);
	/* The process's first one is no matter. */
	thread_publish(self, &thread);
	ck_assert_ptr_null(watch_find(&thread));
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(what_nobody_watches_is_not_found);
	TEST(names_say_where_the_object_is);
	TEST(an_object_of_another_type_is_another_object);
	TEST(a_hold_is_an_op);
	TEST(nobody_waited_means_no_wake);
	TEST(a_release_without_a_hold_says_who_let_go);
	EACH(a_hold_may_become_known_late, late_rows);
	TEST(no_holds_when_none_are_wanted);
	TEST(another_thread_may_release);
	TEST(forgotten_entries_are_taken_over);
	TEST(a_full_table_is_counted);
	TEST(threads_agree_on_entries);
	TEST(threads_and_children_need_no_lock);
	TEST(memory_is_ready_before_the_lock_is_taken);
	TEST(a_claimed_place_hides_nothing);
	TEST(no_threads_entry_is_lost_to_another);
	TEST(a_thread_is_found_by_its_number);
}

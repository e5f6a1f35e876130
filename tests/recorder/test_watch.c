/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, waits name the wrong lock or thread, or a lock that is not watched costs time. */
#include "watch.h"

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
				     "mutex test_watch+0x"));
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

/* The thread with the table's lock may not run for long. A thread that nobody can find then would
 * be one whose join waits for nobody. */
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

/* An entry behind a place that is claimed and not filled yet is found all the same. */
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

	watch_publish_thread(other, published);
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
	watch_publish_thread(self, &thread);
	ck_assert_ptr_null(watch_find(&thread));
}
END_TEST

/* libc gives the number of a thread that was joined to the next one, which may begin late. */
START_TEST(a_joined_threads_number_is_nobodys)
{
	pthread_t thread;
	uint64_t op = 0;

	pthread_create(&thread, NULL, be_joined, &op);
	pthread_join(thread, NULL);
	/* The join of an earlier thread ends, where this one has begun. */
	watch_forget_thread(&op, op + 1);
	ck_assert_uint_eq(watch_thread_op(&op), op);
	watch_forget_thread(&op, op);
	ck_assert_uint_eq(watch_thread_op(&op), 0);
}
END_TEST

/* One that was made while recording was off may have the number by now. */
START_TEST(a_number_of_an_opening_before_is_of_who_lives)
{
	uint64_t live = self->slot->op, dead = UINT64_C(1) << 40 | 1;

	watch_tell_of_thread(self, &live, live);
	watch_tell_of_thread(self, &dead, dead);
	ck_assert_uint_eq(watch_thread_op(&dead), dead);
	switch_disable();
	ck_assert_int_eq(switch_enable(), 0);
	ck_assert_uint_eq(watch_thread_op(&dead), 0);
	ck_assert_uint_eq(watch_thread_op(&live), live);
}
END_TEST

static void *begin_twice(void *number)
{
	struct self *other = self_enter();

	watch_publish_thread(other, number);
	*(uint64_t *)number = other->slot->op;
	self_leave(other);
	switch_disable();
	ck_assert_int_eq(switch_enable(), 0);
	watch_thread_ends(number);
	thread_end();
	return NULL;
}

START_TEST(who_has_ended_in_this_opening_is_found)
{
	pthread_t thread;
	uint64_t op = 0;

	pthread_create(&thread, NULL, begin_twice, &op);
	pthread_join(thread, NULL);
	ck_assert_uint_ne(op, 0);
	ck_assert_uint_eq(watch_thread_op(&op), op);
}
END_TEST

static void *be_told_of(void *number)
{
	watch_thread_is_told();
	thread_begin(UINT64_C(1) << 40 | 1, 0, NULL, NULL);
	struct self *other = self_enter();

	watch_publish_thread(other, number);
	self_leave(other);
	thread_end();
	return NULL;
}

/* Its creator says which one it is: it may begin when the number is another one's already. */
START_TEST(a_thread_that_is_told_of_does_not_say_its_number)
{
	pthread_t thread;
	uint64_t number = 0;

	watch_tell_of_thread(self, &number, 7);
	pthread_create(&thread, NULL, be_told_of, &number);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(watch_thread_op(&number), 7);
	/* The join of the one before has not ended yet. */
	watch_tell_of_thread(self, &number, 8);
	watch_forget_thread(&number, 7);
	ck_assert_uint_eq(watch_thread_op(&number), 8);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(a_number_of_an_opening_before_is_of_who_lives);
	TEST(who_has_ended_in_this_opening_is_found);
	TEST(a_thread_that_is_told_of_does_not_say_its_number);
	TEST(what_nobody_watches_is_not_found);
	TEST(names_say_where_the_object_is);
	TEST(an_object_of_another_type_is_another_object);
	TEST(forgotten_entries_are_taken_over);
	TEST(a_full_table_is_counted);
	TEST(threads_agree_on_entries);
	TEST(threads_and_children_need_no_lock);
	TEST(memory_is_ready_before_the_lock_is_taken);
	TEST(a_claimed_place_hides_nothing);
	TEST(no_threads_entry_is_lost_to_another);
	TEST(a_thread_is_found_by_its_number);
	TEST(a_joined_threads_number_is_nobodys);
}

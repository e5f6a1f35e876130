/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this fails, events get lost or doubled when threads record, end, run out of memory and are
 * drained at the same time: recorded + dropped must be what was produced, exactly. Made for the
 * thread sanitizer too.
 */
#include "recorder.h"

#include "chunk.h"
#include "recording.h"
#include "roster.h"

enum { WORKERS = 4, GENERATIONS = 40, EVENTS = 700 };

static pthread_mutex_t locks[4];
static uint64_t produced; /* io ops, and each thread's own */
static uint32_t running;

static void *produce(void *unused)
{
	uint64_t mine = 0;

	thread_begin(0, 0, NULL, __builtin_frame_address(0));
	for (int i = 0; i < EVENTS; i++) {
		record_io(1);
		mine++;
	}
	thread_end();
	__atomic_fetch_add(&produced, mine + 1, __ATOMIC_RELAXED);
	return unused;
}

/* Starts threads one after the other. */
static void *keep_producing(void *unused)
{
	for (int i = 0; i < GENERATIONS; i++) {
		pthread_t thread;

		ck_assert_int_eq(pthread_create(&thread, NULL, produce, NULL), 0);
		pthread_join(thread, NULL);
	}
	__atomic_fetch_sub(&running, 1, __ATOMIC_ACQ_REL);
	return unused;
}

/* Every third dump's reader goes away. */
static uint64_t drain(int round)
{
	struct snapshot snapshot;
	uint64_t count;

	ck_assert_int_eq(snapshot_take(&snapshot, recorder_arena, DUMP_AT_END), 0);
	count = snapshot.event_count;
	snapshot_drop(&snapshot, recorder_arena, round % 3 != 0);
	return round % 3 != 0 ? count : 0;
}

static uint64_t produce_and_drain(void)
{
	pthread_t workers[WORKERS];
	uint64_t drained = 0;

	running = WORKERS;
	for (int i = 0; i < WORKERS; i++)
		ck_assert_int_eq(pthread_create(&workers[i], NULL, keep_producing, NULL), 0);
	for (int round = 0; __atomic_load_n(&running, __ATOMIC_ACQUIRE) > 0; round++)
		drained += drain(round);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	return drained + drain(1);
}

START_TEST(nothing_is_lost_or_doubled)
{
	recording_begin();
	ck_assert_uint_eq(produce_and_drain(), (uint64_t)WORKERS * GENERATIONS * (EVENTS + 1));
	ck_assert_uint_eq(produced, (uint64_t)WORKERS * GENERATIONS * (EVENTS + 1));
	ck_assert_uint_eq(snapshot_losses(recorder_arena), 0);
	ck_assert_uint_eq(roster_living(recorder_arena), 0);
	recording_end();
}
END_TEST

/* Six chunks for four threads: what finds no room is counted. */
START_TEST(recorded_and_dropped_make_produced)
{
	uint64_t drained;

	setenv("WCPROF_MAX_EVENTS", "3066", 1);
	recording_begin();
	drained = produce_and_drain();
	ck_assert_uint_eq(drained + snapshot_losses(recorder_arena), produced);
	ck_assert_uint_gt(snapshot_losses(recorder_arena), 0);
	recording_end();
}
END_TEST

static void *lock_and_unlock(void *unused)
{
	thread_begin(0, 0, NULL, __builtin_frame_address(0));
	for (int i = 0; i < 20000; i++) {
		pthread_mutex_t *lock = &locks[i % 4];
		struct hold_release release;
		struct watch *watch;
		struct self *self;

		pthread_mutex_lock(lock);
		self = self_enter();
		watch = watch_get(self, lock, WATCH_MUTEX);
		hold_begin(self, watch, 0, __builtin_frame_address(0));
		self_leave(self);
		self = self_enter();
		hold_release(self, watch, &release);
		self_leave(self);
		pthread_mutex_unlock(lock);
		self = self_enter();
		hold_record(self, watch, &release);
		self_leave(self);
	}
	thread_end();
	return unused;
}

/* Holds of one lock follow one another: sequence numbers without gaps, no two at a time. */
START_TEST(holds_of_a_lock_do_not_overlap)
{
	pthread_t threads[3];
	json_t *lines;
	json_int_t holds = 0;

	recording_begin();
	for (int i = 0; i < 4; i++)
		pthread_mutex_init(&locks[i], NULL);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, lock_and_unlock, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	for (int k = 0; k < 4; k++) {
		static uint64_t starts[15001], ends[15001];

		memset(starts, 0, sizeof(starts));
		for (uint32_t i = 0; i < recorder_arena->chunks.made; i++) {
			const struct chunk *chunk = chunk_at(recorder_arena, i);

			for (uint32_t n = 0; n < chunk->published; n++) {
				const struct record *record = &chunk->records[n];

				if (record->what != KIND_HOLD ||
				    record->value != (uint64_t)(uintptr_t)&locks[k])
					continue;
				ck_assert_uint_eq(starts[record->count], 0);
				starts[record->count] = record->start;
				ends[record->count] = record->end;
				holds++;
			}
		}
		for (int n = 2; n <= 15000; n++)
			ck_assert_uint_ge(starts[n], ends[n - 1]);
	}
	ck_assert_int_eq(holds, 60000);
	lines = recording_dump(true);
	ck_assert_uint_eq(count_events(lines, "k", "hold"), 60000);
	recording_end();
}
END_TEST

static void *end_at_once(void *unused)
{
	thread_begin(0, 0, NULL, __builtin_frame_address(0));
	thread_end();
	return unused;
}

/* Twenty thousand threads: the arena grows by their events, not by their number. */
START_TEST(threads_come_and_go)
{
	recording_begin();
	for (int i = 0; i < 20000; i++) {
		pthread_t thread;

		ck_assert_int_eq(pthread_create(&thread, NULL, end_at_once, NULL), 0);
		pthread_join(thread, NULL);
	}
	ck_assert_uint_le(recorder_arena->slots.made, 2);
	ck_assert_uint_le(recorder_arena->chunks.made, 20000 / CHUNK_RECORDS + 2);
	ck_assert_uint_eq(snapshot_pending(recorder_arena), 20000);
	ck_assert_uint_eq(json_array_size(json_object_get(json_array_get(recording_dump(true), 0),
							  "threads")),
			  20000);
	recording_end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("recorder");
	TCase *tests = tcase_create("recorder");

	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, nothing_is_lost_or_doubled);
	tcase_add_test(tests, recorded_and_dropped_make_produced);
	tcase_add_test(tests, holds_of_a_lock_do_not_overlap);
	tcase_add_test(tests, threads_come_and_go);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}

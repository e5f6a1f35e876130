/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this fails, events get lost or doubled when threads record, end, run out of memory and are
 * drained at the same time. Recorded and dropped must be what was produced, exactly. Made for the
 * thread sanitizer too.
 */
#include "recorder.h"

#include "chunk.h"
#include "recording.h"
#include "roster.h"
#include "suite.h"
#include "watch.h"

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

/*
 * The same in a ring, of six and of twenty chunks. Events of a dump that was not handed out may
 * have been overwritten while it was written.
 */
START_TEST(recorded_and_overwritten_make_produced)
{
	uint64_t drained;

	setenv("WCPROF_FULL", "ring", 1);
	setenv("WCPROF_MAX_EVENTS", _i ? "10220" : "3066", 1);
	recording_begin();
	drained = produce_and_drain();
	ck_assert_uint_eq(drained + snapshot_losses(recorder_arena) +
				  roster_counter(recorder_arena, COUNTER_overwritten),
			  produced);
	ck_assert_uint_eq(snapshot_pending(recorder_arena), 0);
	recording_end();
}
END_TEST

enum { NESTED = 4, ROUNDS = 50000, NESTERS = 3, ROUND_IDS = 2 * NESTED };

/* Ids of ops whose end, or what was in them, found no room; by thread. */
static uint64_t dropped_ids[NESTERS][NESTED * ROUNDS];
static size_t dropped_count[NESTERS];

/* Parents that were missing in the last dump, and those that the dump after it should have had. */
struct ids {
	uint64_t *ids;
	size_t count;
};
static struct ids orphans, missing;

/* Nested ops, and a wait of the innermost; the wait's op ends after it. */
static void *nest_and_wait(void *argument)
{
	size_t me = (size_t)argument;

	thread_begin(0, 0, NULL, __builtin_frame_address(0));
	for (int i = 0; i < ROUNDS; i++) {
		struct self *self = self_enter();
		uint64_t ops[NESTED], wait, dropped;

		dropped = load_relaxed(&self->slot->counters[COUNTER_dropped_full]);

		for (int k = 0; k < NESTED; k++)
			ops[k] = op_begin(self, KIND_OP_USER, CALL_READ, 0, -1, 0, NULL);
		wait = wait_begin(self, REASON_MUTEX, CALL_LOCK, NULL, 0, 0, NULL);
		wait_end(self, wait, 0, 0);
		for (int k = NESTED; k-- > 0;)
			op_end(self, ops[k], OUTCOME_OK, 0);
		dropped -= load_relaxed(&self->slot->counters[COUNTER_dropped_full]);
		for (int k = 0; k < NESTED && dropped != 0; k++)
			dropped_ids[me][dropped_count[me]++] = ops[k];
		self_leave(self);
	}
	thread_end();
	__atomic_fetch_sub(&running, 1, __ATOMIC_ACQ_REL);
	return NULL;
}

static int compare_ids(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

static void ids_add(struct ids *ids, uint64_t id)
{
	ids->ids = realloc(ids->ids, (ids->count + 1) * sizeof(*ids->ids));
	ids->ids[ids->count++] = id;
}

/* Whether something from `least` to `most` is there, of one thread. */
static bool has_within(const uint64_t *ids, uint64_t count, uint64_t least, uint64_t most)
{
	uint64_t low = 0, high = count;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (ids[middle] < least)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && ids[low] <= most;
}

/*
 * An op that was just ending, its entry gone and its record not there yet, is in the next dump. It
 * may be overwritten by then, and so is what was recorded just before it, or just after it. A dump
 * keeps chunks that are older. Ops of one round end in the other order than they began.
 */
static void settle_orphans(const uint64_t *ids, uint64_t count)
{
	for (size_t i = 0; i < orphans.count; i++) {
		uint64_t id = orphans.ids[i], thread = (id >> 32) - 1;

		ck_assert_uint_lt(thread, NESTERS);
		if (has_within(ids, count, id - 3 * ROUND_IDS, id - ROUND_IDS) &&
		    has_within(ids, count, id + ROUND_IDS, id + 3 * ROUND_IDS) &&
		    !bsearch(&id, ids, count, sizeof(*ids), compare_ids))
			ids_add(&missing, id);
	}
	orphans.count = 0;
}

/* Notes what a dump's waits and ops belong to and is not in it; how many records it has. */
static uint64_t check_parents(bool is_last)
{
	struct snapshot snapshot;
	uint64_t count = 0, *ids;
	uint64_t begun = clock_ticks();
	struct record record;

	ck_assert_int_eq(snapshot_take(&snapshot, recorder_arena, DUMP_RUNNING), 0);
	ids = malloc((snapshot.event_count + snapshot.open_count + 1) * sizeof(*ids));
	ids[count++] = recorder_arena->process_op.id;
	for (uint32_t i = 0; i < snapshot.open_count; i++)
		ids[count++] = snapshot.opens[i].record.id;
	for (uint32_t i = 0; i < snapshot.chunk_count; i++) {
		const struct chunk *chunk = chunk_at(recorder_arena, i);
		struct recording_reader reader =
			recording_read(chunk, chunk->snapshot_from, chunk->snapshot);

		while (recording_next(&reader, &record))
			ids[count++] = record.id;
	}
	qsort(ids, count, sizeof(*ids), compare_ids);
	settle_orphans(ids, count);
	for (uint32_t i = 0; i < snapshot.chunk_count; i++) {
		const struct chunk *chunk = chunk_at(recorder_arena, i);
		struct recording_reader reader =
			recording_read(chunk, chunk->snapshot_from, chunk->snapshot);

		while (recording_next(&reader, &record)) {
			/* Not torn. */
			ck_assert(record.type == RECORD_OP || record.type == RECORD_WAIT);
			ck_assert_uint_ge(record.end, record.start);
			/* A wait that begins while the snapshot is taken may have its op in the
			 * next. */
			if (record.start < begun &&
			    !bsearch(&record.parent, ids, count, sizeof(*ids), compare_ids))
				ids_add(&orphans, record.parent);
		}
	}
	if (is_last)
		settle_orphans(ids, count);
	free(ids);
	count = snapshot.event_count;
	/* As a flight recorder is asked: what is in it stays. */
	snapshot_drop(&snapshot, recorder_arena, false);
	return count;
}

START_TEST(a_ring_has_no_wait_without_its_op)
{
	pthread_t threads[NESTERS];
	size_t unexplained = 0, dumps = 0;
	uint64_t count = 0;

	setenv("WCPROF_FULL", "ring", 1);
	setenv("WCPROF_MAX_EVENTS", "20440", 1);
	recording_begin();
	running = NESTERS;
	for (size_t i = 0; i < NESTERS; i++)
		pthread_create(&threads[i], NULL, nest_and_wait, (void *)i);
	for (; __atomic_load_n(&running, __ATOMIC_ACQUIRE) > 0; dumps++)
		count += check_parents(false);
	for (int i = 0; i < NESTERS; i++)
		pthread_join(threads[i], NULL);
	/* All threads are over: what is not in this one is in none. */
	count += check_parents(true);
	/* While a dump is taken threads may run out of room, for the end of a thread, too. Nothing
	 * else may be missing. */
	for (size_t i = 0; i < missing.count; i++) {
		size_t thread = (size_t)(missing.ids[i] >> 32) - 1;

		unexplained += (uint32_t)missing.ids[i] != 1 &&
			       !bsearch(&missing.ids[i], dropped_ids[thread], dropped_count[thread],
					sizeof(uint64_t), compare_ids);
	}
	ck_assert_msg(unexplained == 0, "%zu ops are missing in %zu dumps", unexplained, dumps);
	free(orphans.ids);
	free(missing.ids);
	ck_assert_uint_ge(count, 20440);
	/* There was more than room for. On a busy machine one dump may last for nearly all of it,
	 * in which nothing is overwritten. */
	ck_assert_uint_gt(roster_counter(recorder_arena, COUNTER_overwritten) +
				  roster_counter(recorder_arena, COUNTER_dropped_full),
			  0);
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
			struct recording_reader reader = recording_read(chunk, 0, chunk->published);
			struct record record;

			while (recording_next(&reader, &record)) {
				if (record.what != KIND_HOLD ||
				    record.value != (uint64_t)(uintptr_t)&locks[k])
					continue;
				ck_assert_uint_eq(starts[record.count], 0);
				starts[record.count] = record.start;
				ends[record.count] = record.end;
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

/* Twenty thousand threads, or SOAK_THREADS: the arena grows by their events, not by their
 * number. */
START_TEST(threads_come_and_go)
{
	const char *soak = getenv("SOAK_THREADS");
	long count = soak ? atol(soak) : 20000;

	recording_begin();
	for (long i = 0; i < count; i++) {
		pthread_t thread;

		ck_assert_int_eq(pthread_create(&thread, NULL, end_at_once, NULL), 0);
		pthread_join(thread, NULL);
	}
	ck_assert_uint_le(recorder_arena->slots.made, 2);
	ck_assert_uint_le(recorder_arena->chunks.made, (uint64_t)count / CHUNK_RECORDS + 2);
	ck_assert_uint_eq(snapshot_pending(recorder_arena), (uint64_t)count);
	ck_assert_uint_eq(json_array_size(json_object_get(json_array_get(recording_dump(true), 0),
							  "threads")),
			  (size_t)count);
	/* Drained, it is as it was. */
	chunk_trim(recorder_arena, 0);
	ck_assert_uint_ge(recorder_arena->bare_chunks + 1, recorder_arena->chunks.made);
	recording_end();
}
END_TEST

SUITE()
{
	TEST(nothing_is_lost_or_doubled);
	TEST(recorded_and_dropped_make_produced);
	LOOP(recorded_and_overwritten_make_produced, 0, 2);
	TEST(a_ring_has_no_wait_without_its_op);
	TEST(holds_of_a_lock_do_not_overlap);
	TEST(threads_come_and_go);
}

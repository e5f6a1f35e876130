/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, what ends while a dump is taken is in it twice, or in none. */
#include "opens.h"

#include <sched.h>

#include "chunk.h"
#include "recording.h"
#include "roster.h"

#define WCPROF_IS_LIBRARY
#include "wcprof.h"
#include "suite.h"
#include "watch.h"

/* The thread sanitizer looks at each step, and takes its time. */
#ifdef __SANITIZE_THREAD__
enum { DUMPS = 80, OPS_A_DUMP = 2000 };
#else
enum { DUMPS = 400, OPS_A_DUMP = 10000 };
#endif

static void setup(void)
{
	recording_begin();
}

static void teardown(void)
{
	recording_end();
}

START_TEST(children_that_nobody_waited_for_are_open)
{
	struct self *self = self_enter();
	struct watch *watch = watch_get(self, (void *)4711, WATCH_CHILD);
	struct snapshot snapshot;

	watch->holder_start = clock_ticks();
	watch->holder_op = op_reserve(self);
	self_leave(self);
	ck_assert_int_eq(snapshot_take(&snapshot, recorder_arena, DUMP_AT_END), 0);
	ck_assert_uint_eq(snapshot.open_count, 2);
	ck_assert_uint_eq(snapshot.opens[1].record.what, KIND_EXEC);
	ck_assert_uint_eq(snapshot.opens[1].record.id, watch->holder_op);
	snapshot_drop(&snapshot, recorder_arena, true);
}
END_TEST

static struct snapshot_open *find_open(const struct snapshot *snapshot, uint64_t id)
{
	for (uint32_t i = 0; i < snapshot->open_count; i++)
		if (snapshot->opens[i].record.id == id)
			return &snapshot->opens[i];
	return NULL;
}

/* A dump that is taken now, and not handed out, has an op as 1 = open, 2 = ended, 3 = both. */
static int look_for(uint64_t id)
{
	struct snapshot snapshot;
	int found = 0;

	ck_assert_int_eq(snapshot_take(&snapshot, recorder_arena, DUMP_AT_END), 0);
	found = find_open(&snapshot, id) != NULL;
	for (uint32_t i = 0; i < snapshot.chunk_count; i++) {
		const struct chunk *chunk = chunk_at(recorder_arena, i);
		struct recording_reader reader = recording_read(chunk, 0, chunk->snapshot);
		struct record record;

		while (recording_next(&reader, &record))
			found |= record.id == id ? 2 : 0;
	}
	snapshot_drop(&snapshot, recorder_arena, false);
	return found;
}

static int some_lock;

START_TEST(a_released_hold_is_open_until_it_is_recorded)
{
	struct self *self = self_enter();
	struct watch *watch = watch_get(self, &some_lock, WATCH_MUTEX);
	uint64_t outer = op_current(self), hold;
	struct hold_release release;

	hold_begin(self, watch, 0, __builtin_frame_address(0));
	hold = watch->holder_op;
	ck_assert_int_eq(look_for(hold), 1);
	hold_release(self, watch, &release);
	ck_assert_int_eq(look_for(hold), 1);
	/* A signal handler's calls here do not belong to it, and leave it alone. */
	ck_assert_uint_eq(op_current(self), outer);
	op_end(self, op_begin(self, KIND_OP_USER, 1, 0, -1, 0, NULL), OUTCOME_OK, 0);
	ck_assert_int_eq(look_for(hold), 1);
	hold_record(self, watch, &release);
	ck_assert_int_eq(look_for(hold), 2);
	ck_assert_uint_eq(self->depth, 1);
	self_leave(self);
}
END_TEST

static void *release_for_another(void *watch)
{
	struct self *self = self_enter();
	struct hold_release release;

	hold_release(self, watch, &release);
	ck_assert_int_eq(look_for(release.hold.id), 1);
	hold_record(self, watch, &release);
	ck_assert_int_eq(look_for(release.hold.id), 2);
	self_leave(self);
	thread_end();
	return NULL;
}

START_TEST(a_hold_that_another_released_is_open_until_it_is_recorded)
{
	struct self *self = self_enter();
	struct watch *watch = watch_get(self, &some_lock, WATCH_MUTEX);
	pthread_t thread;

	hold_begin(self, watch, 0, __builtin_frame_address(0));
	pthread_create(&thread, NULL, release_for_another, watch);
	pthread_join(thread, NULL);
	self_leave(self);
}
END_TEST

enum { THREADS = 3 };

static uint32_t stop, dumps;

/* Not so many that memory runs out before the next dump: what is lost is in none. */
static void wait_for_dump(uint32_t *seen)
{
	while (load_relaxed(&dumps) == *seen && !load_relaxed(&stop))
		sched_yield();
	*seen = load_relaxed(&dumps);
}

/* Opens and ends nested ops. */
static void churn_ops(struct self *self, uint32_t unused)
{
	uint64_t outer = op_begin(self, KIND_OP_USER, 1, 0, -1, 0, NULL);
	uint64_t inner = op_begin(self, KIND_OP_USER, 1, 0, -1, 0, NULL);

	op_end(self, outer, OUTCOME_OK, 0);
	op_end(self, inner, OUTCOME_OK, 0);
	(void)unused;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void churn_holds(struct self *self, uint32_t unused)
{
	struct watch *watch = watch_get(self, &lock, WATCH_MUTEX);
	struct hold_release release;

	pthread_mutex_lock(&lock);
	hold_begin(self, watch, 0, __builtin_frame_address(0));
	hold_release(self, watch, &release);
	pthread_mutex_unlock(&lock);
	hold_record(self, watch, &release);
	(void)unused;
}

static uint32_t locked_turns[THREADS];

/* Each thread has a lock that it takes and the next thread releases. */
static void churn_holds_of_others(struct self *self, uint32_t me)
{
	struct watch *mine = watch_get(self, &locked_turns[me], WATCH_MUTEX);
	struct watch *others = watch_get(self, &locked_turns[(me + 1) % THREADS], WATCH_MUTEX);
	struct hold_release release;

	if (load_acquire(&locked_turns[me]) == 0) {
		hold_begin(self, mine, 0, __builtin_frame_address(0));
		store_release(&locked_turns[me], 1);
	}
	if (load_acquire(&locked_turns[(me + 1) % THREADS]) == 0)
		return;
	hold_release(self, others, &release);
	store_release(&locked_turns[(me + 1) % THREADS], 0);
	hold_record(self, others, &release);
}

static wcprof_op handed_over[THREADS];

/* An op that one thread has begun is ended by the next one. */
static void churn_handles(struct self *self, uint32_t me)
{
	uint32_t next = (me + 1) % THREADS;
	wcprof_op others = load_acquire(&handed_over[next]);

	self_leave(self);
	if (others != 0)
		wcprof_v1_end(others, WCPROF_OK, 0);
	if (others != 0)
		store_release(&handed_over[next], 0);
	if (load_acquire(&handed_over[me]) == 0)
		store_release(&handed_over[me], wcprof_v1_begin(0, WCPROF_KIND_USER, "c", "i"));
	(void)self_enter();
}

static void churn_children(struct self *self, uint32_t me)
{
	struct watch *watch = watch_get(self, (void *)(uintptr_t)(4711 + me), WATCH_CHILD);

	/* The table may be locked by a thread that does not run. */
	if (!watch)
		return;
	store_relaxed(&watch->holder_start, clock_ticks());
	store_release(&watch->holder_op, op_reserve(self));
	ck_assert_uint_ne(watch_end_child(self, watch, OUTCOME_OK, 0, clock_now_ticks()), 0);
	ck_assert_uint_eq(watch_end_child(self, watch, OUTCOME_OK, 0, clock_now_ticks()), 0);
}

static void (*const churns[])(struct self *, uint32_t) = { churn_ops, churn_holds,
							   churn_holds_of_others, churn_handles,
							   churn_children };
enum { CHURNS = sizeof(churns) / sizeof(churns[0]) };

static int churn_kind;

/* As fast as it can. */
static void *churn(void *argument)
{
	uint32_t seen = 0;

	thread_begin(0, 0, churn, __builtin_frame_address(0));
	for (uint32_t i = 1; !load_relaxed(&stop); i++) {
		struct self *self = self_enter();

		churns[churn_kind](self, *(uint32_t *)argument);
		self_leave(self);
		if (i % OPS_A_DUMP == 0)
			wait_for_dump(&seen);
	}
	thread_end();
	return NULL;
}

/* The ids of one dump. */
struct ids {
	uint64_t open[64];
	size_t open_count;
	uint64_t *ended;
	size_t ended_count;
};

static void collect(struct ids *ids, const struct snapshot *snapshot)
{
	ids->open_count = 0;
	ids->ended_count = 0;
	for (uint32_t i = 0; i < snapshot->open_count; i++)
		ids->open[ids->open_count++] = snapshot->opens[i].record.id;
	ids->ended = realloc(ids->ended, (snapshot->event_count + 1) * sizeof(uint64_t));
	for (uint32_t i = 0; i < snapshot->chunk_count; i++) {
		const struct chunk *chunk = chunk_at(recorder_arena, i);
		struct recording_reader reader =
			recording_read(chunk, chunk->snapshot_from, chunk->snapshot);
		struct record record;

		while (recording_next(&reader, &record))
			ids->ended[ids->ended_count++] = record.id;
	}
}

static bool has(const uint64_t *ids, size_t count, uint64_t id)
{
	for (size_t i = 0; i < count; i++)
		if (ids[i] == id)
			return true;
	return false;
}

/* Open: not ended in this dump nor in the one before. Was open: is open still, or has ended in
 * this one. */
static void compare_ids(const struct ids *before, const struct ids *now)
{
	for (size_t i = 0; i < now->open_count; i++) {
		ck_assert_msg(!has(now->ended, now->ended_count, now->open[i]), "open and ended");
		ck_assert_msg(!has(before->ended, before->ended_count, now->open[i]),
			      "open after its end");
		ck_assert_msg(!has(now->open + i + 1, now->open_count - i - 1, now->open[i]),
			      "open twice");
	}
	for (size_t i = 0; i < before->open_count; i++)
		ck_assert_msg(has(now->open, now->open_count, before->open[i]) ||
				      has(now->ended, now->ended_count, before->open[i]),
			      "neither open nor ended");
}

/* As if its thread had stopped between the record of an op and its entry, for two dumps. */
START_TEST(what_is_just_ending_has_ended)
{
	struct self *self = self_enter();
	uint64_t op = op_begin(self, KIND_OP_USER, 1, 0, -1, 0, NULL);
	struct record record = self->slot->entries[1].record;
	struct snapshot snapshot;

	ck_assert(chunk_publish(self, &record));
	for (uint32_t i = 0; i < 2; i++) {
		ck_assert_int_eq(snapshot_take(&snapshot, recorder_arena, DUMP_AT_END), 0);
		ck_assert_uint_eq(snapshot.event_count, i == 0);
		ck_assert_uint_eq(snapshot.open_count, 1);
		snapshot_drop(&snapshot, recorder_arena, true);
	}
	ck_assert(op_drop(self, op));
	chunk_settle(self);
	self_leave(self);
}
END_TEST

START_TEST(each_op_is_there_once_while_threads_go_on)
{
	struct ids ids[2] = { { .open_count = 0 }, { .open_count = 0 } };
	uint32_t numbers[THREADS];
	pthread_t threads[THREADS];
	struct snapshot snapshot;

	struct self *self = self_enter();

	churn_kind = _i;
	/* Made before many threads want them at once. */
	ck_assert_ptr_nonnull(watch_get(self, &lock, WATCH_MUTEX));
	for (uint32_t i = 0; i < THREADS; i++)
		ck_assert_ptr_nonnull(watch_get(self, &locked_turns[i], WATCH_MUTEX));
	self_leave(self);
	for (uint32_t i = 0; i < THREADS; i++) {
		numbers[i] = i;
		pthread_create(&threads[i], NULL, churn, &numbers[i]);
	}
	for (int dump = 0; dump < DUMPS; dump++) {
		add_relaxed(&dumps, 1);
		ck_assert_int_eq(snapshot_take(&snapshot, recorder_arena, DUMP_AT_END), 0);
		ck_assert_uint_eq(snapshot.losses_total, 0);
		collect(&ids[dump % 2], &snapshot);
		snapshot_drop(&snapshot, recorder_arena, true);
		compare_ids(&ids[(dump + 1) % 2], &ids[dump % 2]);
	}
	store_relaxed(&stop, 1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	free(ids[0].ended);
	free(ids[1].ended);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(children_that_nobody_waited_for_are_open);
	TEST(what_is_just_ending_has_ended);
	TEST(a_released_hold_is_open_until_it_is_recorded);
	TEST(a_hold_that_another_released_is_open_until_it_is_recorded);
	LOOP(each_op_is_there_once_while_threads_go_on, 0, CHURNS);
}

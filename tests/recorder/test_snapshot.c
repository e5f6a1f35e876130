/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, an op is in a dump twice, or in none, or a dump that nobody got has eaten
 * events. */
#include "snapshot.h"

#include <errno.h>
#include <sched.h>

#include "chunk.h"
#include "recording.h"
#include "roster.h"

enum { THREADS = 3, DUMPS = 400, OPS_A_DUMP = 20000 };

static void setup(void)
{
	recording_begin();
}

static void teardown(void)
{
	recording_end();
}

START_TEST(one_drainer_at_a_time)
{
	struct snapshot first, second;

	ck_assert_int_eq(snapshot_take(&first, recorder_arena, DUMP_AT_END), 0);
	ck_assert_int_eq(snapshot_take(&second, recorder_arena, DUMP_AT_END), -EBUSY);
	ck_assert_int_eq(process_reset(), -EBUSY);
	snapshot_drop(&first, recorder_arena, false);
	ck_assert_int_eq(process_reset(), 0);
}
END_TEST

START_TEST(what_was_not_handed_out_is_in_the_next)
{
	struct snapshot snapshot;

	record_io(1);
	record_io(2);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(snapshot_take(&snapshot, recorder_arena, DUMP_AT_END), 0);
		ck_assert_uint_eq(snapshot.event_count, 2);
		snapshot_drop(&snapshot, recorder_arena, i > 0);
	}
	record_io(3);
	ck_assert_int_eq(snapshot_take(&snapshot, recorder_arena, DUMP_AT_END), 0);
	ck_assert_uint_eq(snapshot.event_count, 1);
	snapshot_drop(&snapshot, recorder_arena, true);
}
END_TEST

START_TEST(losses_are_reported_once)
{
	struct snapshot snapshot;

	arena_count(recorder_arena, COUNTER_dropped_full);
	arena_count(recorder_arena, COUNTER_dropped_strings);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(snapshot_take(&snapshot, recorder_arena, DUMP_AT_END), 0);
		/* Not handed out, handed out, and then there is no more to report. */
		ck_assert_uint_eq(snapshot.losses, i < 2);
		ck_assert_uint_eq(snapshot.losses_total, 1);
		snapshot_drop(&snapshot, recorder_arena, i > 0);
	}
}
END_TEST

START_TEST(reset_forgets)
{
	struct snapshot snapshot;

	for (int i = 0; i < 2 * CHUNK_RECORDS; i++)
		record_io(1);
	ck_assert_int_eq(process_reset(), 0);
	ck_assert_uint_eq(snapshot_pending(recorder_arena), 0);
	ck_assert_int_eq(snapshot_take(&snapshot, recorder_arena, DUMP_AT_END), 0);
	ck_assert_uint_eq(snapshot.event_count, 0);
	ck_assert_uint_eq(snapshot.open_count, 1);
	snapshot_drop(&snapshot, recorder_arena, true);
}
END_TEST

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

static uint32_t stop, dumps;

/* Not so many that memory runs out before the next dump: what is lost is in none. */
static void wait_for_dump(uint32_t *seen)
{
	while (load_relaxed(&dumps) == *seen && !load_relaxed(&stop))
		sched_yield();
	*seen = load_relaxed(&dumps);
}

/* Opens and ends nested ops as fast as it can. */
static void *churn(void *unused)
{
	uint32_t seen = 0;

	thread_begin(0, 0, churn, __builtin_frame_address(0));
	for (uint32_t i = 1; !load_relaxed(&stop); i++) {
		struct self *self = self_enter();
		uint64_t outer = op_begin(self, KIND_OP_USER, 1, 0, -1, 0, NULL);
		uint64_t inner = op_begin(self, KIND_OP_USER, 1, 0, -1, 0, NULL);

		op_end(self, outer, OUTCOME_OK, 0);
		op_end(self, inner, OUTCOME_OK, 0);
		self_leave(self);
		if (i % OPS_A_DUMP == 0)
			wait_for_dump(&seen);
	}
	thread_end();
	return unused;
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

		for (uint32_t k = chunk->snapshot_from; k < chunk->snapshot; k++)
			ids->ended[ids->ended_count++] = chunk->records[k].id;
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
	pthread_t threads[THREADS];
	struct snapshot snapshot;

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, churn, NULL);
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

int main(void)
{
	Suite *suite = suite_create("snapshot");
	TCase *tests = tcase_create("snapshot");

	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, one_drainer_at_a_time);
	tcase_add_test(tests, what_was_not_handed_out_is_in_the_next);
	tcase_add_test(tests, losses_are_reported_once);
	tcase_add_test(tests, reset_forgets);
	tcase_add_test(tests, children_that_nobody_waited_for_are_open);
	tcase_add_test(tests, what_is_just_ending_has_ended);
	tcase_add_test(tests, each_op_is_there_once_while_threads_go_on);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, an op is in a dump twice, or in none, or a dump that nobody got has eaten events. */
#include "snapshot.h"

#include <errno.h>

#include "chunk.h"
#include "recording.h"
#include "roster.h"

enum { THREADS = 3, ROUNDS = 60000, DUMPS = 300 };

static void setup(void)
{
	recording_begin();
}

static void teardown(void)
{
	recorder_image_ends(END_EXIT);
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

static uint32_t stop;

/* Opens and ends nested ops as fast as it can. */
static void *churn(void *unused)
{
	thread_begin(0, 0, churn, __builtin_frame_address(0));
	for (int i = 0; i < ROUNDS && !load_relaxed(&stop); i++) {
		struct self *self = self_enter();
		uint64_t outer = op_begin(self, KIND_OP_USER, 1, 0, -1, 0, NULL);
		uint64_t inner = op_begin(self, KIND_OP_USER, 1, 0, -1, 0, NULL);

		op_end(self, outer, OUTCOME_OK, 0);
		op_end(self, inner, OUTCOME_OK, 0);
		self_leave(self);
	}
	thread_end();
	return unused;
}

/* How often each op of a dump is in it: once. Marks what it has seen, by thread and sequence. */
static void check_once(uint8_t seen[THREADS + 2][2 * ROUNDS + 8], uint64_t id, bool is_open)
{
	uint8_t *times = &seen[id >> 32][id & UINT32_MAX];

	ck_assert_msg((*times & 1) == 0, "op %lx twice", (unsigned long)id);
	/* Ended in an earlier dump: it must not be open any more. */
	ck_assert_msg(!(is_open && (*times & 2)), "op %lx open after its end", (unsigned long)id);
	*times |= 1;
	if (!is_open)
		*times |= 2;
}

START_TEST(each_op_is_there_once_while_threads_go_on)
{
	static uint8_t seen[THREADS + 2][2 * ROUNDS + 8];
	pthread_t threads[THREADS];
	struct snapshot snapshot;

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, churn, NULL);
	for (int dump = 0; dump < DUMPS; dump++) {
		ck_assert_int_eq(snapshot_take(&snapshot, recorder_arena, DUMP_AT_END), 0);
		for (uint32_t i = 0; i < snapshot.open_count; i++)
			check_once(seen, snapshot.opens[i].record.id, true);
		for (uint32_t i = 0; i < snapshot.chunk_count; i++) {
			const struct chunk *chunk = chunk_at(recorder_arena, i);

			for (uint32_t k = chunk->drained; k < chunk->snapshot; k++)
				check_once(seen, chunk->records[k].id, false);
		}
		snapshot_drop(&snapshot, recorder_arena, true);
		for (int t = 0; t < THREADS + 2; t++)
			for (int k = 0; k < 2 * ROUNDS + 8; k++)
				seen[t][k] &= 2;
	}
	store_relaxed(&stop, 1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
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
	tcase_add_test(tests, each_op_is_there_once_while_threads_go_on);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}

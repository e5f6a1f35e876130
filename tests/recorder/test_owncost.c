/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a dump says that recording has cost less, or more, than it has. */
#include "owncost.h"

#include <sys/wait.h>

#include "recording.h"
#include "roster.h"
#include "suite.h"

static const uint64_t rate_1 = UINT64_C(1) << 32; /* a tick is a nanosecond */

static uint64_t events_counted(void)
{
	struct thread_cost *ended = &recorder_arena->cost.threads;
	struct owncost_reading cost;

	/* So each event costs a nanosecond. */
	ended->metered_ticks = ended->metered_events;
	for (uint32_t i = 0; i < roster_made(recorder_arena); i++) {
		struct thread_cost *living = &roster_slot(recorder_arena, i)->cost;

		living->metered_ticks = living->metered_events;
	}
	owncost_read(recorder_arena, rate_1, &cost);
	return cost.all.events_ns;
}

START_TEST(all_events_count_wherever_they_are)
{
	enum { EVENTS = 3 * CHUNK_RECORDS + 7 };

	recording_begin();
	for (int i = 0; i < EVENTS; i++)
		record_io(1);
	ck_assert_uint_eq(events_counted(), EVENTS);
	/* A dump changes nothing. */
	recording_dump(true);
	ck_assert_uint_eq(events_counted(), EVENTS);
	record_io(1);
	ck_assert_uint_eq(events_counted(), EVENTS + 1);
	recording_end();
}
END_TEST

enum { THREAD_EVENTS = 40 };

static void *record_some(void *unused)
{
	for (int i = 0; i < THREAD_EVENTS; i++)
		record_io(1);
	thread_end();
	return unused;
}

START_TEST(ended_threads_count_too)
{
	pthread_t thread;

	recording_begin();
	record_io(1);
	for (uint64_t i = 1; i <= 3; i++) {
		pthread_create(&thread, NULL, record_some, NULL);
		pthread_join(thread, NULL);
		/* And its own op. They all write to one chunk, in turn. */
		ck_assert_uint_eq(events_counted(), 1 + i * (THREAD_EVENTS + 1));
	}
	recording_end();
}
END_TEST

START_TEST(a_window_has_what_came_since_it_began)
{
	struct owncost_reading cost;

	recording_begin();
	for (int i = 0; i < 100; i++)
		record_io(1);
	switch_disable();
	ck_assert_int_eq(switch_enable(), 0);
	ck_assert_uint_eq(events_counted(), 100);
	owncost_read(recorder_arena, rate_1, &cost);
	ck_assert_uint_eq(cost.window.events_ns, 0);
	for (int i = 0; i < 5; i++)
		record_io(1);
	ck_assert_uint_eq(events_counted(), 105);
	owncost_read(recorder_arena, rate_1, &cost);
	ck_assert_uint_eq(cost.window.events_ns, 5);
	ck_assert_uint_eq(cost.all.events_ns, 105);
	recording_end();
}
END_TEST

START_TEST(dumps_are_no_part_of_the_control_threads_own)
{
	struct owncost_reading cost;
	uint64_t before_ns = clock_thread_cpu_ns();

	recording_begin();
	owncost_note_dump(before_ns / 2);
	owncost_note_control();
	owncost_read(recorder_arena, rate_1, &cost);
	ck_assert_uint_eq(cost.all.dumps_ns, before_ns / 2);
	ck_assert_uint_ge(cost.all.control_ns, before_ns - before_ns / 2);
	ck_assert_uint_le(cost.all.control_ns + cost.all.dumps_ns, clock_thread_cpu_ns());
	/* The next one takes over from it. */
	owncost_control_ends();
	owncost_note_control();
	owncost_read(recorder_arena, rate_1, &cost);
	ck_assert_uint_ge(cost.all.control_ns + cost.all.dumps_ns, 2 * before_ns);
	recording_end();
}
END_TEST

START_TEST(a_child_begins_with_nothing_but_its_own_making)
{
	int status;

	recording_begin();
	for (int i = 0; i < 1000; i++)
		record_io(1);
	owncost_note_dump(1000000000);
	if (fork() == 0) {
		struct owncost_reading cost;

		recorder_fork_child();
		recorder_wake_up(false);
		owncost_note_control();
		owncost_read(recorder_arena, rate_1, &cost);
		_exit(cost.all.events_ns == 0 && cost.all.dumps_ns == 0 && cost.all.slow_ns > 0
			      ? 0
			      : 1);
	}
	wait(&status);
	ck_assert_int_eq(status, 0);
	recording_end();
}
END_TEST

START_TEST(a_dump_has_the_sum_and_its_parts)
{
	static const char *const parts[] = { "own_events_ns", "own_slow_ns", "own_control_ns",
					     "own_dumps_ns" };
	json_int_t sum = 0;
	const json_t *process;

	recording_begin();
	for (int i = 0; i < 1000; i++)
		record_io(1);
	process = json_object_get(json_array_get(recording_dump(false), 0), "process");
	for (int i = 0; i < 4; i++)
		sum += number_of(process, parts[i]);
	ck_assert_int_gt(number_of(process, "own_events_ns"), 0);
	ck_assert_int_gt(number_of(process, "own_slow_ns"), 0);
	ck_assert_int_eq(number_of(process, "own_ns"), sum);
	ck_assert_int_eq(number_of(process, "own_window_ns"), sum);
	recording_end();
}
END_TEST

static json_int_t start_ns(void)
{
	const json_t *process =
		json_object_get(json_array_get(recording_dump(false), 0), "process");

	ck_assert_int_le(number_of(process, "own_start_ns"), number_of(process, "own_slow_ns"));
	return number_of(process, "own_start_ns");
}

/* A later slow path is no start, be it a thread's begin. */
START_TEST(a_start_is_until_the_first_thread_has_begun)
{
	pthread_t thread;

	recording_begin();
	record_io(1);
	json_int_t first_ns = start_ns();
	ck_assert_int_gt(first_ns, 0);
	pthread_create(&thread, NULL, record_some, NULL);
	pthread_join(thread, NULL);
	ck_assert_int_eq(start_ns(), first_ns);
	recording_end();
}
END_TEST

/* It may go on by exec. */
START_TEST(without_a_thread_all_was_the_start)
{
	recording_begin();
	ck_assert_int_gt(start_ns(), 0);
	recording_end();
}
END_TEST

SUITE()
{
	TEST(a_start_is_until_the_first_thread_has_begun);
	TEST(without_a_thread_all_was_the_start);
	TEST(all_events_count_wherever_they_are);
	TEST(ended_threads_count_too);
	TEST(a_window_has_what_came_since_it_began);
	TEST(dumps_are_no_part_of_the_control_threads_own);
	TEST(a_child_begins_with_nothing_but_its_own_making);
	TEST(a_dump_has_the_sum_and_its_parts);
}

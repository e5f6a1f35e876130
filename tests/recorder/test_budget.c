/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, recording goes on beyond its budget, leaves out parts of windows, or is not what
 * the user asked for. */
#include "budget.h"

#include <pthread.h>
#include <sys/wait.h>

#include "clock.h"
#include "owncost.h"
#include "pace.h"
#include "recording.h"
#include "settings.h"
#include "suite.h"

enum { HALF = 500000 };

static void setup(void)
{
	setenv("WCPROF_ENABLE", "0", 1);
	recording_begin();
}

static void teardown(void)
{
	recording_end();
}

static bool has_work;

/* Ten times what the rest of a slot takes. */
static void *work(void *unused)
{
	uint64_t end_ns = clock_thread_cpu_ns() + 2000000;

	while (clock_thread_cpu_ns() < end_ns)
		;
	return unused;
}

/* Of a thread that is not the one which records by the budget. */
static void do_work(void)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, work, NULL), 0);
	pthread_join(thread, NULL);
}

/* How many slots of these many were recorded. */
static int run(int slots)
{
	uint64_t now_ns = pace_slot_at(UINT64_C(77000) * PACE_SLOT_NS).end_ns;
	int count = 0;

	for (int i = 0; i < slots; i++) {
		struct pace_slot slot = pace_slot_at(now_ns);
		int due_ms = budget_tick(now_ns, false);
		bool is_on = gate_is_on();

		ck_assert_int_ge(due_ms, 1);
		ck_assert_uint_ge(now_ns + (uint64_t)due_ms * 1000000, slot.end_ns);
		count += is_on;
		if (is_on)
			record_io(1);
		if (is_on && has_work)
			do_work();
		/* Whole slots alone. */
		(void)budget_tick(now_ns + (slot.end_ns - now_ns) / 2, false);
		ck_assert_int_eq(gate_is_on(), is_on);
		(void)budget_tick(slot.end_ns - 1, false);
		ck_assert_int_eq(gate_is_on(), is_on);
		now_ns = slot.end_ns;
	}
	return count;
}

START_TEST(slots_are_recorded_and_others_are_not)
{
	int count;

	budget_set(HALF / 10);
	ck_assert(budget_begin());
	ck_assert(!gate_is_on());
	count = run(400);
	ck_assert_int_gt(count, 0);
	ck_assert_int_lt(count, 300);
	ck_assert(budget_is_running());
}
END_TEST

START_TEST(without_a_budget_nobody_turns_anything)
{
	ck_assert(!budget_begin());
	ck_assert_int_eq(budget_tick(PACE_SLOT_NS, false), -1);
	ck_assert_int_eq(switch_enable(), 0);
	ck_assert_int_eq(budget_tick(PACE_SLOT_NS, false), -1);
	ck_assert(gate_is_on());
}
END_TEST

START_TEST(an_end_is_an_end)
{
	budget_set(HALF);
	ck_assert(budget_begin());
	(void)run(20);
	budget_end();
	budget_turn_off();
	ck_assert_int_eq(budget_tick(PACE_SLOT_NS, false), -1);
	ck_assert(!gate_is_on());
	ck_assert(!budget_is_running());
}
END_TEST

static void set(const char *value)
{
	const struct setting_value one = { "budget", 6, value, strlen(value) };
	char bytes[100];
	struct text wrong = { .bytes = bytes, .size = sizeof(bytes) };

	ck_assert(settings_change(&one, 1, &wrong));
}

START_TEST(a_budget_that_is_set_later_takes_over)
{
	ck_assert_int_eq(switch_enable(), 0);
	set("0.5%");
	ck_assert(budget_is_running());
	ck_assert_int_lt(run(100), 100);
	/* And no budget is all the time. */
	set("0");
	(void)budget_tick(PACE_SLOT_NS, false);
	ck_assert(gate_is_on());
	ck_assert(!budget_is_running());
}
END_TEST

START_TEST(while_recording_is_off_a_budget_turns_nothing_on)
{
	set("50%");
	ck_assert(!budget_is_running());
	ck_assert_int_eq(budget_tick(PACE_SLOT_NS, false), -1);
	ck_assert(!gate_is_on());
}
END_TEST

START_TEST(a_trial_has_recording_to_itself)
{
	budget_set(1);
	ck_assert(budget_begin());
	ck_assert_int_eq(switch_enable(), 0);
	for (uint64_t i = 1; i < 100; i++)
		ck_assert_int_eq(budget_tick(i * PACE_SLOT_NS, true), -1);
	ck_assert(gate_is_on());
}
END_TEST

START_TEST(without_its_thread_recording_is_off)
{
	budget_set(HALF);
	ck_assert(budget_begin());
	ck_assert_int_eq(switch_enable(), 0);
	budget_leave();
	ck_assert(!gate_is_on());
	/* Another one goes on. */
	ck_assert(budget_is_running());
	ck_assert_int_gt(run(100), 0);
}
END_TEST

/* Hours of them, handed out between two slots: more than all that the process has used. */
START_TEST(dumps_are_part_of_the_cost)
{
	has_work = true;
	budget_set(HALF);
	ck_assert(budget_begin());
	(void)run(100);
	ck_assert_uint_gt(load_relaxed(&recorder_arena->budget.cost), 0);
	ck_assert_uint_lt(load_relaxed(&recorder_arena->budget.cost), PACE_WHOLE);
	owncost_note_dump(UINT64_C(10000000000000));
	(void)run(100);
	ck_assert_uint_eq(load_relaxed(&recorder_arena->budget.cost), PACE_WHOLE);
}
END_TEST

/* The budget begins to pay when it is set. */
START_TEST(dumps_before_the_budget_are_not)
{
	has_work = true;
	ck_assert_int_eq(switch_enable(), 0);
	owncost_note_dump(UINT64_C(10000000000000));
	owncost_note_control();
	budget_set(HALF);
	ck_assert(budget_is_running());
	(void)run(100);
	ck_assert_uint_lt(load_relaxed(&recorder_arena->budget.cost), PACE_WHOLE);
}
END_TEST

START_TEST(a_program_without_the_thread_has_no_budget)
{
	budget_set(HALF);
	ck_assert_int_eq(budget_start(false), 0);
	ck_assert(gate_is_on());
	ck_assert(!budget_is_running());
}
END_TEST

START_TEST(a_child_has_the_budget_too)
{
	int status;

	budget_set(HALF);
	ck_assert(budget_begin());
	(void)run(20);
	if (fork() == 0) {
		recorder_fork_child();
		budget_fork_child();
		_exit(!gate_is_on() && budget_is_running() && run(100) > 0 ? 0 : 1);
	}
	wait(&status);
	ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(the_dump_says_the_budget)
{
	const json_t *process;

	budget_set(HALF);
	ck_assert(budget_begin());
	(void)run(50);
	process = json_object_get(json_array_get(recording_dump(false), 0), "process");
	ck_assert_int_eq(number_of(process, "budget_ppm"), HALF);
	ck_assert_int_gt(number_of(process, "budget_span_ns"), 0);
	ck_assert_int_le(number_of(process, "budget_on_ns"), number_of(process, "budget_span_ns"));
}
END_TEST

START_TEST(no_dump_has_more_windows_than_it_can_tell_apart)
{
	budget_set(HALF);
	for (int i = 0; i < OPENINGS_KEPT - 1; i++) {
		ck_assert_int_eq(switch_enable(), 0);
		switch_disable();
	}
	ck_assert(budget_begin());
	ck_assert_int_eq(run(100), 0);
	(void)recording_dump(true);
	ck_assert_int_gt(run(100), 0);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(slots_are_recorded_and_others_are_not);
	TEST(without_a_budget_nobody_turns_anything);
	TEST(an_end_is_an_end);
	TEST(a_budget_that_is_set_later_takes_over);
	TEST(while_recording_is_off_a_budget_turns_nothing_on);
	TEST(a_trial_has_recording_to_itself);
	TEST(without_its_thread_recording_is_off);
	TEST(dumps_are_part_of_the_cost);
	TEST(dumps_before_the_budget_are_not);
	TEST(a_program_without_the_thread_has_no_budget);
	TEST(a_child_has_the_budget_too);
	TEST(the_dump_says_the_budget);
	TEST(no_dump_has_more_windows_than_it_can_tell_apart);
}

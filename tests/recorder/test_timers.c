/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this fails, a thread that cannot take the signal gets one, or one that can never does.
 */
#include "timers.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "claim.h"
#include "recording.h"
#include "roster.h"
#include "sample.h"
#include "suite.h"

static uint32_t own_tid(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

static void setup(void)
{
	recording_begin();
	ck_assert(claim_take());
	timers_set_rate(1);
}

static void teardown(void)
{
	recording_end();
}

static void look(void)
{
	uint32_t expected = 0;

	timers_begin_round();
	timers_see(own_tid(), &expected);
	timers_end_round();
}

START_TEST(a_thread_has_one_until_it_is_gone)
{
	uint32_t expected = 0;

	look();
	ck_assert_uint_eq(timers_count(), 1);
	timers_begin_round();
	timers_see(own_tid(), &expected);
	/* There is none of that number. */
	timers_see(own_tid() + 100000, &expected);
	timers_end_round();
	ck_assert_uint_eq(timers_count(), 1);
	timers_begin_round();
	timers_end_round();
	ck_assert_uint_eq(timers_count(), 0);
}
END_TEST

/* Without a round. */
START_TEST(a_thread_that_begins_is_sampled_at_once)
{
	timers_begin_own(_i == 1);
	ck_assert_uint_eq(timers_count(), _i == 0);
	timers_begin_own(_i == 1);
	ck_assert_uint_eq(timers_count(), _i == 0);
	timers_drop_samples();
	timers_begin_own(false);
	ck_assert_uint_eq(timers_count(), 0); /* no samples are wanted */
}
END_TEST

START_TEST(a_paused_thread_is_not_sampled)
{
	if (_i)
		look();
	timers_pause_own();
	ck_assert(timers_own_is_paused());
	look();
	ck_assert_uint_eq(timers_count(), 0);
	ck_assert(!timers_ask(own_tid(), 1));
	timers_resume_own();
	ck_assert(!timers_own_is_paused());
	look();
	ck_assert_uint_eq(timers_count(), 1);
	ck_assert(timers_ask(own_tid(), 1));
	timers_end_asking(own_tid());
	timers_drop_samples();
	ck_assert_uint_eq(timers_count(), 0);
}
END_TEST

START_TEST(a_thread_with_a_small_stack_is_counted_once)
{
	look();
	timers_own_stack(false);
	for (int i = 0; i < 3; i++)
		look();
	ck_assert_uint_eq(timers_count(), 0);
	ck_assert(!timers_ask(own_tid(), 1));
	ck_assert_uint_eq(roster_counter(recorder_arena, COUNTER_unsampled_stacks), 1);
	timers_own_stack(true);
	look();
	ck_assert_uint_eq(timers_count(), 1);
}
END_TEST

/* Has them from its parent, by another number. */
START_TEST(a_forked_child_knows_what_its_thread_said)
{
	int status;
	pid_t child;

	look();
	if (_i == 1)
		timers_pause_own();
	if (_i == 2)
		timers_own_stack(false);
	child = fork();
	if (child == 0) {
		timers_fork_child();
		look();
		_exit((int)timers_count());
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, _i == 0 ? 0x100 : 0);
}
END_TEST

/* It finds no place to say what it must. Later there is one, and nobody knows what was not said. */
START_TEST(without_room_for_all_nobody_is_sampled)
{
	enum { MORE_THAN_PLACES = 5000 };

	timers_begin_round();
	for (uint32_t i = 1; i <= MORE_THAN_PLACES; i++) {
		uint32_t expected = 0;

		timers_see((1U << 30) + i, &expected);
	}
	if (_i == 1)
		timers_own_stack(false);
	if (_i == 2)
		timers_pause_own();
	look();
	ck_assert_uint_eq(timers_count(), 0);
	look();
	ck_assert_uint_eq(timers_count(), _i == 0);
	ck_assert_int_eq(timers_ask(own_tid(), 1), _i == 0);
}
END_TEST

START_TEST(who_gives_the_signal_up_drops_all)
{
	look();
	ck_assert(timers_ask(own_tid(), 1));
	ck_assert(timers_are_wanted());
	signal_is_taken();
	ck_assert_uint_eq(timers_count(), 0);
	look();
	ck_assert_uint_eq(timers_count(), 0);
	ck_assert(!timers_ask(own_tid(), 1));
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(a_thread_has_one_until_it_is_gone);
	LOOP(a_thread_that_begins_is_sampled_at_once, 0, 2);
	LOOP(a_paused_thread_is_not_sampled, 0, 2);
	TEST(a_thread_with_a_small_stack_is_counted_once);
	LOOP(a_forked_child_knows_what_its_thread_said, 0, 3);
	LOOP(without_room_for_all_nobody_is_sampled, 0, 3);
	TEST(who_gives_the_signal_up_drops_all);
}

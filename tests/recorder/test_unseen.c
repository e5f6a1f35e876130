/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a thread that was blocked all the time is in no recording, nor the lock it has. */
#include "unseen.h"

#include "clock.h"
#include "insider.h"
#include "scope.h"

/* Nothing else is recorded of the thread: in the next opening it is another one. */
START_TEST(a_thread_is_there_with_its_call)
{
	json_t *lines, *op, *life;

	if (!start(be_in_read, SYS_read))
		return;
	turn_on();
	turn_off();
	ck_assert_int_eq(switch_enable(), 0);
	let_out();
	lines = finish();
	ck_assert_uint_eq(count_events(lines, "k", "io"), 1);
	ck_assert_uint_eq(count_events(lines, "k", "thread"), 2);
	op = event_of(lines, "k", "io");
	life = event_of(lines, "k", "thread");
	ck_assert_str_eq(name_of(lines, op, "c"), "read");
	ck_assert_str_eq(word_of(op, "o"), "");
	ck_assert_int_eq(number_of(op, "p"), number_of(life, "id"));
	ck_assert_int_eq(number_of(op, "s"), number_of(life, "s"));
	ck_assert_int_eq(number_of(op, "d"), number_of(life, "d"));
	ck_assert_int_eq(number_of(life, "th"), number_of(life, "id") >> 32);
	ck_assert_uint_eq(json_array_size(json_object_get(json_array_get(lines, 0), "threads")), 2);
}
END_TEST

/* It has come out, and runs: its CPU time says so. */
START_TEST(a_thread_that_ran_was_not_inside_to_the_end)
{
	json_t *lines, *op, *life;
	uint64_t ran_ns;

	if (!start(be_in_read, SYS_read))
		return;
	turn_on();
	let_out();
	do
		ck_assert(clock_cpu_ns_of(tid, &ran_ns));
	while (ran_ns < 20000000);
	turn_off();
	lines = recording_dump(true);
	op = event_of(lines, "k", "io");
	life = event_of(lines, "k", "thread");
	ck_assert_ptr_nonnull(op);
	ck_assert_int_lt(number_of(op, "d") + 10000000, number_of(life, "d"));
	(void)finish();
}
END_TEST

START_TEST(a_thread_out_of_scope_is_left_out)
{
	static const char *const globs[] = { "test_*", "nobody*" };

	if (!start(be_in_read, SYS_read))
		return;
	ck_assert(scope_set_threads(globs[_i], strlen(globs[_i])));
	turn_on();
	turn_off();
	ck_assert_uint_eq(count_events(recording_dump(true), "k", "thread"), _i == 0);
	let_out();
	(void)finish();
}
END_TEST

START_TEST(a_lock_is_waited_for_all_the_time)
{
	json_t *lines, *wait;

	pthread_mutex_lock(&mutex);
	if (!start(be_in_lock, SYS_futex))
		return;
	turn_on();
	turn_off();
	lines = recording_dump(true);
	wait = event_of(lines, "rs", "mutex");
	ck_assert_ptr_nonnull(wait);
	ck_assert_int_eq(number_of(wait, "h"), getpid());
	ck_assert_int_eq(number_of(wait, "p"), number_of(event_of(lines, "k", "thread"), "id"));
	ck_assert_int_eq(number_of(wait, "d"), number_of(event_of(lines, "k", "thread"), "d"));
	pthread_mutex_unlock(&mutex);
	while (!load_acquire(&is_out))
		continue;
	(void)finish();
}
END_TEST

enum { TRIES = 1000 };

/* It has the lock for which this thread waits, and does not come by either. */
static pthread_mutex_t others = PTHREAD_MUTEX_INITIALIZER;

static void *hold_in_read(void *unused)
{
	pthread_mutex_lock(&others);
	be_in_read(unused);
	pthread_mutex_unlock(&others);
	return unused;
}

static void *wait_for_others(void *unused)
{
	pthread_mutex_lock(&others);
	pthread_mutex_unlock(&others);
	return unused;
}

START_TEST(a_lock_is_held_all_the_time)
{
	json_t *lines, *wait = NULL, *hold;
	pthread_t waiting;

	if (!start(hold_in_read, SYS_read))
		return;
	pthread_create(&waiting, NULL, wait_for_others, NULL);
	/* its word says that a thread waits */
	while (load_acquire((uint32_t *)&others) != 2)
		continue;
	for (int i = 0; i < TRIES && !wait; i++) { /* it was not asleep yet */
		turn_on();
		turn_off();
		lines = recording_dump(true);
		wait = event_of(lines, "rs", "mutex");
	}
	ck_assert_ptr_nonnull(wait);
	hold = event_of(lines, "k", "hold");
	ck_assert_ptr_nonnull(hold);
	ck_assert_int_eq(number_of(hold, "a"), number_of(wait, "a"));
	ck_assert_int_eq(number_of(wait, "h"), tid);
	ck_assert_int_ne(number_of(hold, "th"), number_of(wait, "th"));
	ck_assert_int_eq(number_of(hold, "d"), number_of(wait, "d"));
	let_out();
	(void)finish();
	pthread_join(waiting, NULL);
}
END_TEST

SUITE()
{
	FIXTURE(setup, recording_end);
	TEST(a_thread_is_there_with_its_call);
	TEST(a_thread_that_ran_was_not_inside_to_the_end);
	LOOP(a_thread_out_of_scope_is_left_out, 0, 2);
	TEST(a_lock_is_waited_for_all_the_time);
	TEST(a_lock_is_held_all_the_time);
}

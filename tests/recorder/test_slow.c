/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a trial makes the wrong ops longer, by the wrong time, or harms the program. */
#define WCPROF_IS_LIBRARY
#include "slow.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>

#include "slowing.h"
#include "suite.h"
#include "switch.h"
#include "watch.h"
#include "wcprof.h"

static pthread_mutex_t lock;

START_TEST(without_rules_nothing_is_looked_at)
{
	sleep_from(stack_number(1), MS);
	ck_assert_uint_eq(recorder_gate.slowed, 0);
	ck_assert_ptr_null(slow.threads);
	ck_assert_ptr_null(slow.of_stack);
}
END_TEST

START_TEST(a_call_takes_twice_as_long)
{
	rule(SLOW_CALL, stack_number(1));
	open_window(1000);
	sleep_from(stack_number(1), 3 * MS);
	ck_assert_uint_eq(counts().slowed, 1);
	ck_assert_uint_ge(counts().extra_ns, 3 * MS - 1000);
	ck_assert_int_ge(slept_ns(), 6 * MS - 1000);
	ck_assert_uint_eq(counts().refused, 0);
}
END_TEST

/* A sleep of microseconds takes longer than it was asked for: the next ops are not slept for, until
 * their extra time is as much. The first op is long: a shorter one may be over before it blocks. */
START_TEST(what_was_too_much_is_paid_back)
{
	const struct slow_thread *thread;
	uint64_t extra_ns;
	int64_t debt_ns;
	json_int_t own_ns;

	rule(SLOW_CALL, stack_number(1));
	open_window(10);
	sleep_from(stack_number(1), MS);
	thread = slow.threads;
	debt_ns = thread[0].sleep_debt_ns;
	extra_ns = counts().extra_ns;
	ck_assert_int_lt(debt_ns, 0);
	own_ns = slept_ns();
	sleep_from(stack_number(1), 1000);
	own_ns = slept_ns() - own_ns;
	ck_assert_uint_eq(counts().slowed, 2);
	ck_assert(counts().extra_ns - extra_ns < 5000 || own_ns / 100 >= -debt_ns);
}
END_TEST

START_TEST(at_factor_1_nothing_is_added)
{
	uint64_t extra_ns;

	rule(SLOW_CALL, stack_number(1));
	open_window(9000);
	sleep_from(stack_number(1), MS);
	extra_ns = counts().extra_ns;
	/* Nor what was left to be added, as where a signal has ended a sleep. */
	((struct slow_thread *)slow.threads)->sleep_debt_ns = 5 * MS;
	open_window(0);
	for (int i = 0; i < 10; i++)
		sleep_from(stack_number(1), 1000);
	ck_assert_uint_eq(counts().slowed, 11);
	ck_assert_uint_eq(counts().extra_ns, extra_ns);
}
END_TEST

START_TEST(another_stack_is_as_it_was)
{
	rule(SLOW_CALL, stack_number(1));
	open_window(9000);
	sleep_from(stack_number(2), MS);
	/* Of what has no stack no beginning is noted, which would cost a look at a clock. */
	uint64_t op = begin(KIND_SLEEP, 0);
	ck_assert_uint_eq(((struct slow_thread *)slow.threads)->count, 0);
	end(op);
	ck_assert_uint_eq(counts().slowed, 0);
	ck_assert_uint_eq(counts().extra_ns, 0);
}
END_TEST

/* Rules for calls are none for holds, nor the other way round. */
START_TEST(a_rule_is_for_its_kind)
{
	rule(SLOW_HOLD, stack_number(1));
	rule(SLOW_PROGRESS, stack_number(2));
	open_window(9000);
	sleep_from(stack_number(1), 1000);
	sleep_from(stack_number(2), 1000);
	ck_assert_uint_eq(counts().slowed, 0);
	ck_assert_uint_eq(counts().progress, 1);
}
END_TEST

START_TEST(no_window_is_open_any_more)
{
	rule(SLOW_CALL, stack_number(1));
	rule(SLOW_PROGRESS, stack_number(1));
	slow_look(recorder_arena);
	slow_begin_window(9000, 0);
	sleep_from(stack_number(1), 1000);
	ck_assert_uint_eq(counts().slowed, 0);
	ck_assert_uint_eq(counts().progress, 1);
	open_window(1000);
	slow_clear();
	sleep_from(stack_number(1), 1000);
	ck_assert_uint_eq(counts().slowed, 0);
	ck_assert_uint_eq(counts().progress, 1);
}
END_TEST

START_TEST(an_op_from_before_the_rules_is_refused)
{
	uint64_t op = begin(KIND_SLEEP, stack_number(1));

	rule(SLOW_CALL, stack_number(1));
	open_window(1000);
	end(op);
	ck_assert_uint_eq(counts().slowed, 0);
	ck_assert_uint_eq(counts().refused, 1);
}
END_TEST

/* --- Holds ------------------------------------------------------------------------------------ */

static struct watch *take(uint32_t stack)
{
	struct self *self = self_enter();
	struct watch *watch = watch_get(self, &lock, WATCH_MUTEX);

	hold_begin(self, watch, stack, __builtin_frame_address(0));
	self_leave(self);
	return watch;
}

static void let_go(struct watch *watch)
{
	struct hold_release release;
	struct self *self;

	hold_takes_longer(watch);
	self = self_enter();
	hold_release(self, watch, &release);
	hold_record(self, watch, &release);
	self_leave(self);
}

/* Its CPU time, and the blocked time of the calls in it. */
START_TEST(a_hold_takes_twice_as_long)
{
	struct watch *watch;
	uint64_t cpu_ns = clock_thread_cpu_ns();

	rule(SLOW_HOLD, stack_number(1));
	open_window(1000);
	watch = take(stack_number(1));
	compute(2 * MS);
	sleep_from(stack_number(2), 3 * MS);
	let_go(watch);
	ck_assert_uint_eq(counts().slowed, 1);
	ck_assert_uint_ge(counts().extra_ns, 5 * MS - 20000);
	ck_assert_uint_ge(clock_thread_cpu_ns() - cpu_ns, 4 * MS - 10000);
	ck_assert_int_ge(length_of(event_of(recording_dump(true), "k", "hold")), 10 * MS - 20000);
}
END_TEST

/* A wait for another one is not its own. */
START_TEST(waits_inside_are_not_multiplied)
{
	struct watch *watch;
	struct self *self;
	uint64_t wait;

	rule(SLOW_CALL, stack_number(1));
	open_window(9000);
	watch = take(stack_number(2));
	uint64_t op = begin(KIND_SLEEP, stack_number(1));
	self = self_enter();
	wait = wait_begin(self, REASON_MUTEX, CALL_LOCK, &lock, 0, 0, __builtin_frame_address(0));
	self_leave(self);
	block(100 * MS);
	self = self_enter();
	wait_end(self, wait, 0, 0);
	self_leave(self);
	end(op);
	let_go(watch);
	ck_assert_uint_eq(counts().slowed, 1);
	ck_assert_uint_lt(counts().extra_ns, 900 * MS);
}
END_TEST

/* The inner one has been made longer: the outer one is, by the rest. */
START_TEST(nothing_is_multiplied_twice)
{
	struct watch *watch;

	rule(SLOW_CALL, stack_number(1));
	rule(SLOW_HOLD, stack_number(2));
	open_window(2000);
	watch = take(stack_number(2));
	uint64_t op = begin(KIND_IO, stack_number(1));
	compute(30 * MS);
	block(20 * MS);
	end(op);
	ck_assert_uint_ge(counts().extra_ns, 100 * MS - 20000);
	struct slow_counts before = counts();
	let_go(watch);
	ck_assert_uint_eq(counts().slowed, 2);
	ck_assert_uint_lt(counts().extra_ns - before.extra_ns, 50 * MS);
}
END_TEST

START_TEST(one_op_is_not_made_longer_by_more_than_a_second)
{
	uint64_t op;

	rule(SLOW_CALL, stack_number(1));
	open_window(9000);
	op = begin(KIND_SLEEP, stack_number(1));
	block(150 * MS);
	end(op);
	ck_assert_uint_eq(counts().refused, 1);
	ck_assert_uint_ge(counts().extra_ns, 1000 * (uint64_t)MS);
	/* Nothing of the rest is left for the next one. */
	struct slow_counts before = counts();
	sleep_from(stack_number(1), 1000);
	ck_assert_uint_lt(counts().extra_ns - before.extra_ns, 300 * (uint64_t)MS);
}
END_TEST

/* Nor is the sum: of what is spun and what is slept. */
START_TEST(debts_are_paid_a_second_at_a_time)
{
	struct slow_thread *thread;

	rule(SLOW_CALL, stack_number(1));
	open_window(1);
	sleep_from(stack_number(1), 1000);
	thread = slow.threads;
	thread->spin_debt_ns = 400 * MS;
	thread->sleep_debt_ns = 999 * MS;
	sleep_from(stack_number(1), 1000);
	ck_assert_int_gt(thread->sleep_debt_ns, 0);
}
END_TEST

/* --- Declared ops ----------------------------------------------------------------------------- */

/* By the name of its class: by its thread's CPU time, and the blocked time of calls in it. */
START_TEST(a_declared_op_takes_twice_as_long)
{
	wcprof_op op;
	json_t *event;

	name_rule(SLOW_OP, "request");
	name_rule(SLOW_PROGRESS, "request");
	(void)string_intern("request", 7);
	open_window(1000);
	op = wcprof_v1_begin(0, WCPROF_KIND_USER, "other", "");
	wcprof_v1_end(op, WCPROF_OK, 0);
	ck_assert_uint_eq(counts().progress, 0);
	op = wcprof_v1_begin(0, WCPROF_KIND_USER, "request", "");
	compute(2 * MS);
	sleep_from(stack_number(2), 3 * MS);
	wcprof_v1_end(op, WCPROF_OK, 0);
	ck_assert_uint_eq(counts().progress, 1);
	ck_assert_uint_eq(counts().slowed, 1);
	ck_assert_uint_ge(counts().extra_ns, 5 * MS - 20000);
	event = json_array_get(recording_dump(true), 0);
	ck_assert_int_eq(number_of(json_object_get(event, "counters"), "slowed"), 1);
	ck_assert_int_ge(number_of(json_object_get(event, "counters"), "slowed_ns"),
			 5 * MS - 20000);
}
END_TEST

static void *end_it(void *op)
{
	wcprof_v1_end(*(wcprof_op *)op, WCPROF_OK, 0);
	return NULL;
}

/* It began on another thread, whose CPU time is not this one's. */
START_TEST(an_op_that_ends_elsewhere_is_refused)
{
	wcprof_op op;
	pthread_t thread;

	name_rule(SLOW_OP, "request");
	(void)string_intern("request", 7);
	open_window(1000);
	op = wcprof_v1_begin(0, WCPROF_KIND_USER, "request", "");
	pthread_create(&thread, NULL, end_it, &op);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(counts().slowed, 0);
	ck_assert_uint_eq(counts().refused, 1);
}
END_TEST

START_TEST(a_declared_wait_is_not_multiplied)
{
	wcprof_op op;
	wcprof_wait wait;
	uint64_t inner;

	rule(SLOW_CALL, stack_number(1));
	name_rule(SLOW_OP, "request");
	(void)string_intern("request", 7);
	open_window(9000);
	op = wcprof_v1_begin(0, WCPROF_KIND_USER, "request", "");
	inner = begin(KIND_SLEEP, stack_number(1));
	wait = wcprof_v1_wait(WCPROF_FOR_LOCK, 0, "it");
	block(100 * MS);
	wcprof_v1_wait_end(wait);
	end(inner);
	wcprof_v1_end(op, WCPROF_OK, 0);
	ck_assert_uint_eq(counts().slowed, 2);
	ck_assert_uint_lt(counts().extra_ns, 900 * MS);
}
END_TEST

/* --- Wakes ------------------------------------------------------------------------------------ */

static void wake_after(uint32_t stack, bool is_known)
{
	struct self *self = self_enter();
	uint64_t wait = wait_begin(self, REASON_SEM, CALL_LOCK, &lock, 0, stack,
				   __builtin_frame_address(0));
	uint64_t woken;

	self_leave(self);
	block(2 * MS);
	woken = clock_now_ticks();
	block(3 * MS);
	wait_takes_longer(wait, is_known ? woken : 0);
	self = self_enter();
	wait_end(self, wait, 1, 0);
	self_leave(self);
}

START_TEST(a_wake_takes_twice_as_long)
{
	rule(SLOW_WAKE, stack_number(1));
	open_window(1000);
	wake_after(stack_number(1), false);
	wake_after(stack_number(2), true);
	ck_assert_uint_eq(counts().slowed, 0);
	wake_after(stack_number(1), true);
	ck_assert_uint_eq(counts().slowed, 1);
	ck_assert_uint_ge(counts().extra_ns, 3 * MS - 1000);
}
END_TEST

/* --- The program ------------------------------------------------------------------------------ */

START_TEST(errno_stays)
{
	uint64_t op;

	rule(SLOW_CALL, stack_number(1));
	open_window(1000);
	op = begin(KIND_SLEEP, stack_number(1));
	block(MS);
	errno = EDOM;
	op_takes_longer(op, false);
	ck_assert_int_eq(errno, EDOM);
	end(op);
}
END_TEST

static struct {
	pthread_t spinner;
	uint64_t begun_ns;
	uint64_t off_ns;
} turned_off;

static uint64_t cpu_of_spinner(void)
{
	struct timespec now;
	clockid_t its;

	ck_assert_int_eq(pthread_getcpuclockid(turned_off.spinner, &its), 0);
	clock_gettime(its, &now);
	return (uint64_t)now.tv_sec * 1000 * MS + (uint64_t)now.tv_nsec;
}

static void *turn_off(void *unused)
{
	while (cpu_of_spinner() < turned_off.begun_ns + 20 * (uint64_t)MS)
		block(1000);
	switch_disable();
	turned_off.off_ns = cpu_of_spinner();
	return unused;
}

/* As where another thread is about to filter system calls. */
START_TEST(extra_time_ends_with_recording)
{
	pthread_t other;
	uint64_t op, end_ns;

	rule(SLOW_CALL, stack_number(1));
	open_window(1);
	sleep_from(stack_number(1), 1000);
	((struct slow_thread *)slow.threads)->spin_debt_ns = 999 * MS;
	op = begin(KIND_SLEEP, stack_number(1));
	turned_off.spinner = pthread_self();
	turned_off.begun_ns = clock_thread_cpu_ns();
	pthread_create(&other, NULL, turn_off, NULL);
	op_takes_longer(op, false);
	end_ns = clock_thread_cpu_ns();
	/* Where the other was late, there is nothing left to be seen. */
	while (clock_thread_cpu_ns() < turned_off.begun_ns + 30 * (uint64_t)MS)
		;
	pthread_join(other, NULL);
	ck_assert_int_lt((int64_t)(end_ns - turned_off.off_ns), 100 * MS);
}
END_TEST

static sigjmp_buf way_out;
static volatile bool is_adding;
static uint32_t has_jumped;

/* The guard is not held while time is added: what a handler does is recorded, and it may leave for
 * good. A signal that comes a moment before or after is passed over. */
static void leave(int number)
{
	(void)number;
	if (!is_adding || record_io(1) == 0)
		return;
	is_adding = false;
	store_relaxed(&has_jumped, 1);
	siglongjmp(way_out, 1);
}

static void *send_signals(void *to)
{
	while (load_relaxed(&has_jumped) == 0) {
		pthread_kill(*(pthread_t *)to, SIGUSR1);
		block(1000);
	}
	return NULL;
}

START_TEST(a_signal_is_heard_meanwhile)
{
	static uint64_t slowed;
	pthread_t self = pthread_self(), sender;

	rule(SLOW_CALL, stack_number(1));
	open_window(9000);
	signal(SIGUSR1, leave);
	pthread_create(&sender, NULL, send_signals, &self);
	while (sigsetjmp(way_out, 1) == 0) {
		uint64_t op = begin(KIND_SLEEP, stack_number(1));

		compute(5 * MS);
		slowed = counts().slowed;
		is_adding = true;
		op_takes_longer(op, false);
		is_adding = false;
		end(op);
	}
	pthread_join(sender, NULL);
	ck_assert_uint_eq(counts().slowed, slowed);
	sleep_from(stack_number(1), 1000);
	ck_assert_uint_eq(counts().slowed, slowed + 1);
}
END_TEST

START_TEST(a_vfork_child_is_not_made_longer)
{
	pid_t pid;

	rule(SLOW_CALL, stack_number(1));
	open_window(9000);
	pid = vfork();
	if (pid == 0) {
		sleep_from(stack_number(1), MS);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_uint_eq(counts().slowed, 0);
	ck_assert_uint_eq(counts().refused, 1);
}
END_TEST

/* Its own ops are its progress, and none of its parent's. */
START_TEST(a_child_counts_its_own_progress)
{
	int status;
	pid_t pid;

	rule(SLOW_PROGRESS, stack_number(1));
	open_window(0);
	sleep_from(stack_number(1), 1000);
	sleep_from(stack_number(1), 1000);
	ck_assert_uint_eq(counts().progress, 2);
	pid = fork();
	if (pid == 0) {
		recorder_fork_child();
		recorder_wake_up(true);
		uint64_t inherited = counts().progress;
		rule(SLOW_PROGRESS, stack_number(1));
		open_window(0);
		sleep_from(stack_number(1), 1000);
		uint64_t progress = counts().progress;
		recording_end();
		_exit(inherited == 0 && progress == 1 ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

SUITE()
{
	FIXTURE(setup, teardown);
	TEST(without_rules_nothing_is_looked_at);
	TEST(a_call_takes_twice_as_long);
	TEST(what_was_too_much_is_paid_back);
	TEST(at_factor_1_nothing_is_added);
	TEST(another_stack_is_as_it_was);
	TEST(a_rule_is_for_its_kind);
	TEST(no_window_is_open_any_more);
	TEST(an_op_from_before_the_rules_is_refused);
	TEST(a_hold_takes_twice_as_long);
	TEST(waits_inside_are_not_multiplied);
	TEST(nothing_is_multiplied_twice);
	TEST(one_op_is_not_made_longer_by_more_than_a_second);
	TEST(debts_are_paid_a_second_at_a_time);
	TEST(a_declared_op_takes_twice_as_long);
	TEST(an_op_that_ends_elsewhere_is_refused);
	TEST(a_declared_wait_is_not_multiplied);
	TEST(a_wake_takes_twice_as_long);
	TEST(errno_stays);
	TEST(extra_time_ends_with_recording);
	TEST(a_signal_is_heard_meanwhile);
	/* ThreadSanitizer's vfork() forks: then the child has no slot. */
	if (!SANITIZED)
		TEST(a_vfork_child_is_not_made_longer);
	TEST(a_child_counts_its_own_progress);
}

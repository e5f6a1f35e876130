/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, threads that were inside of a call when recording began seem not to have been, or
 * others do. */
#include "census.h"

#include <pthread.h>
#include <sys/syscall.h>

#include "opening.h"
#include "recording.h"
#include "suite.h"
#include "tasks.h"
#include "watch.h"

static const char calls[] = "read\0"
			    "pthread_mutex_lock\0"
			    "puts\0"
			    "pthread_barrier_wait";
static const void *const functions[] = { (const void *)read, (const void *)pthread_mutex_lock,
					 (const void *)puts, (const void *)pthread_barrier_wait };
static const struct recorder_host host = {
	.call_names = calls,
	.call_count = 4,
	.functions = functions,
	.function_count = 4,
	.thread_create = pthread_create,
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];
static uint32_t tid, is_out, goes_on;
static pthread_t thread;

static void setup(void)
{
	setenv("WCPROF_ENABLE", "0", 1);
	setenv("WCPROF_CONTROL", "off", 1);
	setenv("WCPROF_CPU_TIME", "0", 1);
	recorder_start(&host);
	ck_assert_int_eq(pipe(ends), 0);
	store_relaxed(&tid, 0);
	store_relaxed(&is_out, 0);
	store_relaxed(&goes_on, 0);
}

static void come_out(void)
{
	store_release(&is_out, 1);
	while (!load_acquire(&goes_on))
		continue;
	self_leave(self_enter());
}

static void *be_in_read(void *unused)
{
	char byte;

	store_release(&tid, (uint32_t)syscall(SYS_gettid));
	ck_assert_int_eq(read(ends[0], &byte, 1), 1);
	come_out();
	return unused;
}

static void *be_in_read_again(void *unused)
{
	self_leave(self_enter());
	return be_in_read(unused);
}

static void *be_in_lock(void *unused)
{
	store_release(&tid, (uint32_t)syscall(SYS_gettid));
	pthread_mutex_lock(&mutex);
	come_out();
	pthread_mutex_unlock(&mutex);
	return unused;
}

/* False: the kernel does not say in which call a thread is; or a sanitizer's function, which calls
 * libc's, stands in its place. */
static bool start(void *(*routine)(void *), long number)
{
	struct task_call call;

	if (SANITIZED || access("/proc/self/syscall", R_OK) != 0)
		return false;
	pthread_create(&thread, NULL, routine, NULL);
	while (load_acquire(&tid) == 0)
		continue;
	while (!task_read_call((uint32_t)getpid(), tid, &call) || call.number != number)
		continue;
	return true;
}

static void turn_on(void)
{
	switch_prepare();
	census_look();
	ck_assert_int_eq(switch_enable(), 0);
	census_begin();
}

static void turn_off(void)
{
	switch_disable();
	census_end();
}

static void let_out(void)
{
	ck_assert_int_eq(write(ends[1], "x", 1), 1);
	while (!load_acquire(&is_out))
		continue;
}

static json_t *open_op_of(const json_t *lines, const char *kind)
{
	json_t *ops = json_object_get(json_array_get(lines, 0), "open_ops");

	for (size_t i = 0; i < json_array_size(ops); i++)
		if (strcmp(word_of(json_array_get(ops, i), "kind"), kind) == 0)
			return json_array_get(ops, i);
	return NULL;
}

static json_t *finish(void)
{
	store_release(&goes_on, 1);
	pthread_join(thread, NULL);
	/* The kernel may have it yet. */
	while (syscall(SYS_tgkill, getpid(), tid, 0) == 0)
		continue;
	return recording_dump(true);
}

START_TEST(a_call_is_known_from_the_first_moment_on)
{
	json_t *lines, *op;

	if (!start(be_in_read, SYS_read))
		return;
	turn_on();
	let_out();
	lines = finish();
	op = event_of(lines, "k", "io");
	ck_assert_ptr_nonnull(op);
	ck_assert_str_eq(name_of(lines, op, "c"), "read");
	ck_assert_int_eq(number_of(op, "fd"), ends[0]);
	ck_assert_int_eq(number_of(op, "s"), number_of(event_of(lines, "k", "thread"), "s"));
	ck_assert_int_lt(number_of(op, "s"), number_of(op, "d"));
}
END_TEST

START_TEST(who_came_out_before_was_not_inside)
{
	if (!start(be_in_read, SYS_read))
		return;
	switch_prepare();
	census_look();
	let_out();
	ck_assert_int_eq(switch_enable(), 0);
	census_begin();
	ck_assert_ptr_null(event_of(finish(), "k", "io"));
}
END_TEST

START_TEST(a_call_is_of_one_opening)
{
	if (!start(be_in_read, SYS_read))
		return;
	turn_on();
	turn_off();
	ck_assert_int_eq(switch_enable(), 0);
	let_out();
	ck_assert_ptr_null(event_of(finish(), "k", "io"));
}
END_TEST

/* Of a thread that has been seen in an opening before. */
START_TEST(a_call_that_goes_on_is_open_and_then_cut_off)
{
	json_t *open, *lines, *op;

	ck_assert_int_eq(switch_enable(), 0);
	if (!start(be_in_read_again, SYS_read))
		return;
	switch_disable();
	(void)recording_dump(true);
	for (int i = 0; i < 2; i++) {
		turn_on();
		lines = recording_dump(true);
		open = open_op_of(lines, "io");
		ck_assert_ptr_nonnull(open);
		ck_assert_ptr_null(event_of(lines, "k", "io"));
		turn_off();
		lines = recording_dump(true);
		op = event_of(lines, "k", "io");
		ck_assert_ptr_null(open_op_of(lines, "io"));
		ck_assert_ptr_nonnull(op);
		ck_assert_int_eq(number_of(op, "id"), number_of(open, "op_id"));
		ck_assert_int_eq(number_of(op, "s"), number_of(open, "start_ns"));
		ck_assert_int_lt(number_of(op, "s"), number_of(op, "d"));
	}
	ck_assert_int_eq(switch_enable(), 0);
	let_out();
	lines = finish();
	ck_assert_ptr_null(open_op_of(lines, "io"));
	ck_assert_ptr_null(event_of(lines, "k", "io"));
}
END_TEST

START_TEST(who_has_run_since_is_not_inside)
{
	json_t *lines;

	ck_assert_int_eq(switch_enable(), 0);
	if (!start(be_in_read_again, SYS_read))
		return;
	switch_disable();
	turn_on();
	let_out();
	census_look_again();
	lines = recording_dump(true);
	ck_assert_ptr_null(open_op_of(lines, "io"));
	ck_assert_ptr_nonnull(event_of(lines, "k", "io"));
	ck_assert_ptr_null(event_of(finish(), "k", "io"));
}
END_TEST

START_TEST(a_lock_is_waited_for_and_then_held)
{
	json_t *lines, *wait, *hold;

	pthread_mutex_lock(&mutex);
	if (!start(be_in_lock, SYS_futex))
		return;
	turn_on();
	ck_assert_uint_eq(watch_find(&mutex)->waiters, 1);
	pthread_mutex_unlock(&mutex);
	while (!load_acquire(&is_out))
		continue;
	lines = finish();
	wait = event_of(lines, "rs", "mutex");
	hold = event_of(lines, "k", "hold");
	ck_assert_ptr_nonnull(wait);
	ck_assert_ptr_nonnull(hold);
	ck_assert_int_eq(number_of(wait, "h"), getpid());
	ck_assert_int_eq(number_of(hold, "s"), number_of(wait, "d"));
	ck_assert_uint_eq(watch_find(&mutex)->waiters, 0);
}
END_TEST

SUITE()
{
	FIXTURE(setup, recording_end);
	TEST(a_call_is_known_from_the_first_moment_on);
	TEST(who_came_out_before_was_not_inside);
	TEST(a_call_is_of_one_opening);
	TEST(a_call_that_goes_on_is_open_and_then_cut_off);
	TEST(who_has_run_since_is_not_inside);
	TEST(a_lock_is_waited_for_and_then_held);
}

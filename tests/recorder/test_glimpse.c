/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a running thread's stack is not its own, or asking disturbs threads that wait. */
#include "glimpse.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#include "recording.h"
#include "sample.h"
#include "stack.h"
#include "tasks.h"
#include "suite.h"

static uint32_t tids[4], stop;
static long calls, interrupted;

static void say_tid(uintptr_t index)
{
	store_release(&tids[index], (uint32_t)syscall(SYS_gettid));
}

static uint32_t tid_of(uintptr_t index)
{
	while (load_acquire(&tids[index]) == 0)
		continue;
	return tids[index];
}

__attribute__((noinline)) static void compute_here(void)
{
	while (!load_relaxed(&stop))
		continue;
}

static void *compute(void *index)
{
	say_tid((uintptr_t)index);
	compute_here();
	return index;
}

/* Sanitizers have frames of their own in between. */
static bool has_frame_in(const uint64_t *pcs, uint32_t count, const void *function)
{
	uint64_t start = (uint64_t)(uintptr_t)function;

	for (uint32_t i = 0; i < count; i++)
		if (pcs[i] > start && pcs[i] < start + 400)
			return true;
	return false;
}

static void setup(void)
{
	stack_warm_up();
}

/* A new thread blocks all signals for a moment. */
static int ask(uint32_t tid)
{
	int glimpse = glimpse_ask(tid);

	while (glimpse < 0)
		glimpse = glimpse_ask(tid);
	return glimpse;
}

START_TEST(a_running_thread_says_where_it_is)
{
	uint64_t pcs[GLIMPSE_FRAMES_MAX];
	pthread_t threads[3];
	int glimpses[3];
	uint32_t count;

	for (uintptr_t i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, compute, (void *)i);
	for (uintptr_t i = 0; i < 3; i++)
		glimpses[i] = ask(tid_of(i));
	for (int i = 0; i < 3; i++) {
		while (!glimpse_is_there(glimpses[i]))
			continue;
		count = glimpse_end(glimpses[i], pcs);
		ck_assert_uint_ge(count, 2);
		ck_assert(has_frame_in(pcs, count, compute));
	}
	store_relaxed(&stop, 1);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}
END_TEST

/* Signals that come late belong to nobody, however many questions there were. */
START_TEST(questions_that_end_too_soon)
{
	uint64_t pcs[GLIMPSE_FRAMES_MAX];
	pthread_t thread;
	uint32_t answered = 0;
	int i;

	pthread_create(&thread, NULL, compute, (void *)0);
	for (i = 0; i < 2000 || answered == 0; i++) {
		int glimpse = ask(tid_of(0));
		uint32_t count;

		for (int spin = 0; spin < i * 100 && !glimpse_is_there(glimpse); spin++)
			continue;
		count = glimpse_end(glimpse, pcs);
		answered += count > 0;
		ck_assert(count == 0 || has_frame_in(pcs, count, compute));
	}
	store_relaxed(&stop, 1);
	pthread_join(thread, NULL);
}
END_TEST

/* Not libc's calls: ThreadSanitizer sees no atomics inside those of its own. */
static void *call(void *index)
{
	say_tid((uintptr_t)index);
	while (!load_relaxed(&stop)) {
		struct timespec pause = { 0, 1000 };

		interrupted += syscall(SYS_nanosleep, &pause, NULL) != 0;
		interrupted += syscall(SYS_poll, NULL, 0, 0) != 0;
		calls++;
	}
	return index;
}

START_TEST(no_call_is_interrupted)
{
	uint64_t pcs[GLIMPSE_FRAMES_MAX];
	pthread_t thread;

	pthread_create(&thread, NULL, call, (void *)0);
	for (int i = 0; i < 20; i++) {
		int glimpse = ask(tid_of(0));

		while (!glimpse_is_there(glimpse))
			continue;
		ck_assert_uint_gt(glimpse_end(glimpse, pcs), 0);
	}
	store_relaxed(&stop, 1);
	pthread_join(thread, NULL);
	ck_assert_int_gt(calls, 0);
	ck_assert_int_eq(interrupted, 0);
}
END_TEST

static int ends[2];
static long read_result;

static void *wait_for_a_byte(void *index)
{
	char byte;

	say_tid((uintptr_t)index);
	read_result = syscall(SYS_read, ends[0], &byte, 1);
	return index;
}

START_TEST(a_thread_that_waits_hears_nothing)
{
	uint64_t pcs[GLIMPSE_FRAMES_MAX];
	struct timespec pause = { 0, 50000000 };
	struct task_call in;
	pthread_t thread;
	int glimpse;

	ck_assert_int_eq(pipe(ends), 0);
	pthread_create(&thread, NULL, wait_for_a_byte, (void *)0);
	while (!task_read_call((uint32_t)getpid(), tid_of(0), &in) || in.number != SYS_read)
		continue;
	glimpse = ask(tid_of(0));
	nanosleep(&pause, NULL);
	ck_assert(!glimpse_is_there(glimpse));
	ck_assert_uint_eq(glimpse_end(glimpse, pcs), 0);
	ck_assert_int_eq(write(ends[1], "", 1), 1);
	pthread_join(thread, NULL);
	ck_assert_int_eq(read_result, 1);
}
END_TEST

static void handler(int number)
{
	(void)number;
}

START_TEST(who_cannot_be_asked_is_not)
{
	uint32_t own = (uint32_t)syscall(SYS_gettid);
	sigset_t set;

	ck_assert_int_eq(glimpse_ask(own + 100000), -1);
	sigemptyset(&set);
	sigaddset(&set, SAMPLE_SIGNAL);
	sigprocmask(SIG_BLOCK, &set, NULL);
	ck_assert_int_eq(glimpse_ask(own), -1);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	/* The program handles the signal itself: it is its own. */
	signal(SAMPLE_SIGNAL, handler);
	ck_assert_int_eq(glimpse_ask(own), -1);
}
END_TEST

START_TEST(a_forked_child_has_asked_nobody)
{
	uint64_t pcs[GLIMPSE_FRAMES_MAX];
	pthread_t thread;
	int glimpse;

	pthread_create(&thread, NULL, compute, (void *)0);
	glimpse = ask(tid_of(0));
	while (!glimpse_is_there(glimpse))
		continue;
	glimpse_forget();
	glimpse = ask(tid_of(0));
	while (!glimpse_is_there(glimpse))
		continue;
	ck_assert_uint_gt(glimpse_end(glimpse, pcs), 0);
	store_relaxed(&stop, 1);
	pthread_join(thread, NULL);
}
END_TEST

SUITE()
{
	FIXTURE(setup, NULL);
	TEST(a_running_thread_says_where_it_is);
	TEST(questions_that_end_too_soon);
	TEST(no_call_is_interrupted);
	TEST(a_thread_that_waits_hears_nothing);
	TEST(who_cannot_be_asked_is_not);
	TEST(a_forked_child_has_asked_nobody);
}

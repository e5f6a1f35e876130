/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, the stack of a blocked thread is not the one it has, or looking at it hurts. */
#include "parked.h"

#include <pthread.h>
#include <sys/syscall.h>

#include "recording.h"
#include "stack.h"
#include "syscalls.h"
#include "suite.h"

enum { FRAMES_MAX = 32 };

static int ends[2];
static uint32_t parked_tid, calls, stop;

/* From outside, no frame is found by a frame pointer, which builds with sanitizers have. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define PLAIN __attribute__((noinline, optimize("omit-frame-pointer")))
#else
#define PLAIN __attribute__((noinline))
#endif

PLAIN static long park(void)
{
	char byte;

	return SYS3(read, ends[0], &byte, 1);
}

/* Keeps something in memory, so that its frame has a size. */
PLAIN static long park_deeper(volatile long *sum)
{
	volatile long kept[8] = { 1, 2, 3 };

	*sum += park();
	return *sum + kept[2];
}

PLAIN static void *be_parked(void *unused)
{
	volatile long sum = 0;

	store_release(&parked_tid, (uint32_t)syscall(SYS_gettid));
	do {
		sum = 0;
		sum += park_deeper(&sum);
		add_relaxed(&calls, 1);
	} while (!load_relaxed(&stop));
	return unused;
}

static pthread_t start(struct task_call *call)
{
	pthread_t thread;

	stack_warm_up();
	ck_assert_int_eq(pipe(ends), 0);
	pthread_create(&thread, NULL, be_parked, NULL);
	while (load_acquire(&parked_tid) == 0)
		continue;
	while (!task_read_call((uint32_t)getpid(), parked_tid, call) || call->number != SYS_read)
		continue;
	return thread;
}

static void end(pthread_t thread)
{
	store_relaxed(&stop, 1);
	ck_assert_int_eq(write(ends[1], "", 1), 1);
	pthread_join(thread, NULL);
}

static bool is_in(uint64_t pc, const void *function)
{
	uint64_t start = (uint64_t)(uintptr_t)function;

	return pc > start && pc < start + 400;
}

START_TEST(all_frames_are_found)
{
	struct task_call call;
	pthread_t thread = start(&call);
	uint64_t pcs[FRAMES_MAX];
	uint32_t count = parked_walk(parked_tid, &call, pcs, FRAMES_MAX);

	ck_assert_uint_ge(count, 4);
	ck_assert(is_in(pcs[0], park));
	ck_assert(is_in(pcs[1], park_deeper));
	ck_assert(is_in(pcs[2], be_parked));
	ck_assert_uint_eq(parked_walk(parked_tid, &call, pcs, 2), 2);
	end(thread);
}
END_TEST

START_TEST(a_thread_that_went_on_has_no_stack)
{
	struct task_call call;
	pthread_t thread = start(&call);
	uint64_t pcs[FRAMES_MAX];

	call.sp -= 64;
	ck_assert_uint_eq(parked_walk(parked_tid, &call, pcs, FRAMES_MAX), 0);
	call.sp += 64;
	end(thread);
	ck_assert_uint_eq(parked_walk(parked_tid, &call, pcs, FRAMES_MAX), 0);
}
END_TEST

/* Its call's stack is walked while it goes in and out of it: what is found is always the same. */
START_TEST(a_thread_in_motion_does_no_harm)
{
	struct task_call call;
	pthread_t thread = start(&call);
	uint64_t pcs[FRAMES_MAX];

	for (int i = 0; i < 2000; i++) {
		uint32_t count = parked_walk(parked_tid, &call, pcs, FRAMES_MAX);

		ck_assert(count == 0 || (is_in(pcs[0], park) && is_in(pcs[1], park_deeper)));
		ck_assert_int_eq(write(ends[1], "", 1), 1);
	}
	while (load_relaxed(&calls) < 2000)
		continue;
	while (parked_walk(parked_tid, &call, pcs, FRAMES_MAX) == 0)
		continue;
	end(thread);
}
END_TEST

SUITE()
{
	TEST(all_frames_are_found);
	TEST(a_thread_that_went_on_has_no_stack);
	TEST(a_thread_in_motion_does_no_harm);
}

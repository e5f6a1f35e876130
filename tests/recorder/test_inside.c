/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a blocked thread seems to be inside of another call, or of none. */
#include "inside.h"

#include <pthread.h>
#include <sys/syscall.h>

#include "recording.h"
#include "stack.h"
#include "suite.h"
#include "syscalls.h"
#include "tasks.h"

static const char calls[] = "read\0"
			    "write";
static const void *const functions[] = { (const void *)read, (const void *)write };
static const struct recorder_host host = {
	.call_names = calls,
	.call_count = 2,
	.functions = functions,
	.function_count = 2,
	.thread_create = pthread_create,
};

static int ends[2];
static uint32_t tid;

static void setup(void)
{
	setenv("WCPROF_CONTROL", "off", 1);
	recorder_start(&host);
	ck_assert(stack_warm_up());
	ck_assert_int_eq(pipe(ends), 0);
}

static void *be_in_read(void *is_raw)
{
	char byte;

	store_release(&tid, (uint32_t)syscall(SYS_gettid));
	if (is_raw)
		ck_assert_int_eq(SYS3(read, ends[0], &byte, 1), 1);
	else
		ck_assert_int_eq(read(ends[0], &byte, 1), 1);
	return NULL;
}

/* False: the kernel does not say in which call a thread is; or a sanitizer's function, which calls
 * libc's, stands in its place. */
static bool look(struct inside *inside, bool is_raw)
{
	struct task_call call;
	pthread_t thread;

	*inside = (struct inside){ .held_count = 0 };
	if (SANITIZED || access("/proc/self/syscall", R_OK) != 0)
		return false;
	pthread_create(&thread, NULL, be_in_read, is_raw ? ends : NULL);
	while (load_acquire(&tid) == 0)
		continue;
	while (!task_read_call((uint32_t)getpid(), tid, &call) || call.number != SYS_read)
		continue;
	inside_look(inside, tid);
	ck_assert_int_eq(write(ends[1], "x", 1), 1);
	pthread_join(thread, NULL);
	return true;
}

START_TEST(a_call_has_its_name_and_its_descriptor)
{
	struct inside inside;
	uint64_t caller = (uint64_t)(uintptr_t)be_in_read;

	if (!look(&inside, false))
		return;
	ck_assert_int_eq(inside.record.type, RECORD_OP);
	ck_assert_int_eq(inside.record.what, KIND_IO);
	ck_assert_int_eq((int)inside.record.name, 1);
	ck_assert_int_eq(inside.record.fd, ends[0]);
	ck_assert_uint_gt(inside.frame_count, 0);
	ck_assert(inside.frames[0] > caller && inside.frames[0] < caller + 4096);
}
END_TEST

/* Hooks see none of these either. */
START_TEST(a_call_that_goes_past_libc_is_none)
{
	struct inside inside;

	if (look(&inside, true))
		ck_assert_int_eq(inside.record.type, RECORD_NONE);
}
END_TEST

SUITE()
{
	FIXTURE(setup, recording_end);
	TEST(a_call_has_its_name_and_its_descriptor);
	TEST(a_call_that_goes_past_libc_is_none);
}

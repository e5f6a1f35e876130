/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that is inside of a call when recording is turned on; for tests of what is known of it.
 *
 * A test begins it by start(), turns recording on and off, lets it out, and takes the dump by
 * finish(). It makes a recorded call behind let_out(), in finish().
 */
#ifndef WCPROF_TESTS_INSIDER_H
#define WCPROF_TESTS_INSIDER_H

#include "census.h"

#include <pthread.h>
#include <sys/syscall.h>

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
static pthread_t insider;

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

static inline void *be_in_read(void *unused)
{
	char byte;

	store_release(&tid, (uint32_t)syscall(SYS_gettid));
	ck_assert_int_eq(read(ends[0], &byte, 1), 1);
	come_out();
	return unused;
}

static inline void *be_in_read_again(void *unused)
{
	self_leave(self_enter());
	return be_in_read(unused);
}

static inline void *be_in_lock(void *unused)
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
	pthread_create(&insider, NULL, routine, NULL);
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

static inline json_t *finish(void)
{
	store_release(&goes_on, 1);
	pthread_join(insider, NULL);
	/* The kernel may have it yet. */
	while (syscall(SYS_tgkill, getpid(), tid, 0) == 0)
		continue;
	return recording_dump(true);
}

#endif

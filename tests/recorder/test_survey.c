/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, STACKS does not say what the threads do, or never answers. */
#include "survey.h"

#include <errno.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "recording.h"
#include "suite.h"

static uint32_t tids[2];
static volatile uint32_t stop;
static int ends[2];

/* A thread that is interrupted inside the thread sanitizer may hold a lock of it: so it is never
 * there. */
__attribute__((no_sanitize("thread"))) static void compute_on(void)
{
	while (!stop)
		continue;
}

static void *compute(void *unused)
{
	store_release(&tids[0], (uint32_t)syscall(SYS_gettid));
	compute_on();
	return unused;
}

static void *wait_for_a_byte(void *unused)
{
	char byte;

	store_release(&tids[1], (uint32_t)syscall(SYS_gettid));
	(void)!syscall(SYS_read, ends[0], &byte, 1);
	return unused;
}

/* As the control thread, which is none of those that are asked: it could be interrupted while it
 * looks for its own answer. */
static void *asks(void *function)
{
	prctl(PR_SET_NAME, "wcprof");
	((void (*)(void))function)();
	return NULL;
}

static void by_control_thread(void (*function)(void))
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, asks, (void *)function), 0);
	pthread_join(thread, NULL);
}

static json_t *surveyed;

/* A thread that was about to sleep when it was asked does not answer. */
static void ask_all(void)
{
	struct text answer;

	ck_assert_int_eq(survey_begin(clock_take_pair().mono_ns), 0);
	ck_assert(survey_is_under_way());
	ck_assert_int_eq(survey_begin(1), -EBUSY);
	while (!survey_is_due(clock_take_pair().mono_ns))
		continue;
	ck_assert(survey_end(&answer));
	ck_assert(!survey_is_under_way());
	ck_assert(strncmp(answer.bytes, "OK ", 3) == 0);
	ck_assert_int_eq(answer.bytes[answer.used - 1], '\n');
	surveyed = recording_keep(json_loadb(answer.bytes + 3, answer.used - 3, 0, NULL));
	survey_release(&answer);
}

/* The whole survey. */
static json_t *survey(void)
{
	by_control_thread(ask_all);
	return surveyed;
}

static json_t *thread_of(json_t *object, uint32_t tid)
{
	json_t *thread;
	size_t i;

	json_array_foreach(json_object_get(object, "threads"), i, thread)
	{
		if (number_of(thread, "tid") == tid)
			return thread;
	}
	return NULL;
}

static size_t depth_of(json_t *object, uint32_t tid)
{
	return json_array_size(json_object_get(thread_of(object, tid), "stack"));
}

/* Recording on or off: those who run and those who wait have a stack. */
START_TEST(every_thread_has_a_stack)
{
	pthread_t threads[2];
	json_t *object;

	setenv("WCPROF_ENABLE", _i ? "1" : "0", 1);
	recording_begin();
	ck_assert_int_eq(pipe(ends), 0);
	pthread_create(&threads[0], NULL, compute, NULL);
	pthread_create(&threads[1], NULL, wait_for_a_byte, NULL);
	while (load_acquire(&tids[0]) == 0 || load_acquire(&tids[1]) == 0)
		continue;
	do
		object = survey();
	while (depth_of(object, tids[0]) == 0 ||
	       strcmp(word_of(thread_of(object, tids[1]), "system_call"), "read") != 0);
	ck_assert_str_eq(word_of(object, "recording"), _i ? "on" : "off");
	ck_assert_int_eq(number_of(object, "pid"), getpid());
	ck_assert_uint_gt(depth_of(object, tids[0]), 1);
	ck_assert_uint_gt(depth_of(object, tids[1]), 1);
	ck_assert_str_eq(word_of(thread_of(object, tids[0]), "state"), "R");
	ck_assert_int_eq(number_of(thread_of(object, tids[1]), "fd"), ends[0]);
	stop = 1;
	ck_assert_int_eq(write(ends[1], "", 1), 1);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	recording_end();
}
END_TEST

/* Those who do not answer in time are not waited for; an answer that nobody wants is none. */
static void ask_and_lose_patience(void)
{
	ck_assert_int_eq(survey_begin(1), 0);
	ck_assert(survey_is_due(UINT64_C(1000000000)));
	ck_assert(!survey_end(NULL));
	ck_assert(!survey_is_under_way());
}

START_TEST(patience_ends)
{
	recording_begin();
	by_control_thread(ask_and_lose_patience);
	(void)survey();
	recording_end();
}
END_TEST

static void ask_and_forget(void)
{
	ck_assert_int_eq(survey_begin(1), 0);
	survey_forget();
	ck_assert(!survey_is_under_way());
}

START_TEST(a_forked_child_has_none)
{
	recording_begin();
	by_control_thread(ask_and_forget);
	(void)survey();
	recording_end();
}
END_TEST

SUITE()
{
	LOOP(every_thread_has_a_stack, 0, 2);
	TEST(patience_ends);
	TEST(a_forked_child_has_none);
}

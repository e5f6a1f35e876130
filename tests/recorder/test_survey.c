/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, STACKS does not say what the threads do, or never answers. */
#include "survey.h"

#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "recording.h"

static uint32_t tids[2], stop;
static int ends[2];

static void *compute(void *unused)
{
	store_release(&tids[0], (uint32_t)syscall(SYS_gettid));
	while (!load_relaxed(&stop))
		continue;
	return unused;
}

static void *wait_for_a_byte(void *unused)
{
	char byte;

	store_release(&tids[1], (uint32_t)syscall(SYS_gettid));
	(void)!syscall(SYS_read, ends[0], &byte, 1);
	return unused;
}

/* The whole survey; waits for those who answer, by a clock that stands still. */
static json_t *survey(void)
{
	struct text answer;
	json_t *object;

	ck_assert_int_eq(survey_begin(1), 0);
	ck_assert(survey_is_under_way());
	ck_assert_int_eq(survey_begin(1), -EBUSY);
	while (!survey_is_due(1))
		continue;
	ck_assert(survey_end(&answer));
	ck_assert(!survey_is_under_way());
	ck_assert(strncmp(answer.bytes, "OK ", 3) == 0);
	ck_assert_int_eq(answer.bytes[answer.used - 1], '\n');
	object = recording_keep(json_loadb(answer.bytes + 3, answer.used - 3, 0, NULL));
	survey_release(&answer);
	return object;
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
	store_relaxed(&stop, 1);
	ck_assert_int_eq(write(ends[1], "", 1), 1);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	recording_end();
}
END_TEST

/* Those who do not answer in time are not waited for; an answer that nobody wants is none. */
START_TEST(patience_ends)
{
	recording_begin();
	ck_assert_int_eq(survey_begin(1), 0);
	ck_assert(survey_is_due(UINT64_C(1000000000)));
	ck_assert(!survey_end(NULL));
	ck_assert(!survey_is_under_way());
	(void)survey();
	recording_end();
}
END_TEST

START_TEST(a_forked_child_has_none)
{
	recording_begin();
	ck_assert_int_eq(survey_begin(1), 0);
	survey_forget();
	ck_assert(!survey_is_under_way());
	(void)survey();
	recording_end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("survey");
	TCase *tests = tcase_create("survey");

	tcase_set_timeout(tests, 60);
	tcase_add_loop_test(tests, every_thread_has_a_stack, 0, 2);
	tcase_add_test(tests, patience_ends);
	tcase_add_test(tests, a_forked_child_has_none);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}

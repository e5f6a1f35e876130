/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this fails, a control thread stays in the way of a call that it must not see. Or it is taken
 * for one that may do the same.
 */
#include "recording.h"

#include <linux/capability.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "aside.h"
#include "suite.h"

static sem_t begun;
static bool has_listener; /* the thread serves; else it has nothing to do */
static bool drops_rights;

static void drop_some(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct capabilities[2] = { { 0 } };

	ck_assert_int_eq(syscall(SYS_capget, &header, capabilities), 0);
	capabilities[0].effective &= ~(1U << CAP_SYS_BOOT);
	capabilities[0].inheritable ^= capabilities[0].permitted & 1U << CAP_CHOWN;
	ck_assert_int_eq(syscall(SYS_capset, &header, capabilities), 0);
}

/* As the control thread does it: asleep in the kernel until a signal comes. */
static void *serve(void *unused)
{
	aside_begin();
	if (drops_rights)
		drop_some();
	if (has_listener)
		sem_post(&begun);
	while (has_listener && !aside_is_wanted())
		poll(NULL, 0, -1);
	aside_end();
	if (!has_listener)
		sem_post(&begun);
	return unused;
}

static void start(pthread_t *thread)
{
	ck_assert(aside_announce());
	ck_assert_int_eq(pthread_create(thread, NULL, serve, NULL), 0);
	sem_wait(&begun);
}

static void setup(void)
{
	sem_init(&begun, 0, 0);
	has_listener = true;
	drops_rights = false;
	aside_fork_child();
}

START_TEST(nobody_is_never_in_the_way)
{
	ck_assert(aside_has_same_rights());
	ck_assert(!aside_send());
}
END_TEST

START_TEST(it_ends_and_is_gone)
{
	pthread_t thread;

	for (int i = 0; i < 100; i++) {
		start(&thread);
		ck_assert(aside_has_same_rights());
		ck_assert(aside_send());
		ck_assert(aside_has_same_rights());
		ck_assert(!aside_send());
		pthread_join(thread, NULL);
	}
}
END_TEST

START_TEST(one_that_had_nothing_to_do_is_not_started_again)
{
	pthread_t thread;

	has_listener = false;
	start(&thread);
	ck_assert(!aside_send());
	pthread_join(thread, NULL);
	ck_assert(aside_has_same_rights());
}
END_TEST

START_TEST(other_rights_are_seen)
{
	pthread_t thread;

	if (geteuid() != 0)
		return; /* nobody else has capabilities to give up */
	drops_rights = true;
	start(&thread);
	ck_assert(!aside_has_same_rights());
	ck_assert(aside_send());
	pthread_join(thread, NULL);
}
END_TEST

/* Whoever has set something up that it would undo when it begins. */
START_TEST(none_is_made_any_more)
{
	pthread_t thread;

	start(&thread);
	aside_stays();
	ck_assert(!aside_is_wanted());
	aside_call_begins(true);
	pthread_join(thread, NULL);
	ck_assert(!aside_call_ends());
	ck_assert(!aside_announce() && aside_rests());
	aside_stays();
	ck_assert(!aside_announce() && aside_rests());
	aside_fork_child();
	ck_assert(aside_announce());
}
END_TEST

START_TEST(none_is_made_while_a_call_is_under_way)
{
	pthread_t thread;

	start(&thread);
	aside_call_begins(true);
	pthread_join(thread, NULL);
	aside_call_begins(true);
	ck_assert(!aside_announce() && aside_rests());
	ck_assert(!aside_call_ends());
	ck_assert(!aside_announce() && aside_rests());
	ck_assert(aside_call_ends());
	/* At once: the program may be about to sleep for long. */
	ck_assert(!aside_rests());
	start(&thread);
	ck_assert(!aside_rests());
	ck_assert(aside_send());
	pthread_join(thread, NULL);
}
END_TEST

START_TEST(calls_in_numbers_make_it_rest)
{
	uint64_t begun_ns = clock_mono_ns();
	pthread_t thread;

	start(&thread);
	for (int i = 0; i < 4; i++) {
		aside_call_begins(true);
		pthread_join(thread, NULL);
		ck_assert(aside_call_ends());
		bool rests = aside_rests();
		/* On a machine that takes a second for this, it is none any more. */
		if (i < 3 || clock_mono_ns() - begun_ns < 1000000000)
			ck_assert_int_eq(rests, i == 3);
		start(&thread);
	}
	ck_assert(aside_send());
	pthread_join(thread, NULL);
}
END_TEST

START_TEST(a_call_that_comes_in_numbers_makes_it_rest)
{
	uint64_t begun_ns = clock_mono_ns();
	pthread_t thread;

	start(&thread);
	aside_call_begins(false);
	pthread_join(thread, NULL);
	ck_assert(aside_call_ends());
	bool rests = aside_rests();
	ck_assert(rests || clock_mono_ns() - begun_ns >= 1000000000);
	start(&thread);
	ck_assert(aside_send());
	pthread_join(thread, NULL);
}
END_TEST

static pthread_barrier_t meeting;

static void *call_once(void *is_last)
{
	pthread_barrier_wait(&meeting);
	aside_call_begins(true);
	*(bool *)is_last = aside_call_ends();
	return NULL;
}

/* As a program of two threads gives up its rights. */
START_TEST(of_two_calls_at_once_one_fetches_it_back)
{
	pthread_barrier_init(&meeting, NULL, 2);
	for (int i = 0; i < 200; i++) {
		bool is_last[2];
		pthread_t thread, caller;

		start(&thread);
		ck_assert_int_eq(pthread_create(&caller, NULL, call_once, &is_last[0]), 0);
		call_once(&is_last[1]);
		pthread_join(caller, NULL);
		pthread_join(thread, NULL);
		ck_assert(is_last[0] || is_last[1]);
	}
}
END_TEST

START_TEST(calls_without_a_thread_bring_none_back)
{
	aside_call_begins(true);
	ck_assert(aside_rests() && !aside_announce());
	ck_assert(!aside_call_ends());
	ck_assert(!aside_rests());
	aside_call_begins(true);
	aside_fork_child();
	ck_assert(!aside_rests() && aside_announce());
}
END_TEST

/* Each announces a thread whenever it may; none of them is there while the other's call is. */
static uint32_t inside, announced, meetings;

static void *announce_often(void *unused)
{
	while (!__atomic_load_n(&has_listener, __ATOMIC_RELAXED)) {
		if (!aside_announce())
			continue;
		__atomic_store_n(&announced, 1, __ATOMIC_SEQ_CST);
		__atomic_fetch_add(&meetings, __atomic_load_n(&inside, __ATOMIC_SEQ_CST),
				   __ATOMIC_SEQ_CST);
		__atomic_store_n(&announced, 0, __ATOMIC_SEQ_CST);
		aside_forget();
	}
	return unused;
}

START_TEST(calls_and_new_threads_exclude_each_other)
{
	pthread_t thread;

	has_listener = false;
	ck_assert_int_eq(pthread_create(&thread, NULL, announce_often, NULL), 0);
	for (int i = 0; i < 2000; i++) {
		aside_call_begins(true);
		__atomic_store_n(&inside, 1, __ATOMIC_SEQ_CST);
		__atomic_fetch_add(&meetings, __atomic_load_n(&announced, __ATOMIC_SEQ_CST),
				   __ATOMIC_SEQ_CST);
		__atomic_store_n(&inside, 0, __ATOMIC_SEQ_CST);
		(void)aside_call_ends();
	}
	__atomic_store_n(&has_listener, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(meetings, 0);
}
END_TEST

static sem_t may_begin;

static void *serve_late(void *unused)
{
	sem_wait(&may_begin);
	return serve(unused);
}

static void *let_begin(void *unused)
{
	sem_post(&may_begin);
	return unused;
}

START_TEST(one_that_has_not_begun_is_waited_for)
{
	pthread_t late, helper;

	sem_init(&may_begin, 0, 0);
	ck_assert(aside_announce());
	ck_assert_int_eq(pthread_create(&late, NULL, serve_late, NULL), 0);
	ck_assert_int_eq(pthread_create(&helper, NULL, let_begin, NULL), 0);
	ck_assert(aside_send());
	pthread_join(late, NULL);
	pthread_join(helper, NULL);
}
END_TEST

SUITE()
{
	FIXTURE(setup, NULL);
	TEST(nobody_is_never_in_the_way);
	TEST(it_ends_and_is_gone);
	TEST(one_that_had_nothing_to_do_is_not_started_again);
	TEST(other_rights_are_seen);
	TEST(one_that_has_not_begun_is_waited_for);
	TEST(none_is_made_any_more);
	TEST(none_is_made_while_a_call_is_under_way);
	TEST(calls_in_numbers_make_it_rest);
	TEST(a_call_that_comes_in_numbers_makes_it_rest);
	TEST(of_two_calls_at_once_one_fetches_it_back);
	TEST(calls_without_a_thread_bring_none_back);
	TEST(calls_and_new_threads_exclude_each_other);
}

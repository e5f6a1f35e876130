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
	aside_announce();
	ck_assert_int_eq(pthread_create(thread, NULL, serve, NULL), 0);
	sem_wait(&begun);
}

static void setup(void)
{
	sem_init(&begun, 0, 0);
	has_listener = true;
	drops_rights = false;
	aside_forget();
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
	aside_announce();
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
}

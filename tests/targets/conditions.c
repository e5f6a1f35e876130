/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: `ready` is waited for, once or twice in each scenario; all holds of `lock` from
 * the first wait or signal on are recorded.
 */
#include "scenario.h"

#include <threads.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static int is_ready;
static mtx_t lock_c11;
static cnd_t ready_c11;

/* The functions as they were before glibc 2.3.2, as old programs call them. */
extern int old_wait(pthread_cond_t *, pthread_mutex_t *);
extern int old_timedwait(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
extern int old_signal(pthread_cond_t *);
extern int old_broadcast(pthread_cond_t *);
extern int old_init(pthread_cond_t *, const pthread_condattr_t *);
extern int old_destroy(pthread_cond_t *);
__asm__(".symver old_wait, pthread_cond_wait@GLIBC_2.2.5");
__asm__(".symver old_timedwait, pthread_cond_timedwait@GLIBC_2.2.5");
__asm__(".symver old_signal, pthread_cond_signal@GLIBC_2.2.5");
__asm__(".symver old_broadcast, pthread_cond_broadcast@GLIBC_2.2.5");
__asm__(".symver old_init, pthread_cond_init@GLIBC_2.2.5");
__asm__(".symver old_destroy, pthread_cond_destroy@GLIBC_2.2.5");

static void wait_for_ready(void)
{
	pthread_mutex_lock(&lock);
	while (!is_ready)
		say("wait", pthread_cond_wait(&ready, &lock));
	is_ready--;
	pthread_mutex_unlock(&lock);
}

static void put_ready(int count)
{
	pthread_mutex_lock(&lock);
	is_ready = count;
	pthread_mutex_unlock(&lock);
}

/* One waits, one signal comes while it does; ten sections after that. */
static void signalled(void)
{
	struct helper helper;
	helper_start(&helper, wait_for_ready);
	until_in_call(helper.tid, SYS_futex);
	put_ready(1);
	say("signal", pthread_cond_signal(&ready));
	helper_join(&helper);
	for (int i = 0; i < 10; i++)
		put_ready(0);
}

static void broadcast(void)
{
	struct helper first, second;
	helper_start(&first, wait_for_ready);
	helper_start(&second, wait_for_ready);
	until_in_call(first.tid, SYS_futex);
	until_in_call(second.tid, SYS_futex);
	put_ready(2);
	say("broadcast", pthread_cond_broadcast(&ready));
	helper_join(&first);
	helper_join(&second);
}

/* Signals for nobody, and after the first one the sections that go with them. */
static void unheard(void)
{
	for (int i = 0; i < 10; i++) {
		put_ready(1);
		say("signal", pthread_cond_signal(&ready));
	}
	say("broadcast", pthread_cond_broadcast(&ready));
}

static void timed(void)
{
	struct timespec soon = after_ms(CLOCK_REALTIME, 20);
	struct timespec past = in_the_past();
	struct timespec invalid = invalid_time();
	pthread_mutex_lock(&lock);
	say("timedwait", pthread_cond_timedwait(&ready, &lock, &soon));
	say("timedwait, past", pthread_cond_timedwait(&ready, &lock, &past));
	say("timedwait, invalid", pthread_cond_timedwait(&ready, &lock, &invalid));
	soon = after_ms(CLOCK_MONOTONIC, 20);
	say("clockwait", pthread_cond_clockwait(&ready, &lock, CLOCK_MONOTONIC, &soon));
	say("clockwait, bad clock",
	    pthread_cond_clockwait(&ready, &lock, CLOCK_PROCESS_CPUTIME_ID, &soon));
	pthread_mutex_unlock(&lock);
	say("mutex is free again", pthread_mutex_trylock(&lock));
}

static void unlock_it(void *mutex)
{
	say("unlock in cleanup", pthread_mutex_unlock(mutex));
}

static void wait_for_cancel(void)
{
	pthread_mutex_lock(&lock);
	pthread_cleanup_push(unlock_it, &lock);
	for (;;)
		pthread_cond_wait(&ready, &lock);
	pthread_cleanup_pop(0);
}

static void cancelled(void)
{
	struct helper helper;
	helper_start(&helper, wait_for_cancel);
	until_in_call(helper.tid, SYS_futex);
	say("cancel", pthread_cancel(helper.thread));
	helper_join(&helper);
	say("mutex is free again", pthread_mutex_trylock(&lock));
}

/* The object of the old functions: its first word leads to the real one. */
static union {
	pthread_cond_t cond;
	void *words[6];
} old;

static void wait_for_old(void)
{
	struct timespec soon = after_ms(CLOCK_REALTIME, 20);
	pthread_mutex_lock(&lock);
	say("old timedwait", old_timedwait(&old.cond, &lock, &soon));
	while (!is_ready)
		say("old wait", old_wait(&old.cond, &lock));
	is_ready--;
	pthread_mutex_unlock(&lock);
}

/* A caller of the old version must reach the old version: the words after the first stay as they
 * were. */
static void versions(void)
{
	struct helper helper;
	memset(&old, 0x55, sizeof(old));
	say("old init", old_init(&old.cond, NULL));
	helper_start(&helper, wait_for_old);
	helper_join(&helper);
}

static void wait_only_old(void)
{
	pthread_mutex_lock(&lock);
	while (!is_ready)
		say("old wait", old_wait(&old.cond, &lock));
	pthread_mutex_unlock(&lock);
}

static void both_versions(void)
{
	struct helper helper;
	is_ready = 1;
	versions();
	helper_start(&helper, wait_only_old);
	until_in_call(helper.tid, SYS_futex);
	put_ready(1);
	say("old signal", old_signal(&old.cond));
	helper_join(&helper);
	say("old broadcast", old_broadcast(&old.cond));
	printf("the object is a pointer: %d\n", old.words[1] == (void *)0x5555555555555555);
	say("old destroy", old_destroy(&old.cond));
	is_ready = 0;
	signalled();
}

static void wait_c11(void)
{
	struct timespec soon = after_ms(CLOCK_REALTIME, 20);
	mtx_lock(&lock_c11);
	while (!is_ready)
		printf("wait %d\n", cnd_wait(&ready_c11, &lock_c11) == thrd_success);
	printf("timedwait %d\n", cnd_timedwait(&ready_c11, &lock_c11, &soon) == thrd_timedout);
	mtx_unlock(&lock_c11);
}

static void c11(void)
{
	struct helper helper;
	mtx_init(&lock_c11, mtx_plain);
	cnd_init(&ready_c11);
	helper_start(&helper, wait_c11);
	until_in_call(helper.tid, SYS_futex);
	mtx_lock(&lock_c11);
	is_ready = 1;
	mtx_unlock(&lock_c11);
	printf("signal %d\n", cnd_signal(&ready_c11) == thrd_success);
	helper_join(&helper);
	printf("broadcast %d\n", cnd_broadcast(&ready_c11) == thrd_success);
	cnd_destroy(&ready_c11);
	mtx_destroy(&lock_c11);
}

static const struct scenario scenarios[] = {
	{ "signalled", signalled },
	{ "broadcast", broadcast },
	{ "unheard", unheard },
	{ "timed", timed },
	{ "cancelled", cancelled },
	{ "versions", both_versions },
	{ "c11", c11 },
};

SCENARIOS_MAIN

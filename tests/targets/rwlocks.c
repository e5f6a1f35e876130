/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: `lock` is waited for by readers while it is written, by a writer while it is
 * read.
 */
#include "scenario.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void read_it(void)
{
	say("rdlock", pthread_rwlock_rdlock(&lock));
	say("unlock", pthread_rwlock_unlock(&lock));
}

static void write_it(void)
{
	say("wrlock", pthread_rwlock_wrlock(&lock));
	say("unlock", pthread_rwlock_unlock(&lock));
}

/* A reader waits for a writer; then five read holds and five write holds. */
static void readers(void)
{
	struct helper helper;
	pthread_rwlock_wrlock(&lock);
	helper_start(&helper, read_it);
	until_in_call(helper.tid, SYS_futex);
	pthread_rwlock_unlock(&lock);
	helper_join(&helper);
	for (int i = 0; i < 5; i++) {
		read_it();
		write_it();
	}
}

/* The same, but the writer slept while it had the lock, and before. */
static void once(void)
{
	struct timespec while_held = { 0, 2000000 };
	struct helper helper;
	nanosleep(&while_held, NULL);
	pthread_rwlock_wrlock(&lock);
	nanosleep(&while_held, NULL);
	helper_start(&helper, read_it);
	until_in_call(helper.tid, SYS_futex);
	pthread_rwlock_unlock(&lock);
	helper_join(&helper);
}

/* Nobody waits: what is written in a sleep is worth a record, from the first time on; reads and
 * short writes are not. */
static void slept_in(void)
{
	static pthread_rwlock_t brief = PTHREAD_RWLOCK_INITIALIZER;
	struct timespec while_held = { 0, 1000000 };
	pthread_rwlock_rdlock(&brief);
	nanosleep(&while_held, NULL);
	pthread_rwlock_unlock(&brief);
	for (int i = 0; i < 3; i++) {
		pthread_rwlock_wrlock(&lock);
		pthread_rwlock_wrlock(&brief);
		pthread_rwlock_unlock(&brief);
		nanosleep(&while_held, NULL);
		pthread_rwlock_unlock(&lock);
	}
}

static void writers(void)
{
	struct helper helper;
	pthread_rwlock_rdlock(&lock);
	helper_start(&helper, write_it);
	until_in_call(helper.tid, SYS_futex);
	pthread_rwlock_unlock(&lock);
	helper_join(&helper);
}

/* Nested read holds of more locks than a thread can keep count of. */
static void many(void)
{
	static pthread_rwlock_t locks[12];
	struct helper helper;
	readers();
	for (int i = 0; i < 12; i++)
		pthread_rwlock_init(&locks[i], NULL);
	for (int i = 0; i < 12; i++)
		pthread_rwlock_rdlock(&locks[i]);
	for (int i = 0; i < 12; i++)
		say("unlock", pthread_rwlock_unlock(&locks[i]));
	for (int i = 0; i < 12; i++)
		pthread_rwlock_rdlock(&lock);
	for (int i = 0; i < 12; i++)
		say("unlock", pthread_rwlock_unlock(&lock));
	helper_start(&helper, write_it);
	helper_join(&helper);
}

static void try_all(void)
{
	struct timespec past = in_the_past();
	struct timespec invalid = invalid_time();
	say("tryrdlock", pthread_rwlock_tryrdlock(&lock));
	say("trywrlock", pthread_rwlock_trywrlock(&lock));
	say("timedrdlock", pthread_rwlock_timedrdlock(&lock, &past));
	say("timedwrlock", pthread_rwlock_timedwrlock(&lock, &past));
	say("timedrdlock, invalid", pthread_rwlock_timedrdlock(&lock, &invalid));
	say("timedwrlock, invalid", pthread_rwlock_timedwrlock(&lock, &invalid));
	say("clockrdlock", pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &past));
	say("clockwrlock", pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &past));
	say("clockrdlock, bad clock",
	    pthread_rwlock_clockrdlock(&lock, CLOCK_PROCESS_CPUTIME_ID, &past));
	say("clockwrlock, bad clock",
	    pthread_rwlock_clockwrlock(&lock, CLOCK_PROCESS_CPUTIME_ID, &past));
}

/* Each form, while written by another thread, and while free, where some still refuse. */
static void forms(void)
{
	struct timespec later = after_ms(CLOCK_REALTIME, 10000);
	struct helper helper;
	pthread_rwlock_wrlock(&lock);
	helper_start(&helper, try_all);
	helper_join(&helper);
	say("lock again", pthread_rwlock_wrlock(&lock));
	say("read what one writes", pthread_rwlock_rdlock(&lock));
	pthread_rwlock_unlock(&lock);
	struct timespec invalid = invalid_time();
	say("invalid when free", pthread_rwlock_timedrdlock(&lock, &invalid));
	say("invalid when free", pthread_rwlock_timedwrlock(&lock, &invalid));
	say("timedrdlock", pthread_rwlock_timedrdlock(&lock, &later));
	say("read twice", pthread_rwlock_tryrdlock(&lock));
	say("unlock", pthread_rwlock_unlock(&lock));
	say("unlock", pthread_rwlock_unlock(&lock));
	say("trywrlock", pthread_rwlock_trywrlock(&lock));
	say("unlock", pthread_rwlock_unlock(&lock));
	say("timedwrlock", pthread_rwlock_timedwrlock(&lock, &later));
	say("unlock", pthread_rwlock_unlock(&lock));
	say("destroy", pthread_rwlock_destroy(&lock));
}

static const struct scenario scenarios[] = {
	{ "readers", readers },   { "writers", writers }, { "once", once },
	{ "slept_in", slept_in }, { "many", many },       { "forms", forms },
};

SCENARIOS_MAIN

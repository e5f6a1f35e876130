/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: contention only where a scenario is called "contended", "timed" or "handed";
 * `hot` is its lock.
 */
#include "scenario.h"

#include <threads.h>

static pthread_mutex_t hot = PTHREAD_MUTEX_INITIALIZER;
static mtx_t hot_c11;

static void lock_and_unlock(void)
{
	say("lock", pthread_mutex_lock(&hot));
	say("unlock", pthread_mutex_unlock(&hot));
}

/* One wait; from then on each of ten holds counts. */
static void contended(void)
{
	struct helper helper;
	pthread_mutex_lock(&hot);
	helper_start(&helper, lock_and_unlock);
	until_in_call(helper.tid, SYS_futex);
	pthread_mutex_unlock(&hot);
	helper_join(&helper);
	for (int i = 0; i < 10; i++) {
		pthread_mutex_lock(&hot);
		pthread_mutex_unlock(&hot);
	}
}

/* One wait only, for a hold between two sleeps of this thread's. */
static void once(void)
{
	struct timespec while_held = { 0, 2000000 };
	struct helper helper;
	nanosleep(&while_held, NULL);
	pthread_mutex_lock(&hot);
	nanosleep(&while_held, NULL);
	helper_start(&helper, lock_and_unlock);
	until_in_call(helper.tid, SYS_futex);
	pthread_mutex_unlock(&hot);
	helper_join(&helper);
}

/* The second wait is for a hold that is recorded. */
static void twice(void)
{
	contended();
	contended();
}

static void uncontended(void)
{
	for (int i = 0; i < 1000; i++)
		if (pthread_mutex_lock(&hot) || pthread_mutex_unlock(&hot) ||
		    pthread_mutex_trylock(&hot) || pthread_mutex_unlock(&hot))
			puts("failed");
}

static void init_kind(pthread_mutex_t *mutex, int type, int robust, int protocol)
{
	pthread_mutexattr_t attributes;
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, type);
	pthread_mutexattr_setrobust(&attributes, robust);
	pthread_mutexattr_setprotocol(&attributes, protocol);
	say("init", pthread_mutex_init(mutex, &attributes));
	pthread_mutexattr_destroy(&attributes);
}

static pthread_mutex_t special;

static void try_special(void)
{
	struct timespec past = in_the_past();
	struct timespec invalid = invalid_time();
	say("other's trylock", pthread_mutex_trylock(&special));
	say("other's timedlock", pthread_mutex_timedlock(&special, &past));
	say("other's timedlock, invalid", pthread_mutex_timedlock(&special, &invalid));
	say("other's clocklock", pthread_mutex_clocklock(&special, CLOCK_MONOTONIC, &past));
	say("other's clocklock, bad clock",
	    pthread_mutex_clocklock(&special, CLOCK_PROCESS_CPUTIME_ID, &past));
}

static void exercise(int type, int robust, int protocol)
{
	struct timespec past = in_the_past();
	struct timespec invalid = invalid_time();
	struct helper helper;
	bool nests = type == PTHREAD_MUTEX_RECURSIVE;

	init_kind(&special, type, robust, protocol);
	say("lock", pthread_mutex_lock(&special));
	say("trylock again", pthread_mutex_trylock(&special));
	if (nests || type == PTHREAD_MUTEX_ERRORCHECK)
		say("lock again", pthread_mutex_lock(&special));
	helper_start(&helper, try_special);
	helper_join(&helper);
	say("unlock", pthread_mutex_unlock(&special));
	if (nests) {
		say("unlock", pthread_mutex_unlock(&special));
		say("unlock", pthread_mutex_unlock(&special));
	}
	if (type == PTHREAD_MUTEX_ERRORCHECK || nests)
		say("unlock once more", pthread_mutex_unlock(&special));
	say("timedlock when free", pthread_mutex_timedlock(&special, &past));
	say("unlock", pthread_mutex_unlock(&special));
	say("invalid timedlock when free", pthread_mutex_timedlock(&special, &invalid));
	say("unlock", pthread_mutex_unlock(&special));
	say("bad clock when free",
	    pthread_mutex_clocklock(&special, CLOCK_PROCESS_CPUTIME_ID, &past));
	say("clocklock when free", pthread_mutex_clocklock(&special, CLOCK_MONOTONIC, &past));
	say("destroy while held", pthread_mutex_destroy(&special));
	say("unlock", pthread_mutex_unlock(&special));
	say("destroy", pthread_mutex_destroy(&special));
}

static void kinds(void)
{
	static const int types[] = { PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
				     PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP };
	for (int i = 0; i < 4; i++)
		for (int robust = 0; robust < 2; robust++)
			for (int protocol = 0; protocol < 2; protocol++) {
				printf("type %d robust %d protocol %d\n", types[i], robust,
				       protocol);
				exercise(types[i], robust, protocol);
			}
}

static void die_holding(void)
{
	pthread_mutex_lock(&special);
}

static void robust_once(int type)
{
	struct helper helper;
	init_kind(&special, type, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE);
	helper_start(&helper, die_holding);
	helper_join(&helper);
	say("lock after the owner died", pthread_mutex_lock(&special));
	say("consistent", pthread_mutex_consistent(&special));
	say("unlock", pthread_mutex_unlock(&special));
	helper_start(&helper, die_holding);
	helper_join(&helper);
	say("trylock after the owner died", pthread_mutex_trylock(&special));
	say("unlock, never made consistent", pthread_mutex_unlock(&special));
	say("lock for ever after", pthread_mutex_lock(&special));
	say("destroy", pthread_mutex_destroy(&special));
}

static void robust(void)
{
	robust_once(PTHREAD_MUTEX_NORMAL);
	robust_once(PTHREAD_MUTEX_RECURSIVE);
	robust_once(PTHREAD_MUTEX_ERRORCHECK);
}

/* A recursive lock, hot and taken three deep: one hold each time, not three. */
static void recursive_section(void)
{
	pthread_mutex_lock(&special);
	pthread_mutex_lock(&special);
	pthread_mutex_trylock(&special);
	pthread_mutex_unlock(&special);
	pthread_mutex_unlock(&special);
	pthread_mutex_unlock(&special);
}

static void recursive(void)
{
	struct helper helper;
	init_kind(&special, PTHREAD_MUTEX_RECURSIVE, 0, 0);
	pthread_mutex_lock(&special);
	helper_start(&helper, recursive_section);
	until_in_call(helper.tid, SYS_futex);
	pthread_mutex_unlock(&special);
	helper_join(&helper);
	for (int i = 0; i < 10; i++)
		recursive_section();
}

static void time_out(void)
{
	struct timespec soon = after_ms(CLOCK_REALTIME, 20);
	say("timedlock", pthread_mutex_timedlock(&hot, &soon));
	soon = after_ms(CLOCK_MONOTONIC, 20);
	say("clocklock", pthread_mutex_clocklock(&hot, CLOCK_MONOTONIC, &soon));
}

static void timed(void)
{
	struct helper helper;
	pthread_mutex_lock(&hot);
	helper_start(&helper, time_out);
	helper_join(&helper);
	pthread_mutex_unlock(&hot);
}

static void unlock_for_another(void)
{
	say("unlock what another holds", pthread_mutex_unlock(&hot));
}

/* A hot lock given back by another thread than took it. */
static void handed(void)
{
	struct helper helper;
	contended();
	for (int i = 0; i < 5; i++) {
		pthread_mutex_lock(&hot);
		helper_start(&helper, unlock_for_another);
		helper_join(&helper);
	}
	lock_and_unlock();
}

static void try_c11(void)
{
	struct timespec past = in_the_past();
	printf("trylock %d\n", mtx_trylock(&hot_c11) == thrd_busy);
	printf("timedlock %d\n", mtx_timedlock(&hot_c11, &past) == thrd_timedout);
}

static void lock_c11(void)
{
	printf("lock %d\n", mtx_lock(&hot_c11) == thrd_success);
	printf("unlock %d\n", mtx_unlock(&hot_c11) == thrd_success);
}

static void c11(void)
{
	struct helper helper;
	printf("init %d\n", mtx_init(&hot_c11, mtx_timed) == thrd_success);
	mtx_lock(&hot_c11);
	helper_start(&helper, try_c11);
	helper_join(&helper);
	helper_start(&helper, lock_c11);
	until_in_call(helper.tid, SYS_futex);
	mtx_unlock(&hot_c11);
	helper_join(&helper);
	mtx_destroy(&hot_c11);
}

/* Nobody waits for the lock, but its holder does: its holds count. */
static void slept_in(void)
{
	struct timespec moment = { 0, 1000 };
	for (int i = 0; i < 5; i++) {
		pthread_mutex_lock(&hot);
		nanosleep(&moment, NULL);
		pthread_mutex_unlock(&hot);
	}
}

static void try_in_vain(void)
{
	for (int i = 0; i < 100; i++)
		if (pthread_mutex_trylock(&hot) != EBUSY)
			puts("failed");
}

/* A hundred tries in vain: eight are told, then the 16th, 32nd and 64th. One that succeeds. */
static void tried(void)
{
	struct helper helper;
	pthread_mutex_lock(&hot);
	helper_start(&helper, try_in_vain);
	helper_join(&helper);
	pthread_mutex_unlock(&hot);
	say("trylock", pthread_mutex_trylock(&hot));
	pthread_mutex_unlock(&hot);
	lock_and_unlock();
}

static pthread_mutex_t raised;

static void raise_ceiling(void)
{
	int before = 0;
	say("setprioceiling", pthread_mutex_setprioceiling(&raised, 2, &before));
	printf("before %d\n", before);
}

/* To lock a mutex with a ceiling takes rights; held as libc notes it takes none. */
static void ceiling(void)
{
	pthread_mutexattr_t attributes;
	struct helper helper;
	int before = 0;
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_PROTECT);
	pthread_mutexattr_setprioceiling(&attributes, 1);
	say("init", pthread_mutex_init(&raised, &attributes));
	int free_word = raised.__data.__lock;
	raised.__data.__owner = gettid();
	__atomic_store_n(&raised.__data.__lock, free_word | 1, __ATOMIC_RELEASE);
	helper_start(&helper, raise_ceiling);
	until_in_call(helper.tid, SYS_futex);
	raised.__data.__owner = 0;
	__atomic_store_n(&raised.__data.__lock, free_word, __ATOMIC_RELEASE);
	syscall(SYS_futex, &raised.__data.__lock, 1 | 128 /* wake, private */, 1, NULL, NULL, 0);
	helper_join(&helper);
	raise_ceiling();
	say("too high", pthread_mutex_setprioceiling(&raised, 1000, &before));
	say("none", pthread_mutex_setprioceiling(&hot, 1, &before));
}

static const struct scenario scenarios[] = {
	{ "ceiling", ceiling },
	{ "contended", contended },
	{ "once", once },
	{ "twice", twice },
	{ "uncontended", uncontended },
	{ "kinds", kinds },
	{ "robust", robust },
	{ "recursive", recursive },
	{ "timed", timed },
	{ "handed", handed },
	{ "c11", c11 },
	{ "slept_in", slept_in },
	{ "tried", tried },
};

SCENARIOS_MAIN

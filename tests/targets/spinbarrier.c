/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads that wait for each other by trying a lock again and again, two locks in turns. Answer
 * expected: the replay ends, whatever the threads do meanwhile.
 */
#include "scenario.h"

enum { ROUNDS = 4, COUNTS = 2000000 };

static pthread_mutex_t locks[2] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };
static volatile int phase; /* of the barrier; under the phase's lock */
static int arrived;

static void lock_of(int turn)
{
	while (pthread_mutex_trylock(&locks[turn % 2]) == EBUSY)
		;
}

static void work(void)
{
	for (volatile int i = 0; i < COUNTS; i++)
		;
}

/* Whoever comes last works with the lock held, so that the other one tries in vain. */
static void meet(int turn)
{
	lock_of(turn);
	bool is_last = ++arrived % 2 == 0;
	if (is_last) {
		work();
		phase = turn + 1;
	}
	pthread_mutex_unlock(&locks[turn % 2]);
	while (phase <= turn) {
		lock_of(turn);
		pthread_mutex_unlock(&locks[turn % 2]);
	}
}

static void go_round(void)
{
	for (int turn = 0; turn < ROUNDS; turn++) {
		work();
		meet(turn);
	}
}

static void barrier(void)
{
	struct helper helper;
	helper_start(&helper, go_round);
	go_round();
	helper_join(&helper);
	printf("%d\n", phase);
}

static const struct scenario scenarios[] = { { "barrier", barrier } };

SCENARIOS_MAIN

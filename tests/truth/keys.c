/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expected: threads wait more or less often for the same thing as another one, by each change.
 *
 * Locks with keys, made of one condition. A thread waits until nobody is busy with its key, works
 * with it (work_a), and does something else (work_b). Which key that is, no recording has. And
 * what looks alike: a grid whose rows need their neighbours' last values.
 * Not here: keys that each have a mutex of their own (locks.c), and results that one thread fetches
 * for all (predicates.c).
 */
#include "truth.h"

#include <stdbool.h>

enum { WORKERS = 6, KEYS = 5, USERS = 8, ACCOUNTS = 24, ROWS = 6 };

static pthread_mutex_t lock_m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_free = PTHREAD_COND_INITIALIZER;
static bool is_busy[ACCOUNTS];
static int waiting;
static long rounds;

/* The same for a thread each time. */
static uint32_t any_number(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 12;
}

/* keyed: any key is as likely as another. */
static void *worker(void *rank)
{
	uint32_t state = (uint32_t)(uintptr_t)rank;

	for (long i = 0; i < rounds; i++) {
		uint32_t key = any_number(&state) % KEYS;
		work_b();
		pthread_mutex_lock(&lock_m);
		while (is_busy[key])
			pthread_cond_wait(&is_free, &lock_m);
		is_busy[key] = true;
		pthread_mutex_unlock(&lock_m);
		work_a();
		pthread_mutex_lock(&lock_m);
		is_busy[key] = false;
		pthread_cond_broadcast(&is_free);
		pthread_mutex_unlock(&lock_m);
	}
	return NULL;
}

static void pattern_keyed(void)
{
	rounds = count_of("T_N");
	start_many(WORKERS, worker);
	join_all();
}

/* keyed-uneven: a few keys are what most want. Nobody is told while nobody waits. */
static NOINLINE void account_lock(uint32_t account)
{
	pthread_mutex_lock(&lock_m);
	while (is_busy[account]) {
		waiting++;
		pthread_cond_wait(&is_free, &lock_m);
		waiting--;
	}
	is_busy[account] = true;
	pthread_mutex_unlock(&lock_m);
}

static NOINLINE void account_unlock(uint32_t account)
{
	pthread_mutex_lock(&lock_m);
	is_busy[account] = false;
	if (waiting)
		pthread_cond_broadcast(&is_free);
	pthread_mutex_unlock(&lock_m);
}

static void *user(void *rank)
{
	uint32_t state = (uint32_t)(uintptr_t)rank;

	for (long i = 0; i < rounds; i++) {
		uint32_t account = any_number(&state) % ACCOUNTS;
		account = account * account / ACCOUNTS;
		account_lock(account);
		work_a();
		account_unlock(account);
		if (i % 3 == 0)
			work_c();
		work_b();
	}
	return NULL;
}

static void pattern_uneven(void)
{
	rounds = count_of("T_N");
	start_many(USERS, user);
	join_all();
}

/* grid: a row needs the last round of both its neighbours. Each in its turn takes longer. */
static long done[ROWS + 2];

static void *row(void *rank)
{
	long self = (long)rank + 1;

	for (long i = 0; i < rounds; i++) {
		pthread_mutex_lock(&lock_m);
		while (done[self - 1] < i || done[self + 1] < i)
			pthread_cond_wait(&is_free, &lock_m);
		pthread_mutex_unlock(&lock_m);
		work_a();
		if ((i * 7 + self * 3) % ROWS == 0)
			work_b();
		pthread_mutex_lock(&lock_m);
		done[self]++;
		pthread_cond_broadcast(&is_free);
		pthread_mutex_unlock(&lock_m);
	}
	return NULL;
}

static void pattern_grid(void)
{
	rounds = count_of("T_N");
	done[0] = done[ROWS + 1] = rounds;
	start_many(ROWS, row);
	join_all();
}

int main(int argc, char **argv)
{
	static const struct pattern patterns[] = { { "keyed", pattern_keyed },
						   { "keyed-uneven", pattern_uneven },
						   { "grid", pattern_grid },
						   { NULL, NULL } };

	return truth_main(argc, argv, patterns);
}

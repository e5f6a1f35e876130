/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expected: a thread waits for what it asks of the shared state, whoever else was woken with it.
 * The slower side of a buffer decides where the other one has filled it.
 *
 * Patterns with one condition variable for all that happens: everybody is woken, and looks. All
 * state belongs to lock_m. A piece takes longer now and then, so that the sides come to wait in
 * turns. Not here: one condition for one thing (conditions.c), threads that meet (groups.c).
 */
#include "truth.h"

#include <stdbool.h>

enum { HALVES = 2, SLOTS = 3, ROOM = 4, SLOW_EVERY = 4 };

static pthread_mutex_t lock_m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int slots[SLOTS];
static long rounds;

static void await(int slot, int state)
{
	pthread_mutex_lock(&lock_m);
	while (slots[slot] != state)
		pthread_cond_wait(&changed, &lock_m);
	pthread_mutex_unlock(&lock_m);
}

static void become(int slot, int state)
{
	pthread_mutex_lock(&lock_m);
	slots[slot] = state;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock_m);
}

/* halves: a reader fills one half (work_a, work_c now and then) while a writer drains the other. */
static void *drain_halves(void *unused UNUSED)
{
	for (int i = 0; i < rounds; i++) {
		await(i % HALVES, 1);
		work_b();
		if (i % (SLOW_EVERY + 1) == 0)
			work_d();
		become(i % HALVES, 0);
	}
	return NULL;
}

static void halves(void)
{
	rounds = count_of("T_N");
	start_many(1, drain_halves);
	for (int i = 0; i < rounds; i++) {
		await(i % HALVES, 0);
		work_a();
		if (i % SLOW_EVERY == 0)
			work_c();
		become(i % HALVES, 1);
	}
	join_all();
}

/* ring: three threads go over a ring of slots (work_a, work_b, work_c), one behind the other. */
static void *second(void *unused UNUSED)
{
	for (int i = 0; i < rounds; i++) {
		await(i % SLOTS, 1);
		work_b();
		if (i % SLOW_EVERY == 0)
			work_d();
		become(i % SLOTS, 2);
	}
	return NULL;
}

static void *third(void *unused UNUSED)
{
	for (int i = 0; i < rounds; i++) {
		await(i % SLOTS, 2);
		work_c();
		become(i % SLOTS, 0);
	}
	return NULL;
}

static void ring(void)
{
	rounds = count_of("T_N");
	start(second, 0);
	start(third, 0);
	for (int i = 0; i < rounds; i++) {
		await(i % SLOTS, 0);
		work_a();
		if (i % (SLOW_EVERY + 1) == 0)
			work_e();
		become(i % SLOTS, 1);
	}
	join_all();
}

/* store: two threads put (work_a, work_c now and then), two take (work_b). There is little room. */
static int stored;
static bool is_closed;

static void *put_all(void *unused UNUSED)
{
	for (int i = 0; i < rounds; i++) {
		work_a();
		if (i % SLOW_EVERY == 0)
			work_c();
		pthread_mutex_lock(&lock_m);
		while (stored == ROOM)
			pthread_cond_wait(&changed, &lock_m);
		stored++;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock_m);
	}
	return NULL;
}

static bool take_one(void)
{
	bool any;

	pthread_mutex_lock(&lock_m);
	while (!stored && !is_closed)
		pthread_cond_wait(&changed, &lock_m);
	any = stored > 0;
	stored -= any;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock_m);
	return any;
}

static void *take_all(void *unused UNUSED)
{
	for (int i = 0; take_one(); i++) {
		work_b();
		if (i % (SLOW_EVERY + 1) == 0)
			work_d();
	}
	return NULL;
}

static void store(void)
{
	pthread_t takers[2];

	rounds = count_of("T_N");
	for (int i = 0; i < 2; i++)
		if (pthread_create(&takers[i], NULL, take_all, NULL))
			die("cannot be started", "a thread");
	start_many(2, put_all);
	join_all();
	pthread_mutex_lock(&lock_m);
	is_closed = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock_m);
	for (int i = 0; i < 2; i++)
		pthread_join(takers[i], NULL);
}

/*
 * linger: three threads put (work_a each). Another one takes all as soon as LOT are there, or when
 * work_e's length has passed. It handles them together: work_b, and work_c for each.
 */
enum { LOT = 16, GIVERS = 3 };

static pthread_cond_t enough = PTHREAD_COND_INITIALIZER;
static int pending;

static void *give_some(void *unused UNUSED)
{
	for (int i = 0; i < rounds; i++) {
		work_a();
		pthread_mutex_lock(&lock_m);
		if (++pending >= LOT)
			pthread_cond_signal(&enough);
		pthread_mutex_unlock(&lock_m);
	}
	return NULL;
}

static int take_lot(bool *is_over)
{
	uint64_t linger_ns = (uint64_t)work_e_piece.request.tv_sec * NS_PER_S +
			     (uint64_t)work_e_piece.request.tv_nsec;
	struct timespec now, deadline;
	int taken, result = 0;

	clock_gettime(CLOCK_REALTIME, &now);
	deadline = to_timespec((uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec + linger_ns);
	pthread_mutex_lock(&lock_m);
	while (pending < LOT && !is_closed && result != ETIMEDOUT)
		result = pthread_cond_timedwait(&enough, &lock_m, &deadline);
	taken = pending;
	pending = 0;
	*is_over = is_closed;
	pthread_mutex_unlock(&lock_m);
	return taken;
}

static void *take_lots(void *unused UNUSED)
{
	for (bool is_over = false; !is_over;) {
		int taken = take_lot(&is_over);

		if (taken > 0)
			work_b();
		while (taken-- > 0)
			work_c();
	}
	return NULL;
}

static void linger(void)
{
	pthread_t taker;

	rounds = count_of("T_N");
	if (pthread_create(&taker, NULL, take_lots, NULL))
		die("cannot be started", "a thread");
	start_many(GIVERS, give_some);
	join_all();
	pthread_mutex_lock(&lock_m);
	is_closed = true;
	pthread_cond_signal(&enough);
	pthread_mutex_unlock(&lock_m);
	pthread_join(taker, NULL);
}

/*
 * keeper: three threads put (work_a each). Another one takes what there is and handles it (work_b),
 * and sleeps work_e's length, until a flag says that all is done. It is signalled, too, if it waits
 * with that length as a timeout.
 */
static bool keeps_waiting;

static bool keep_once(void)
{
	struct timespec until;
	bool is_over;

	if (!keeps_waiting)
		work_e();
	clock_gettime(CLOCK_REALTIME, &until);
	pthread_mutex_lock(&lock_m);
	until = to_timespec((uint64_t)until.tv_sec * NS_PER_S + (uint64_t)until.tv_nsec +
			    (uint64_t)work_e_piece.request.tv_nsec);
	if (keeps_waiting && !is_closed)
		pthread_cond_timedwait(&enough, &lock_m, &until);
	pending = 0;
	is_over = is_closed;
	pthread_mutex_unlock(&lock_m);
	work_b();
	return !is_over;
}

static void *keep(void *unused UNUSED)
{
	while (keep_once())
		;
	return NULL;
}

static void keeper(void)
{
	pthread_t thread;

	rounds = count_of("T_N");
	if (pthread_create(&thread, NULL, keep, NULL))
		die("cannot be started", "a thread");
	start_many(GIVERS, give_some);
	join_all();
	pthread_mutex_lock(&lock_m);
	is_closed = true;
	if (keeps_waiting)
		pthread_cond_signal(&enough);
	pthread_mutex_unlock(&lock_m);
	pthread_join(thread, NULL);
}

static void keeper_waits(void)
{
	keeps_waiting = true;
	keeper();
}

int main(int argc, char **argv)
{
	static const struct pattern patterns[] = {
		{ "halves", halves }, { "ring", ring },     { "store", store },
		{ "linger", linger }, { "keeper", keeper }, { "keeper-waits", keeper_waits },
		{ NULL, NULL }
	};

	return truth_main(argc, argv, patterns);
}

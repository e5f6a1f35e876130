/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expected: who is last, who works for all, and who gets a piece is decided anew by each change.
 *
 * Patterns in which threads wait for each other as a group: barriers that are made of other things,
 * group commit, queues that several threads drain. The comment above each says what decides.
 * Not here: barriers and pools that libc or the recording knows as such (locks.c, conditions.c).
 */
#include "truth.h"

#include <linux/futex.h>
#include <limits.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>

static pthread_mutex_t lock_m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_came = PTHREAD_COND_INITIALIZER;
static long rounds;

/*
 * Barriers of four. Each round another thread is the slow one (work_a), and the others are half of
 * them quick (work_b), half of them middling (work_c).
 */
enum { PARTIES = 4 };

static void work_of_round(long rank, long round)
{
	long turn = (rank + round) % PARTIES;

	if (turn == 0)
		work_a();
	else if (turn == 1)
		work_b();
	else
		work_c();
}

static void run_parties(routine *body)
{
	rounds = count_of("T_N");
	start_many(PARTIES, body);
	join_all();
}

/* meet-generation: a counter, a generation, a broadcast by the last one. */
static int arrived;
static unsigned generation;

static void meet_generation(void)
{
	pthread_mutex_lock(&lock_m);
	unsigned mine = generation;
	if (++arrived == PARTIES) {
		arrived = 0;
		generation++;
		pthread_cond_broadcast(&all_came);
	} else {
		while (mine == generation)
			pthread_cond_wait(&all_came, &lock_m);
	}
	pthread_mutex_unlock(&lock_m);
}

static void *party_generation(void *rank)
{
	for (long i = 0; i < rounds; i++) {
		work_of_round((long)rank, i);
		meet_generation();
	}
	return NULL;
}

static void pattern_generation(void)
{
	run_parties(party_generation);
}

/* meet-signals: without a generation; the last one signals each of the others by itself, after it
 * has let the lock go. */
static long total;

static void *party_signals(void *rank)
{
	for (long i = 0; i < rounds; i++) {
		work_of_round((long)rank, i);
		pthread_mutex_lock(&lock_m);
		bool is_last = ++total == (i + 1) * PARTIES;
		while (total < (i + 1) * PARTIES)
			pthread_cond_wait(&all_came, &lock_m);
		pthread_mutex_unlock(&lock_m);
		for (int k = 1; is_last && k < PARTIES; k++)
			pthread_cond_signal(&all_came);
	}
	return NULL;
}

static void pattern_signals(void)
{
	run_parties(party_signals);
}

/* meet-futex: an atomic count and a futex that is the generation. */
static atomic_int came;
static atomic_uint opened;

static void meet_futex(void)
{
	unsigned mine = atomic_load(&opened);

	if (atomic_fetch_add(&came, 1) == PARTIES - 1) {
		atomic_store(&came, 0);
		atomic_fetch_add(&opened, 1);
		syscall(SYS_futex, &opened, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
		return;
	}
	while (atomic_load(&opened) == mine)
		syscall(SYS_futex, &opened, FUTEX_WAIT_PRIVATE, mine, NULL, NULL, 0);
}

static void *party_futex(void *rank)
{
	for (long i = 0; i < rounds; i++) {
		work_of_round((long)rank, i);
		meet_futex();
	}
	return NULL;
}

static void pattern_futex(void)
{
	run_parties(party_futex);
}

/* meet-turnstile: two phases of a mutex, a count and semaphores, as textbooks have it. */
static sem_t turnstiles[2];

static void meet_turnstile(int phase)
{
	pthread_mutex_lock(&lock_m);
	if (++arrived == PARTIES) {
		arrived = 0;
		for (int i = 0; i < PARTIES; i++)
			sem_post(&turnstiles[phase]);
	}
	pthread_mutex_unlock(&lock_m);
	sem_wait(&turnstiles[phase]);
}

static void *party_turnstile(void *rank)
{
	for (long i = 0; i < rounds; i++) {
		work_of_round((long)rank, i);
		meet_turnstile((int)(i % 2));
	}
	return NULL;
}

static void pattern_turnstile(void)
{
	sem_init(&turnstiles[0], 0, 0);
	sem_init(&turnstiles[1], 0, 0);
	run_parties(party_turnstile);
}

/*
 * Group commit. A commit is durable when a flush (work_a) that began after it has ended. Threads
 * work (work_b), now and then for longer (work_c), and commit.
 */
enum { COMMITTERS = 6 };

static pthread_cond_t is_durable = PTHREAD_COND_INITIALIZER;
static pthread_cond_t is_asked = PTHREAD_COND_INITIALIZER;
static long appended, durable;
static bool is_flushing, is_over;

static void *run_committer(void (*commit)(void), long rank)
{
	for (long i = 0; i < rounds; i++) {
		if ((i + rank) % 5 == 0)
			work_c();
		else
			work_b();
		commit();
	}
	return NULL;
}

/* commit: who finds no flush under way makes one, for all who came before it. */
static void commit_leading(void)
{
	pthread_mutex_lock(&lock_m);
	long mine = ++appended;
	while (durable < mine) {
		if (is_flushing) {
			pthread_cond_wait(&is_durable, &lock_m);
			continue;
		}
		is_flushing = true;
		long upto = appended;
		pthread_mutex_unlock(&lock_m);
		work_a();
		pthread_mutex_lock(&lock_m);
		durable = upto;
		is_flushing = false;
		pthread_cond_broadcast(&is_durable);
	}
	pthread_mutex_unlock(&lock_m);
}

static void *leading_committer(void *rank)
{
	return run_committer(commit_leading, (long)rank);
}

static void pattern_commit(void)
{
	rounds = count_of("T_N");
	start_many(COMMITTERS, leading_committer);
	join_all();
}

/* commit-writer: a thread of its own flushes whenever there is something. */
static void commit_asking(void)
{
	pthread_mutex_lock(&lock_m);
	long mine = ++appended;
	pthread_cond_signal(&is_asked);
	while (durable < mine)
		pthread_cond_wait(&is_durable, &lock_m);
	pthread_mutex_unlock(&lock_m);
}

static void *asking_committer(void *rank)
{
	return run_committer(commit_asking, (long)rank);
}

static void *log_writer(void *unused UNUSED)
{
	pthread_mutex_lock(&lock_m);
	for (;;) {
		while (durable == appended && !is_over)
			pthread_cond_wait(&is_asked, &lock_m);
		if (durable == appended)
			break;
		long upto = appended;
		pthread_mutex_unlock(&lock_m);
		work_a();
		pthread_mutex_lock(&lock_m);
		durable = upto;
		pthread_cond_broadcast(&is_durable);
	}
	pthread_mutex_unlock(&lock_m);
	return NULL;
}

static void pattern_commit_writer(void)
{
	pthread_t writer;

	rounds = count_of("T_N");
	if (pthread_create(&writer, NULL, log_writer, NULL))
		die("cannot start another thread", "commit-writer");
	start_many(COMMITTERS, asking_committer);
	join_all();
	pthread_mutex_lock(&lock_m);
	is_over = true;
	pthread_cond_signal(&is_asked);
	pthread_mutex_unlock(&lock_m);
	pthread_join(writer, NULL);
}

/* commit-queue: each follower sleeps in a semaphore of its own, in a list that the leader empties.
 * One of those that came too late for its flush is the next leader. */
struct follower {
	sem_t called;
	long number;
	bool leads;
	struct follower *next;
};

static struct follower *followers;

static void call_followers(void)
{
	struct follower *first = followers, *late = NULL;

	followers = NULL;
	is_flushing = false;
	while (first) {
		struct follower *next = first->next;

		if (first->number > durable && is_flushing) {
			first->next = late;
			late = first;
		} else {
			first->leads = first->number > durable;
			is_flushing = is_flushing || first->leads;
			sem_post(&first->called);
		}
		first = next;
	}
	followers = late;
}

static bool has_to_lead(struct follower *self)
{
	if (self->number <= durable)
		return false;
	if (!is_flushing) {
		is_flushing = true;
		return true;
	}
	self->next = followers;
	followers = self;
	pthread_mutex_unlock(&lock_m);
	sem_wait(&self->called);
	pthread_mutex_lock(&lock_m);
	return self->leads;
}

static void *queueing_committer(void *rank)
{
	struct follower self = { .leads = false };

	sem_init(&self.called, 0, 0);
	for (long i = 0; i < rounds; i++) {
		if ((i + (long)rank) % 5 == 0)
			work_c();
		else
			work_b();
		pthread_mutex_lock(&lock_m);
		self.number = ++appended;
		if (has_to_lead(&self)) {
			long upto = appended;
			pthread_mutex_unlock(&lock_m);
			work_a();
			pthread_mutex_lock(&lock_m);
			durable = upto;
			call_followers();
		}
		pthread_mutex_unlock(&lock_m);
	}
	return NULL;
}

static void pattern_commit_queue(void)
{
	rounds = count_of("T_N");
	start_many(COMMITTERS, queueing_committer);
	join_all();
}

/* drain-both: two takers empty a queue, each for itself: work_b a batch, work_c an item. */
static pthread_cond_t is_there = PTHREAD_COND_INITIALIZER;
static long backlog;

static void *drainer(void *unused UNUSED)
{
	for (;;) {
		pthread_mutex_lock(&lock_m);
		while (!backlog && !is_over)
			pthread_cond_wait(&is_there, &lock_m);
		long batch = backlog;
		backlog = 0;
		pthread_mutex_unlock(&lock_m);
		if (!batch)
			return NULL;
		work_b();
		while (batch-- > 0)
			work_c();
	}
}

static void pattern_drain_both(void)
{
	start_many(2, drainer);
	for (long i = count_of("T_N"); i > 0; i--) {
		work_a();
		pthread_mutex_lock(&lock_m);
		backlog++;
		pthread_cond_signal(&is_there);
		pthread_mutex_unlock(&lock_m);
	}
	pthread_mutex_lock(&lock_m);
	is_over = true;
	pthread_cond_broadcast(&is_there);
	pthread_mutex_unlock(&lock_m);
	join_all();
}

/* shared-out: rounds of pieces that any free thread takes by a counter. Some are long (work_a),
 * most are short (work_b), and a barrier is behind each round. */
enum { PIECES = 12 };

static atomic_long next_piece;
static pthread_barrier_t barrier;

static void *piece_worker(void *rank)
{
	for (long i = 0; i < rounds; i++) {
		for (long k; (k = atomic_fetch_add(&next_piece, 1)) < (i + 1) * PIECES;)
			if (k % PIECES == 5)
				work_a();
			else
				work_b();
		pthread_barrier_wait(&barrier);
		if (!rank)
			atomic_store(&next_piece, (i + 1) * PIECES);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

static void pattern_shared_out(void)
{
	pthread_barrier_init(&barrier, NULL, 3);
	rounds = count_of("T_N");
	start_many(3, piece_worker);
	join_all();
}

/* stop-world: threads work (work_a, work_c); after every few pieces one of them stops all others
 * where they look next, and works alone (work_b). */
static atomic_bool has_to_stop;
static pthread_cond_t all_stopped = PTHREAD_COND_INITIALIZER;
static pthread_cond_t goes_on = PTHREAD_COND_INITIALIZER;
static int stopped, running = PARTIES;

static void look(void)
{
	if (!atomic_load(&has_to_stop))
		return;
	pthread_mutex_lock(&lock_m);
	stopped++;
	pthread_cond_signal(&all_stopped);
	while (has_to_stop)
		pthread_cond_wait(&goes_on, &lock_m);
	stopped--;
	pthread_mutex_unlock(&lock_m);
}

static void stop_world(void)
{
	pthread_mutex_lock(&lock_m);
	has_to_stop = true;
	while (stopped < running - 1)
		pthread_cond_wait(&all_stopped, &lock_m);
	work_b();
	has_to_stop = false;
	pthread_cond_broadcast(&goes_on);
	pthread_mutex_unlock(&lock_m);
}

static void *mutator(void *rank)
{
	for (long i = 1; i <= rounds; i++) {
		if (i % 2)
			work_a();
		else
			work_c();
		if (rank)
			look();
		else if (i % 4 == 0)
			stop_world();
	}
	pthread_mutex_lock(&lock_m);
	running--;
	pthread_cond_signal(&all_stopped);
	pthread_mutex_unlock(&lock_m);
	return NULL;
}

static void pattern_stop_world(void)
{
	run_parties(mutator);
}

int main(int argc, char **argv)
{
	static const struct pattern patterns[] = { { "meet-generation", pattern_generation },
						   { "meet-signals", pattern_signals },
						   { "meet-futex", pattern_futex },
						   { "meet-turnstile", pattern_turnstile },
						   { "commit", pattern_commit },
						   { "commit-writer", pattern_commit_writer },
						   { "commit-queue", pattern_commit_queue },
						   { "drain-both", pattern_drain_both },
						   { "shared-out", pattern_shared_out },
						   { "stop-world", pattern_stop_world },
						   { NULL, NULL } };

	return truth_main(argc, argv, patterns);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expected: a limiter's interval is what a faster sender waits for (bucket). A thread that goes on
 * until it is told to stop takes no time of its own (stopflag, sampler). Nor does one that goes on
 * until a time (timed). A client asks again while it waits no longer than its patience (resend).
 * Tries in vain are as many as others make them (backoff, slots), and who waits for an item in its
 * order changes (reorder).
 *
 * Patterns in which the clock, a flag or a limit decides how often something is done. The comment
 * above each says what decides. Not here: locks that are tried (locks.c), queues (conditions.c).
 */
#include "truth.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/socket.h>

static pthread_mutex_t lock_m = PTHREAD_MUTEX_INITIALIZER;
static long rounds;

/*
 * bucket: senders take turns in a bucket that lets one pass each T_M microseconds. Before that
 * they work (work_a).
 */
static uint64_t next_ns, interval_ns;

static NOINLINE void pass_bucket(void)
{
	uint64_t at_ns, asked_ns = now_ns();
	struct timespec left;

	pthread_mutex_lock(&lock_m);
	at_ns = next_ns > asked_ns ? next_ns : asked_ns;
	next_ns = at_ns + interval_ns;
	pthread_mutex_unlock(&lock_m);
	left = to_timespec(at_ns - asked_ns);
	nanosleep(&left, NULL);
	__asm__ volatile("");
}

static void *sender(void *unused UNUSED)
{
	for (long i = 0; i < rounds; i++) {
		work_a();
		pass_bucket();
	}
	return NULL;
}

static void bucket(void)
{
	rounds = count_of("T_N");
	interval_ns = (uint64_t)count_of("T_M") * NS_PER_US;
	start_many(3, sender);
	join_all();
}

/* stopflag: as benchmarks do, threads work (work_a, work_c under a lock) for so long (work_b). */
static atomic_bool is_over;

static void *until_stopped(void *unused UNUSED)
{
	while (!atomic_load(&is_over)) {
		work_a();
		pthread_mutex_lock(&lock_m);
		work_c();
		pthread_mutex_unlock(&lock_m);
	}
	return NULL;
}

static void stopflag(void)
{
	start_many(3, until_stopped);
	work_b();
	atomic_store(&is_over, true);
	join_all();
}

/*
 * timed: after a beginning (work_b), threads work (work_a, work_c under a lock) until T_M
 * milliseconds are over. Shorter work is done more often, and the run is as long.
 */
static uint64_t end_ns;

static void *until_late(void *unused UNUSED)
{
	while (now_ns() < end_ns) {
		work_a();
		pthread_mutex_lock(&lock_m);
		work_c();
		pthread_mutex_unlock(&lock_m);
	}
	return NULL;
}

static void timed(void)
{
	work_b();
	end_ns = now_ns() + (uint64_t)count_of("T_M") * 1000 * NS_PER_US;
	start_many(3, until_late);
	join_all();
}

/* sampler: threads work (work_a), and one looks at what they do (work_b, work_c) until they end. */
static long done;

static void *counted(void *unused UNUSED)
{
	for (long i = 0; i < rounds; i++) {
		work_a();
		pthread_mutex_lock(&lock_m);
		done++;
		pthread_mutex_unlock(&lock_m);
	}
	return NULL;
}

static void *watch(void *seen)
{
	while (!atomic_load(&is_over)) {
		work_b();
		pthread_mutex_lock(&lock_m);
		*(long *)seen = done;
		pthread_mutex_unlock(&lock_m);
		work_c();
	}
	return NULL;
}

static void sampler(void)
{
	pthread_t watcher;
	long seen = 0;

	rounds = count_of("T_N");
	if (pthread_create(&watcher, NULL, watch, &seen))
		die("cannot start another thread", "sampler");
	start_many(3, counted);
	join_all();
	atomic_store(&is_over, true);
	pthread_join(watcher, NULL);
}

/*
 * backoff: at most T_M threads work (work_a) at a time. The others try again after a sleep, each
 * time after one that is twice as long.
 */
enum { FIRST_US = 500, LAST_US = 8000 };

static long working, working_max;

static bool may_work(void)
{
	pthread_mutex_lock(&lock_m);
	bool may = working < working_max;
	working += may;
	pthread_mutex_unlock(&lock_m);
	return may;
}

static NOINLINE void back_off(uint64_t us)
{
	struct timespec left = to_timespec(us * NS_PER_US);

	nanosleep(&left, NULL);
	__asm__ volatile("");
}

static void *trying(void *unused UNUSED)
{
	for (long i = 0; i < rounds; i++) {
		for (uint64_t us = FIRST_US; !may_work(); us = us < LAST_US ? 2 * us : us)
			back_off(us);
		work_a();
		pthread_mutex_lock(&lock_m);
		working--;
		pthread_mutex_unlock(&lock_m);
		work_b();
	}
	return NULL;
}

static void backoff(void)
{
	rounds = count_of("T_N");
	working_max = count_of("T_M");
	start_many(6, trying);
	join_all();
}

/*
 * slots: clients put a question into a slot of their own, and look there again and again (work_d)
 * until the server has answered (work_a). It naps if there is none (work_c).
 */
enum { CLIENTS = 4 };

static atomic_int slots[CLIENTS];

static void *asking(void *rank)
{
	for (long i = 0; i < rounds; i++) {
		atomic_store(&slots[(long)rank], 1);
		while (atomic_load(&slots[(long)rank]))
			work_d();
		work_b();
	}
	return NULL;
}

static void *answering(void *unused UNUSED)
{
	while (!atomic_load(&is_over)) {
		bool has_any = false;

		for (int i = 0; i < CLIENTS; i++) {
			if (!atomic_load(&slots[i]))
				continue;
			work_a();
			atomic_store(&slots[i], 0);
			has_any = true;
		}
		if (!has_any)
			work_c();
	}
	return NULL;
}

static void ask_in_slots(void)
{
	pthread_t server;

	rounds = count_of("T_N");
	if (pthread_create(&server, NULL, answering, NULL))
		die("cannot start another thread", "slots");
	start_many(CLIENTS, asking);
	join_all();
	atomic_store(&is_over, true);
	pthread_join(server, NULL);
}

/*
 * reorder: items are read (work_a), worked on by several threads (work_b, each fifth work_c), and
 * written in their order (work_d). No thread is more than a window ahead of the writer.
 */
enum { QUEUE = 6, WINDOW = 8, LONG_EVERY = 5 };

static pthread_cond_t has_item = PTHREAD_COND_INITIALIZER, has_room = PTHREAD_COND_INITIALIZER;
static pthread_cond_t is_next = PTHREAD_COND_INITIALIZER, has_moved = PTHREAD_COND_INITIALIZER;
static long read_items, taken_items, written_items;
static bool is_done[WINDOW];

static void *item_worker(void *unused UNUSED)
{
	for (;;) {
		pthread_mutex_lock(&lock_m);
		while (taken_items == read_items && taken_items < rounds)
			pthread_cond_wait(&has_item, &lock_m);
		long item = taken_items < rounds ? taken_items++ : rounds;
		pthread_cond_signal(&has_room);
		pthread_mutex_unlock(&lock_m);
		if (item == rounds)
			return NULL;
		if (item % LONG_EVERY)
			work_b();
		else
			work_c();
		pthread_mutex_lock(&lock_m);
		while (item >= written_items + WINDOW)
			pthread_cond_wait(&has_moved, &lock_m);
		is_done[item % WINDOW] = true;
		if (item == written_items)
			pthread_cond_signal(&is_next);
		pthread_mutex_unlock(&lock_m);
	}
}

static void *item_writer(void *unused UNUSED)
{
	for (long item = 0; item < rounds; item++) {
		pthread_mutex_lock(&lock_m);
		while (!is_done[item % WINDOW])
			pthread_cond_wait(&is_next, &lock_m);
		is_done[item % WINDOW] = false;
		written_items++;
		pthread_cond_broadcast(&has_moved);
		pthread_mutex_unlock(&lock_m);
		work_d();
	}
	return NULL;
}

static void reorder(void)
{
	rounds = count_of("T_N");
	start(item_writer, 0);
	start_many(4, item_worker);
	for (long i = 0; i < rounds; i++) {
		work_a();
		pthread_mutex_lock(&lock_m);
		while (read_items == taken_items + QUEUE)
			pthread_cond_wait(&has_room, &lock_m);
		read_items++;
		pthread_cond_signal(&has_item);
		pthread_mutex_unlock(&lock_m);
	}
	pthread_mutex_lock(&lock_m);
	pthread_cond_broadcast(&has_item);
	pthread_mutex_unlock(&lock_m);
	join_all();
}

/*
 * resend: clients ask a server of their own, which needs work_a, and each sixth time work_b. After
 * T_M ms without an answer they ask again. A late answer will do, and the one that nobody needs any
 * more is read before the next. Then they think (work_c).
 */
enum { PAIRS = 3, ASK = 0, SERVE = 1, SLOW_ANSWER_EVERY = 6 };

static int pairs[PAIRS][2];

static void *answer_pair(void *rank)
{
	int fd = pairs[(long)rank][SERVE], question;

	for (long i = 1; read(fd, &question, sizeof(question)) == sizeof(question); i++) {
		work_a();
		if (i % SLOW_ANSWER_EVERY == 0)
			work_b();
		if (write(fd, &question, sizeof(question)) != sizeof(question))
			die("cannot answer", "resend");
	}
	return NULL;
}

static void ask_once(int fd, int question)
{
	if (write(fd, &question, sizeof(question)) != sizeof(question))
		die("cannot ask", "resend");
}

static void ask_until_answered(int fd, int question)
{
	struct pollfd ready = { fd, POLLIN, 0 };
	int patience_ms = (int)count_of("T_M"), answer = -1;

	ask_once(fd, question);
	while (answer != question) {
		if (poll(&ready, 1, patience_ms) == 0)
			ask_once(fd, question);
		else if (read(fd, &answer, sizeof(answer)) != sizeof(answer))
			die("cannot read", "resend");
	}
}

static void *ask_pair(void *rank)
{
	for (int i = 0; i < rounds; i++) {
		ask_until_answered(pairs[(long)rank][ASK], i);
		work_c();
	}
	shutdown(pairs[(long)rank][ASK], SHUT_WR);
	return NULL;
}

static void resend(void)
{
	rounds = count_of("T_N");
	for (long i = 0; i < PAIRS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]))
			die("cannot be made", "socketpair");
		start(answer_pair, i);
		start(ask_pair, i);
	}
	join_all();
}

int main(int argc, char **argv)
{
	static const struct pattern patterns[] = {
		{ "bucket", bucket },   { "stopflag", stopflag },  { "sampler", sampler },
		{ "backoff", backoff }, { "slots", ask_in_slots }, { "reorder", reorder },
		{ "resend", resend },   { "timed", timed },        { NULL, NULL }
	};

	return truth_main(argc, argv, patterns);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expected: an event loop takes what comes first. A connection that becomes quicker is served
 * sooner, and no other one has to wait for that.
 *
 * Patterns of loops over epoll and poll. Each connection is a socket pair. The comment above each
 * pattern says which pieces matter. Not here: locks, but those of a pattern's queue.
 */
#include "truth.h"

#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum {
	ASKERS_MAX = THREADS_MAX - 8,
	TICK_MS = 10,
	POOL_WORKERS = 2,
	LOOP_THREADS = 2,
	MUX_MAX = 16
};

static int asking[ASKERS_MAX], serving[ASKERS_MAX];
static long asker_count;
static int poller;

static void pairs_make(long count)
{
	asker_count = count;
	poller = epoll_create1(0);
	for (long i = 0; i < count; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			die(strerror(errno), "socketpair");
		asking[i] = ends[0];
		serving[i] = ends[1];
	}
}

static void poller_add(long i, unsigned flags)
{
	struct epoll_event event = { .events = EPOLLIN | flags, .data.u32 = (unsigned)i };

	if (epoll_ctl(poller, EPOLL_CTL_ADD, serving[i], &event))
		die(strerror(errno), "epoll_ctl");
}

static void put(int fd, char letter)
{
	if (write(fd, &letter, 1) != 1)
		die(strerror(errno), "write");
}

static bool get(int fd, char *letter)
{
	return read(fd, letter, 1) == 1;
}

static void ask(long i)
{
	char letter;

	put(asking[i], 'q');
	if (!get(asking[i], &letter))
		die("no answer", "read");
}

/* Even ones do work_a before each question, odd ones work_b; the first one ends with work_e. */
static void *asker(void *number)
{
	long i = (long)number;

	for (long n = count_of("T_N"); n > 0; n--) {
		if (i % 2)
			work_b();
		else
			work_a();
		ask(i);
	}
	if (i == 0)
		work_e();
	put(asking[i], 'e');
	return NULL;
}

/* False: it was the last question. */
static bool serve(long i)
{
	char letter;

	if (!get(serving[i], &letter))
		die("no question", "read");
	if (letter == 'e')
		return false;
	work_c();
	put(serving[i], letter);
	return true;
}

static void askers_start(void)
{
	for (long i = 0; i < asker_count; i++)
		start(asker, (int)i);
}

/* many: one loop, T_K connections, up to so many events a poll. */
static void many(void)
{
	struct epoll_event events[MUX_MAX];
	long left;

	pairs_make(count_of("T_K"));
	for (long i = 0; i < asker_count; i++)
		poller_add(i, 0);
	askers_start();
	for (left = asker_count; left > 0;) {
		int found = epoll_wait(poller, events, MUX_MAX, -1);

		for (int i = 0; i < found; i++)
			left -= !serve(events[i].data.u32);
	}
	join_all();
}

/* ticking: the same, with poll() and work_d every 10 ms. */
static void ticking(void)
{
	struct pollfd set[ASKERS_MAX];
	long left;
	uint64_t due_ns = now_ns() + TICK_MS * 1000000ull;

	pairs_make(count_of("T_K"));
	for (long i = 0; i < asker_count; i++)
		set[i] = (struct pollfd){ serving[i], POLLIN, 0 };
	askers_start();
	for (left = asker_count; left > 0;) {
		uint64_t at_ns = now_ns();
		int limit_ms = at_ns < due_ns ? (int)((due_ns - at_ns) / 1000000) + 1 : 0;

		poll(set, (nfds_t)asker_count, limit_ms);
		for (long i = 0; i < asker_count; i++)
			if (set[i].revents && !serve(i)) {
				set[i].fd = -1;
				left--;
			}
		if (now_ns() < due_ns)
			continue;
		work_d();
		due_ns += TICK_MS * 1000000ull;
	}
	join_all();
}

/* shared: two loops poll the same set; who gets an event has the connection for itself. */
static void rearm(long i)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT, .data.u32 = (unsigned)i };

	if (epoll_ctl(poller, EPOLL_CTL_MOD, serving[i], &event))
		die(strerror(errno), "epoll_ctl");
}

static void *shared_loop(void *unused UNUSED)
{
	struct epoll_event event;

	while (epoll_wait(poller, &event, 1, -1) == 1)
		if (serve(event.data.u32))
			rearm(event.data.u32);
	return NULL;
}

/* The loops end with the program. */
static void shared(void)
{
	pairs_make(count_of("T_K"));
	for (long i = 0; i < asker_count; i++)
		poller_add(i, EPOLLONESHOT);
	for (int i = 0; i < LOOP_THREADS; i++) {
		pthread_t loop;

		if (pthread_create(&loop, NULL, shared_loop, NULL))
			die("cannot start a loop", "start");
	}
	askers_start();
	join_all();
}

/* handed: a loop polls, and hands each connection that has something to read to a pool. */
static pthread_mutex_t queue_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_cond = PTHREAD_COND_INITIALIZER;
static long queue[4096];
static size_t queue_first, queue_last;
static long left_to_serve;

static void hand_over(long i)
{
	pthread_mutex_lock(&queue_mutex);
	queue[queue_last++ % 4096] = i;
	pthread_cond_signal(&queue_cond);
	pthread_mutex_unlock(&queue_mutex);
}

static long take(void)
{
	long i;

	pthread_mutex_lock(&queue_mutex);
	while (queue_first == queue_last)
		pthread_cond_wait(&queue_cond, &queue_mutex);
	i = queue[queue_first++ % 4096];
	pthread_mutex_unlock(&queue_mutex);
	return i;
}

static void *pool_worker(void *wake)
{
	for (long i; (i = take()) >= 0;) {
		if (serve(i))
			rearm(i);
		else if (__atomic_sub_fetch(&left_to_serve, 1, __ATOMIC_ACQ_REL) == 0)
			put((int)(long)wake, 'e');
	}
	return NULL;
}

static void handed(void)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = ASKERS_MAX };
	int wake[2];

	pairs_make(count_of("T_K"));
	left_to_serve = asker_count;
	if (pipe(wake))
		die(strerror(errno), "pipe");
	epoll_ctl(poller, EPOLL_CTL_ADD, wake[0], &event);
	for (long i = 0; i < asker_count; i++)
		poller_add(i, EPOLLONESHOT);
	for (int i = 0; i < POOL_WORKERS; i++)
		start(pool_worker, wake[1]);
	askers_start();
	while (epoll_wait(poller, &event, 1, -1) == 1 && event.data.u32 < ASKERS_MAX)
		hand_over(event.data.u32);
	for (int i = 0; i < POOL_WORKERS; i++)
		hand_over(-1);
	join_all();
}

/* offloaded: a loop reads, a pool works (work_c) and wakes the loop by a pipe, and it answers. */
static long done[4096];
static size_t done_first, done_last;
static pthread_mutex_t done_mutex = PTHREAD_MUTEX_INITIALIZER;

static void *offload_worker(void *wake)
{
	for (long i; (i = take()) >= 0;) {
		work_c();
		pthread_mutex_lock(&done_mutex);
		done[done_last++ % 4096] = i;
		pthread_mutex_unlock(&done_mutex);
		put((int)(long)wake, 'd');
	}
	return NULL;
}

static void answer_done(int wake)
{
	char letters[16];
	ssize_t count = read(wake, letters, sizeof(letters));

	for (ssize_t n = 0; n < count; n++) {
		pthread_mutex_lock(&done_mutex);
		long i = done[done_first++ % 4096];
		pthread_mutex_unlock(&done_mutex);
		put(serving[i], 'a');
	}
}

static void offloaded(void)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = ASKERS_MAX };
	int wake[2];
	long left;

	pairs_make(count_of("T_K"));
	if (pipe(wake))
		die(strerror(errno), "pipe");
	epoll_ctl(poller, EPOLL_CTL_ADD, wake[0], &event);
	for (long i = 0; i < asker_count; i++)
		poller_add(i, 0);
	for (int i = 0; i < POOL_WORKERS; i++)
		start(offload_worker, wake[1]);
	askers_start();
	for (left = asker_count; left > 0;) {
		char letter;

		if (epoll_wait(poller, &event, 1, -1) != 1)
			continue;
		if (event.data.u32 == ASKERS_MAX)
			answer_done(wake[0]);
		else if (get(serving[event.data.u32], &letter) && letter == 'q')
			hand_over(event.data.u32);
		else
			left--;
	}
	for (int i = 0; i < POOL_WORKERS; i++)
		hand_over(-1);
	join_all();
}

/* mux: one thread keeps a question open on each of T_K connections, each with a server thread. */
static void *server(void *number)
{
	long i = (long)number;
	char letter;

	while (get(serving[i], &letter) && letter == 'q') {
		if (i % 2)
			work_b();
		else
			work_a();
		put(serving[i], 'a');
	}
	return NULL;
}

static void mux(void)
{
	struct pollfd set[ASKERS_MAX];
	long rounds = count_of("T_N"), asked[ASKERS_MAX], left;

	pairs_make(count_of("T_K"));
	for (long i = 0; i < asker_count; i++) {
		start(server, (int)i);
		set[i] = (struct pollfd){ asking[i], POLLIN, 0 };
		asked[i] = 1;
		put(asking[i], 'q');
	}
	for (left = asker_count; left > 0;) {
		char letter;

		poll(set, (nfds_t)asker_count, -1);
		for (long i = 0; i < asker_count; i++) {
			if (!set[i].revents || !get(asking[i], &letter))
				continue;
			work_c();
			if (asked[i]++ < rounds) {
				put(asking[i], 'q');
				continue;
			}
			put(asking[i], 'e');
			set[i].fd = -1;
			left--;
		}
	}
	join_all();
}

/* later: a loop that answers each question work_c after it came, as by a timer. */
static void later(void)
{
	struct pollfd set[ASKERS_MAX];
	uint64_t due_ns[ASKERS_MAX] = { 0 }, first_ns;
	uint64_t wait_ns = (uint64_t)work_c_piece.request.tv_sec * NS_PER_S +
			   (uint64_t)work_c_piece.request.tv_nsec;
	long left;
	char letter;

	pairs_make(count_of("T_K"));
	for (long i = 0; i < asker_count; i++)
		set[i] = (struct pollfd){ serving[i], POLLIN, 0 };
	askers_start();
	for (left = asker_count; left > 0;) {
		uint64_t at_ns = now_ns();
		struct timespec limit;

		first_ns = UINT64_MAX;
		for (long i = 0; i < asker_count; i++)
			if (due_ns[i] && due_ns[i] < first_ns)
				first_ns = due_ns[i];
		limit = to_timespec(first_ns > at_ns ? first_ns - at_ns : 0);
		if (ppoll(set, (nfds_t)asker_count, first_ns == UINT64_MAX ? NULL : &limit, NULL) >
		    0)
			for (long i = 0; i < asker_count; i++) {
				if (!set[i].revents || !get(serving[i], &letter))
					continue;
				due_ns[i] = letter == 'e' ? 0 : now_ns() + wait_ns;
				if (letter == 'e') {
					set[i].fd = -1;
					left--;
				}
			}
		for (long i = 0; i < asker_count; i++)
			if (due_ns[i] && due_ns[i] <= now_ns()) {
				due_ns[i] = 0;
				put(serving[i], 'a');
			}
	}
	join_all();
}

int main(int argc, char **argv)
{
	static const struct pattern patterns[] = {
		{ "many", many },           { "ticking", ticking },
		{ "shared", shared },       { "handed", handed },
		{ "offloaded", offloaded }, { "mux", mux },
		{ "later", later },         { NULL, NULL }
	};

	return truth_main(argc, argv, patterns);
}

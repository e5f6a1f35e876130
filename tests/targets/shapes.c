/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wait structures that replays get wrong, each a small program: shapes NAME ROUNDS A_US B_US.
 *
 * All work is sleeping: work_a() and work_b() for so many microseconds each. So what a change of
 * one of them saves can be measured on a busy machine. A program is over when all rounds are.
 * Threads are those of the scenario; nothing is shared but what its comment says.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { COMMITTERS = 6, PARTIES = 3, JOINERS = 3 };

static long rounds, a_us, b_us;

__attribute__((noinline)) static void work_a(void)
{
	usleep((useconds_t)a_us);
	__asm__ volatile("");
}

__attribute__((noinline)) static void work_b(void)
{
	usleep((useconds_t)b_us);
	__asm__ volatile("");
}

static pthread_t start(void *(*run)(void *), void *argument)
{
	pthread_t thread;
	int error = pthread_create(&thread, NULL, run, argument);
	assert(error == 0);
	(void)error;
	return thread;
}

/* One client: asks, and waits for the answer. */
static void *ask(void *argument)
{
	int socket = *(int *)argument;
	char byte = 'x';
	for (long i = 0; i < rounds; i++)
		if (write(socket, &byte, 1) != 1 || read(socket, &byte, 1) != 1)
			abort();
	close(socket);
	return NULL;
}

/* An event loop with two connections; what it does for the first takes A, for the second B. */
static void event_loop(void)
{
	int ends[2][2], queue = epoll_create1(0);
	pthread_t clients[2];
	for (int i = 0; i < 2; i++) {
		struct epoll_event event = { EPOLLIN, { .u32 = (uint32_t)i } };
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends[i]) != 0 ||
		    epoll_ctl(queue, EPOLL_CTL_ADD, ends[i][0], &event) != 0)
			abort();
		clients[i] = start(ask, &ends[i][1]);
	}
	for (int open = 2; open > 0;) {
		struct epoll_event event;
		char byte;
		if (epoll_wait(queue, &event, 1, -1) != 1)
			continue;
		if (read(ends[event.data.u32][0], &byte, 1) != 1) {
			close(ends[event.data.u32][0]);
			open--;
			continue;
		}
		if (event.data.u32 == 0)
			work_a();
		else
			work_b();
		if (write(ends[event.data.u32][0], &byte, 1) != 1)
			abort();
	}
	for (int i = 0; i < 2; i++)
		pthread_join(clients[i], NULL);
}

/* A log: what was appended, what is on the disk, and whether a thread is flushing. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t flushed = PTHREAD_COND_INITIALIZER;
static long appended, durable;
static bool is_flushing;

static void commit(void)
{
	pthread_mutex_lock(&lock);
	long mine = ++appended;
	while (durable < mine) {
		if (is_flushing) {
			pthread_cond_wait(&flushed, &lock);
			continue;
		}
		is_flushing = true;
		long upto = appended;
		pthread_mutex_unlock(&lock);
		work_a();
		pthread_mutex_lock(&lock);
		durable = upto;
		is_flushing = false;
		pthread_cond_broadcast(&flushed);
	}
	pthread_mutex_unlock(&lock);
}

static void *committer(void *argument)
{
	for (long i = 0; i < rounds; i++) {
		work_b();
		commit();
	}
	return argument;
}

/* Six threads that work for B, and commit; a flush takes A, and is of all that was appended. */
static void group_commit(void)
{
	pthread_t threads[COMMITTERS];
	for (int i = 0; i < COMMITTERS; i++)
		threads[i] = start(committer, NULL);
	for (int i = 0; i < COMMITTERS; i++)
		pthread_join(threads[i], NULL);
}

static void *once_a(void *argument)
{
	work_a();
	return argument;
}

static void *once_b(void *argument)
{
	work_b();
	return argument;
}

/* Rounds of threads that are started and joined: one works for A, the others for B. */
static void join_rounds(void)
{
	for (long i = 0; i < rounds; i++) {
		pthread_t threads[JOINERS];
		for (int k = 0; k < JOINERS; k++)
			threads[k] = start(k == 0 ? once_a : once_b, NULL);
		for (int k = 0; k < JOINERS; k++)
			pthread_join(threads[k], NULL);
	}
}

/* A barrier made by hand: the last to arrive wakes the others. */
static pthread_cond_t all_here = PTHREAD_COND_INITIALIZER;
static int here;
static long turn;

static void meet(void)
{
	pthread_mutex_lock(&lock);
	long mine = turn;
	if (++here == PARTIES) {
		here = 0;
		turn++;
		pthread_cond_broadcast(&all_here);
	}
	while (turn == mine)
		pthread_cond_wait(&all_here, &lock);
	pthread_mutex_unlock(&lock);
}

/* Which thread is slow changes with the round, so none is always the last. */
static void *party(void *argument)
{
	long number = (long)argument;
	for (long i = 0; i < rounds; i++) {
		if (i % PARTIES == number)
			work_a();
		else
			work_b();
		meet();
	}
	return NULL;
}

static void made_barrier(void)
{
	pthread_t threads[PARTIES];
	for (long i = 0; i < PARTIES; i++)
		threads[i] = start(party, (void *)i);
	for (int i = 0; i < PARTIES; i++)
		pthread_join(threads[i], NULL);
}

/* A thread that waits for signals, and answers each by another one. */
static sigset_t both_signals;
static pthread_t asker;

static void *signalled(void *argument)
{
	int number;
	for (long i = 0; i < rounds; i++) {
		sigwait(&both_signals, &number);
		work_a();
		pthread_kill(asker, SIGUSR2);
	}
	return argument;
}

static void signals(void)
{
	sigset_t mine;
	int number;
	sigemptyset(&both_signals);
	sigaddset(&both_signals, SIGUSR1);
	sigemptyset(&mine);
	sigaddset(&mine, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &both_signals, NULL);
	pthread_sigmask(SIG_BLOCK, &mine, NULL);
	asker = pthread_self();
	pthread_t other = start(signalled, NULL);
	for (long i = 0; i < rounds; i++) {
		work_b();
		pthread_kill(other, SIGUSR1);
		sigwait(&mine, &number);
	}
	pthread_join(other, NULL);
}

/* A thread works, and the main thread looks between sleeps whether it is done. */
static atomic_long done;

static void *worker(void *argument)
{
	for (long i = 0; i < rounds; i++)
		work_a();
	atomic_store(&done, 1);
	return argument;
}

static void looking(void)
{
	pthread_t other = start(worker, NULL);
	while (!atomic_load(&done))
		work_b();
	pthread_join(other, NULL);
}

/* Datagrams between two processes: the server takes A for each, the client B. */
static void datagrams(void)
{
	struct sockaddr_in name = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(name);
	int server = socket(AF_INET, SOCK_DGRAM, 0), client = socket(AF_INET, SOCK_DGRAM, 0);
	char byte = 'x';
	if (bind(server, (struct sockaddr *)&name, length) != 0 ||
	    getsockname(server, (struct sockaddr *)&name, &length) != 0)
		abort();
	if (fork() == 0) {
		for (long i = 0; i < rounds; i++) {
			struct sockaddr_in peer;
			length = sizeof(peer);
			if (recvfrom(server, &byte, 1, 0, (struct sockaddr *)&peer, &length) != 1)
				abort();
			work_a();
			sendto(server, &byte, 1, 0, (struct sockaddr *)&peer, length);
		}
		exit(0);
	}
	for (long i = 0; i < rounds; i++) {
		work_b();
		sendto(client, &byte, 1, 0, (struct sockaddr *)&name, sizeof(name));
		if (recv(client, &byte, 1, 0) != 1)
			abort();
	}
	wait(NULL);
}

/* Sleeps until moments that are computed from now, as Python's time.sleep() does. */
static void until_moments(void)
{
	for (long i = 0; i < rounds; i++) {
		struct timespec moment;
		clock_gettime(CLOCK_MONOTONIC, &moment);
		moment.tv_nsec += a_us * 1000;
		moment.tv_sec += moment.tv_nsec / 1000000000;
		moment.tv_nsec %= 1000000000;
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &moment, NULL) != 0)
			continue;
		work_b();
	}
}

int main(int count, char **words)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} shapes[] = {
		{ "event_loop", event_loop },   { "group_commit", group_commit },
		{ "join_rounds", join_rounds }, { "made_barrier", made_barrier },
		{ "signals", signals },         { "looking", looking },
		{ "datagrams", datagrams },     { "until_moments", until_moments },
	};
	for (size_t i = 0; count == 5 && i < sizeof(shapes) / sizeof(shapes[0]); i++)
		if (strcmp(words[1], shapes[i].name) == 0) {
			rounds = atol(words[2]);
			a_us = atol(words[3]);
			b_us = atol(words[4]);
			shapes[i].run();
			return 0;
		}
	fprintf(stderr, "usage: shapes NAME ROUNDS A_US B_US\n");
	return 2;
}

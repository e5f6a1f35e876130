/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that go on and on, each doing one thing: for tests of what is recorded of whom. */
/*
 * Prints "ready" and then its two listening ports. Its threads go on until its input ends.
 * "reader-1" and "reader-2" read a byte of /dev/zero. "locker" takes a mutex that nobody else
 * takes. "flow" reads a byte in a flow, and one outside. "serve-1" and "serve-2" answer the bytes
 * that "client-1" and "client-2" send them by the first and the second port. "sleeper" sleeps
 * for 10 us; "counter" counts. Each pauses for 1 ms after every 8th time. Exit status 0, and 1
     * when any call failed.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "wcprof.h"

enum { TURNS = 8, COUNTS = 100000 };

static pthread_mutex_t lonely_lock = PTHREAD_MUTEX_INITIALIZER;
static bool stop;
static int zero, listeners[2];
static volatile long count;

/* After every few turns, a pause that nobody hears of. */
static bool goes_on(void)
{
	static const struct timespec pause = { 0, 1000000 };
	static __thread unsigned turns;

	if (++turns % TURNS == 0)
		(void)syscall(SYS_nanosleep, &pause, NULL);
	return !__atomic_load_n(&stop, __ATOMIC_RELAXED);
}

static void need(bool condition)
{
	if (!condition)
		exit(1);
}

static void read_zero(void)
{
	char byte = 1;

	need(read(zero, &byte, 1) == 1 && byte == 0);
}

static void *run_reader(void *unused)
{
	while (goes_on())
		read_zero();
	return unused;
}

static void *run_locker(void *unused)
{
	while (goes_on()) {
		need(pthread_mutex_lock(&lonely_lock) == 0);
		count++;
		need(pthread_mutex_unlock(&lonely_lock) == 0);
	}
	return unused;
}

static void *run_flow(void *unused)
{
	while (goes_on()) {
		wcprof_flow_begin();
		read_zero();
		wcprof_flow_end();
		read_zero();
	}
	return unused;
}

static struct sockaddr_in address_of(int fd)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t bytes = sizeof(address);

	need(getsockname(fd, (struct sockaddr *)&address, &bytes) == 0);
	return address;
}

static void *run_server(void *listener)
{
	int fd = accept(*(int *)listener, NULL, NULL);
	char byte;

	need(fd >= 0);
	while (recv(fd, &byte, 1, 0) == 1 && send(fd, &byte, 1, MSG_NOSIGNAL) == 1)
		continue;
	close(fd);
	return NULL;
}

static void *run_client(void *listener)
{
	struct sockaddr_in address = address_of(*(int *)listener);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char byte = 7;

	need(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
	while (goes_on()) {
		need(send(fd, &byte, 1, MSG_NOSIGNAL) == 1);
		need(recv(fd, &byte, 1, 0) == 1 && byte == 7);
	}
	close(fd);
	return NULL;
}

static void *run_sleeper(void *unused)
{
	while (goes_on())
		usleep(10);
	return unused;
}

static void *run_counter(void *unused)
{
	volatile long own = 0;

	while (goes_on())
		for (int i = 0; i < COUNTS; i++)
			own++;
	return unused;
}

static const struct {
	const char *name;
	void *(*run)(void *);
	int *argument;
} threads[] = {
	{ "reader-1", run_reader, NULL },
	{ "reader-2", run_reader, NULL },
	{ "locker", run_locker, NULL },
	{ "flow", run_flow, NULL },
	{ "serve-1", run_server, &listeners[0] },
	{ "serve-2", run_server, &listeners[1] },
	{ "client-1", run_client, &listeners[0] },
	{ "client-2", run_client, &listeners[1] },
	{ "sleeper", run_sleeper, NULL },
	{ "counter", run_counter, NULL },
};

enum { THREADS = sizeof(threads) / sizeof(threads[0]) };

int main(void)
{
	pthread_t ids[THREADS];
	char byte;

	zero = open("/dev/zero", O_RDONLY);
	need(zero >= 0);
	for (int i = 0; i < 2; i++) {
		struct sockaddr_in address = { .sin_family = AF_INET,
					       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

		listeners[i] = socket(AF_INET, SOCK_STREAM, 0);
		need(listeners[i] >= 0 &&
		     bind(listeners[i], (struct sockaddr *)&address, sizeof(address)) == 0 &&
		     listen(listeners[i], 1) == 0);
	}
	for (int i = 0; i < THREADS; i++) {
		need(pthread_create(&ids[i], NULL, threads[i].run, threads[i].argument) == 0);
		need(pthread_setname_np(ids[i], threads[i].name) == 0);
	}
	puts("ready");
	for (int i = 0; i < 2; i++)
		printf("%d\n", ntohs(address_of(listeners[i]).sin_port));
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		continue;
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < THREADS; i++)
		need(pthread_join(ids[i], NULL) == 0);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A service in a chain, or the clients of the first one.
 *
 *     chained serve ADDRESS:PORT CONNECTIONS OWN_US HOLD_US [NEXT_ADDRESS:PORT]
 *     chained load ADDRESS:PORT CONNECTIONS REQUESTS THINK_US
 *
 * A service answers so many connections, each on a thread of its own with a connection to the next
 * service. It ends with the last of them. For each request it works, sleeps with one lock held
 * (HOLD_US of 0: it does not), and asks the next service. Clients think for times that vary, wait
 * for their answers, and print the 50th and 99th percentile in microseconds.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGE_BYTES = 64, CONNECTIONS_MAX = 64 };

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static long own_us, hold_us, requests, think_us;
static const char *next_place;
static double *taken_us;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static struct sockaddr_in place_of(const char *text)
{
	struct sockaddr_in place = { .sin_family = AF_INET };
	char address[64];
	const char *colon = strrchr(text, ':');

	if (!colon || colon - text >= (long)sizeof(address))
		die(text);
	snprintf(address, sizeof(address), "%.*s", (int)(colon - text), text);
	place.sin_port = htons((uint16_t)atoi(colon + 1));
	if (inet_pton(AF_INET, address, &place.sin_addr) != 1)
		die(address);
	return place;
}

static int no_delay(int fd)
{
	int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

/* The next service may be started later: up to half a minute. */
static int connect_to(const char *text)
{
	struct sockaddr_in place = place_of(text);

	for (int i = 0; i < 3000; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		if (connect(fd, (struct sockaddr *)&place, sizeof(place)) == 0)
			return no_delay(fd);
		close(fd);
		usleep(10000);
	}
	die(text);
	return -1;
}

static double now_us(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

__attribute__((noinline)) static void work(void)
{
	double end_us = now_us(CLOCK_THREAD_CPUTIME_ID) + (double)own_us;

	while (now_us(CLOCK_THREAD_CPUTIME_ID) < end_us)
		continue;
}

__attribute__((noinline)) static void hold_table(void)
{
	struct timespec time = { 0, hold_us * 1000 };

	pthread_mutex_lock(&table_lock);
	nanosleep(&time, NULL);
	pthread_mutex_unlock(&table_lock);
}

static int receive(int fd, char *message)
{
	size_t got = 0;

	while (got < MESSAGE_BYTES) {
		ssize_t more = recv(fd, message + got, MESSAGE_BYTES - got, 0);

		if (more <= 0)
			return 0;
		got += (size_t)more;
	}
	return 1;
}

static void transmit(int fd, const char *message)
{
	if (send(fd, message, MESSAGE_BYTES, MSG_NOSIGNAL) != MESSAGE_BYTES)
		die("send");
}

static void *serve_one(void *argument)
{
	int fd = (int)(intptr_t)argument, next = next_place ? connect_to(next_place) : -1;
	char message[MESSAGE_BYTES];

	while (receive(fd, message)) {
		work();
		if (hold_us)
			hold_table();
		if (next >= 0) {
			transmit(next, message);
			if (!receive(next, message))
				die("the next service");
		}
		transmit(fd, message);
	}
	if (next >= 0)
		close(next);
	close(fd);
	return NULL;
}

static int serve(const char *text, int connections)
{
	struct sockaddr_in place = place_of(text);
	pthread_t threads[CONNECTIONS_MAX];
	int on = 1, listener = socket(AF_INET, SOCK_STREAM, 0);

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(listener, (struct sockaddr *)&place, sizeof(place)) != 0 ||
	    listen(listener, CONNECTIONS_MAX) != 0)
		die(text);
	puts("ready");
	fflush(stdout);
	for (int i = 0; i < connections; i++) {
		int fd = accept(listener, NULL, NULL);

		if (fd < 0)
			die("accept");
		pthread_create(&threads[i], NULL, serve_one, (void *)(intptr_t)no_delay(fd));
	}
	for (int i = 0; i < connections; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

struct client {
	pthread_t thread;
	const char *place;
	int number;
};

static void *ask(void *argument)
{
	struct client *client = argument;
	uint64_t seed = (uint64_t)client->number * 0x9e3779b97f4a7c15u + 1;
	char message[MESSAGE_BYTES] = "please";
	int fd = connect_to(client->place);

	for (long i = 0; i < requests; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		double part = ((double)(seed >> 11) + 1) / 9007199254740993.0;
		double begin_us;

		usleep((useconds_t)fmin(-log(part) * (double)think_us, 8.0 * (double)think_us));
		begin_us = now_us(CLOCK_MONOTONIC);
		transmit(fd, message);
		if (!receive(fd, message))
			die("no answer");
		taken_us[client->number * requests + i] = now_us(CLOCK_MONOTONIC) - begin_us;
	}
	close(fd);
	return NULL;
}

static int compare(const void *left, const void *right)
{
	const double *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static int load(const char *place, int connections)
{
	struct client clients[CONNECTIONS_MAX];
	size_t count = (size_t)connections * (size_t)requests;

	taken_us = calloc(count, sizeof(*taken_us));
	for (int i = 0; i < connections; i++) {
		clients[i] = (struct client){ .place = place, .number = i };
		pthread_create(&clients[i].thread, NULL, ask, &clients[i]);
	}
	for (int i = 0; i < connections; i++)
		pthread_join(clients[i].thread, NULL);
	qsort(taken_us, count, sizeof(*taken_us), compare);
	printf("%.1f %.1f\n", taken_us[count / 2], taken_us[count * 99 / 100]);
	return 0;
}

int main(int argc, char **argv)
{
	int connections = argc > 3 ? atoi(argv[3]) : 0;

	if (argc < 6 || connections < 1 || connections > CONNECTIONS_MAX) {
		fputs("usage: see the head of chained.c\n", stderr);
		return 2;
	}
	if (strcmp(argv[1], "load") == 0) {
		requests = atol(argv[4]);
		think_us = atol(argv[5]);
		return load(argv[2], connections);
	}
	own_us = atol(argv[4]);
	hold_us = atol(argv[5]);
	next_place = argc > 6 ? argv[6] : NULL;
	return serve(argv[2], connections);
}

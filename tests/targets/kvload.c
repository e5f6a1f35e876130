/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: exit status 0 and one line of figures; 1 when any answer was wrong or missing.
 *
 * A closed-loop load for servers that speak memcached's text protocol (kvserver, memcached). Each
 * connection sends its next request when the last one is answered, or THINK_US microseconds later.
 * One set, three gets of it that must bring back its value, and now and then a delete, on keys of
 * its own. The number of requests is fixed.
 *
 *	kvload PORT CONNECTIONS REQUESTS [THINK_US]      on 127.0.0.1; REQUESTS in all
 *
 * Threads: one per connection, each writing only its own `struct connection`; main reads them after
 * they are joined.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum {
	CONNECTIONS_MAX = 64,
	REQUESTS_MAX = 10000000,
	TEXT_BYTES = 256,
	KEYS = 32,
	ANSWER_SECONDS_MAX = 30
};

struct connection {
	pthread_t thread;
	unsigned number;
	uint16_t port;
	size_t requests, wrong;
	struct timespec think;
	uint64_t *latency_ns; /* one per request */
};

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int connect_to(uint16_t port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct timeval limit = { .tv_sec = ANSWER_SECONDS_MAX };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
		return fd;
	perror("kvload: connect");
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Sends a request and reads as many bytes as the right answer has; 1 when the answer is another. */
static size_t exchange(int fd, const char *request, const char *expected)
{
	char answer[TEXT_BYTES];
	size_t expected_bytes = strlen(expected), have_bytes = 0;
	if (send(fd, request, strlen(request), MSG_NOSIGNAL) != (ssize_t)strlen(request))
		return 1;
	while (have_bytes < expected_bytes) {
		ssize_t got = recv(fd, answer + have_bytes, sizeof answer - have_bytes, 0);
		if (got <= 0)
			return 1;
		have_bytes += (size_t)got;
		if (memcmp(answer, expected,
			   have_bytes < expected_bytes ? have_bytes : expected_bytes) != 0)
			return 1;
	}
	return have_bytes != expected_bytes;
}

/* Request number i of a connection: set, get, get, get, and a delete in place of every 64th. */
static size_t request(const struct connection *connection, int fd, size_t i)
{
	char key[64], value[64], line[TEXT_BYTES], expected[TEXT_BYTES];
	size_t round = i / 4;
	snprintf(key, sizeof key, "key-%u-%zu", connection->number, round % KEYS);
	snprintf(value, sizeof value, "value-%u-%zu", connection->number, round);
	snprintf(line, sizeof line, "get %s\r\n", key);
	if (i % 4 == 0) {
		snprintf(line, sizeof line, "set %s 0 0 %zu\r\n%s\r\n", key, strlen(value), value);
		return exchange(fd, line, "STORED\r\n");
	}
	if (i % 64 == 63) {
		snprintf(line, sizeof line, "delete %s\r\n", key);
		return exchange(fd, line, "DELETED\r\n");
	}
	snprintf(expected, sizeof expected, "VALUE %s 0 %zu\r\n%s\r\nEND\r\n", key, strlen(value),
		 value);
	return exchange(fd, line, expected);
}

static void *connection_main(void *argument)
{
	struct connection *connection = argument;
	int fd = connect_to(connection->port);
	connection->wrong = fd < 0;
	for (size_t i = 0; i < connection->requests && !connection->wrong; i++) {
		uint64_t begin_ns = now_ns();
		connection->wrong = request(connection, fd, i);
		connection->latency_ns[i] = now_ns() - begin_ns;
		if (connection->think.tv_nsec)
			nanosleep(&connection->think, NULL);
	}
	if (fd >= 0)
		close(fd);
	return NULL;
}

static int compare_ns(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
	return (left > right) - (left < right);
}

static void print_figures(uint64_t *latency_ns, size_t count, uint64_t took_ns)
{
	qsort(latency_ns, count, sizeof *latency_ns, compare_ns);
	printf("%zu requests in %.3f s: %.0f a second, p50 %.3f ms, p99 %.3f ms\n", count,
	       (double)took_ns / 1e9, (double)count * 1e9 / (double)took_ns,
	       (double)latency_ns[count / 2] / 1e6, (double)latency_ns[count * 99 / 100] / 1e6);
}

/* An argument as a number in [least, most]; -1 when it is not one. */
static long number(const char *text, long least, long most)
{
	char *end;
	long value = strtol(text, &end, 10);
	return *text && !*end && value >= least && value <= most ? value : -1;
}

int main(int argc, char **argv)
{
	static struct connection connections[CONNECTIONS_MAX];
	bool is_complete = argc == 4 || argc == 5;
	long port = is_complete ? number(argv[1], 1, 65535) : -1;
	long count = is_complete ? number(argv[2], 1, CONNECTIONS_MAX) : -1;
	long requests = is_complete ? number(argv[3], 1, REQUESTS_MAX) : -1;
	long think_us = argc == 5 ? number(argv[4], 0, 999999) : 0;
	if (port < 0 || count < 0 || requests < count || think_us < 0) {
		fprintf(stderr, "usage: kvload PORT CONNECTIONS REQUESTS [THINK_US]\n");
		return 2;
	}
	size_t each = (size_t)(requests / count), wrong = 0;
	uint64_t *latency_ns = calloc(each * (size_t)count, sizeof *latency_ns);
	if (!latency_ns)
		return 1;
	uint64_t begin_ns = now_ns();
	for (long i = 0; i < count; i++) {
		struct connection *c = &connections[i];
		*c = (struct connection){
			.number = (unsigned)i,
			.port = (uint16_t)port,
			.requests = each,
			.think = { .tv_nsec = think_us * 1000 },
			.latency_ns = latency_ns + (size_t)i * each,
		};
		if (pthread_create(&c->thread, NULL, connection_main, c) != 0)
			abort();
	}
	for (long i = 0; i < count; i++) {
		pthread_join(connections[i].thread, NULL);
		wrong += connections[i].wrong;
	}
	if (wrong)
		fprintf(stderr, "kvload: %zu connections had a wrong or no answer\n", wrong);
	else
		print_figures(latency_ns, each * (size_t)count, now_ns() - begin_ns);
	free(latency_ns);
	return wrong > 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: exit status 0 and one line of figures; 1 when any answer was missing.
 *
 * An open-loop load, and the server that it asks. A question is a number: the server sleeps so
 * many microseconds, and answers with the same. Each connection has a timetable with a
 * question every EVERY_US. It sends none before the answer to the last one has come, unless it is
 * told to send ahead. Latencies are printed from the time at which a question was due, and from
 * that at which it was sent.
 *
 *	timetable serve PORT             on 127.0.0.1, a thread a connection, until SIGTERM
 *	timetable PORT CONNECTIONS REQUESTS EVERY_US WORK_US SLOW_US [ahead]
 *
 * One question in SLOW_ONE_IN takes SLOW_US, all others WORK_US. Threads: one a connection, and one
 * more that sends ahead; each writes only its own members of `struct connection`.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 64, SLOW_ONE_IN = 40, LINE_BYTES = 16, ARGUMENTS = 7 };

struct connection {
	pthread_t thread;
	uint64_t start_ns, every_ns;
	uint32_t number, requests, missing;
	uint32_t work_us, slow_us;
	int fd;
	bool is_ahead;
	uint64_t *sent_ns, *due_ns; /* latencies: one a request */
	uint64_t *at_ns;            /* when each was sent */
};

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void sleep_until(uint64_t at_ns)
{
	const struct timespec at = { .tv_sec = (time_t)(at_ns / 1000000000),
				     .tv_nsec = (long)(at_ns % 1000000000) };
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) != 0)
		;
}

static struct sockaddr_in address_of(uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons(port),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

/* Each answer is sent as it is ready, though others are not acknowledged. */
static void send_at_once(int fd)
{
	int one = 1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

/* --- the server --- */

/* A whole line, and no more, as a client may be ahead. False: it has hung up. */
static bool read_line(int fd, char line[LINE_BYTES])
{
	bool is_whole = recv(fd, line, LINE_BYTES, MSG_WAITALL) == LINE_BYTES;
	line[LINE_BYTES - 1] = '\0';
	return is_whole;
}

static void *serve_one(void *argument)
{
	int fd = (int)(intptr_t)argument;
	char line[LINE_BYTES];
	send_at_once(fd);
	while (read_line(fd, line)) {
		sleep_until(now_ns() + strtoull(line, NULL, 10) * 1000);
		if (send(fd, line, LINE_BYTES, MSG_NOSIGNAL) != LINE_BYTES)
			break;
	}
	close(fd);
	return NULL;
}

static void quit(int signal)
{
	(void)signal;
	_exit(0);
}

static int serve(uint16_t port)
{
	struct sockaddr_in address = address_of(port);
	socklen_t bytes = sizeof address;
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	signal(SIGTERM, quit);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(fd, (struct sockaddr *)&address, bytes) != 0 || listen(fd, CONNECTIONS_MAX) != 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &bytes) != 0) {
		perror("timetable: listen");
		return 1;
	}
	printf("listening on 127.0.0.1:%d\n", ntohs(address.sin_port));
	fflush(stdout);
	for (;;) {
		pthread_t thread;
		int client = accept(fd, NULL, NULL);
		if (client >= 0 &&
		    pthread_create(&thread, NULL, serve_one, (void *)(intptr_t)client) == 0)
			pthread_detach(thread);
	}
}

/* --- the load --- */

static uint64_t due_ns(const struct connection *connection, uint32_t i)
{
	return connection->start_ns + i * connection->every_ns;
}

static bool ask(struct connection *connection, uint32_t i)
{
	char line[LINE_BYTES];
	bool is_slow = (i + connection->number) % SLOW_ONE_IN == SLOW_ONE_IN - 1;
	snprintf(line, sizeof line, "%*u", LINE_BYTES - 1,
		 is_slow ? connection->slow_us : connection->work_us);
	if (now_ns() < due_ns(connection, i))
		sleep_until(due_ns(connection, i));
	connection->at_ns[i] = now_ns();
	return send(connection->fd, line, LINE_BYTES, MSG_NOSIGNAL) == LINE_BYTES;
}

static void *ask_ahead(void *argument)
{
	struct connection *connection = argument;
	for (uint32_t i = 0; i < connection->requests && ask(connection, i); i++)
		;
	return NULL;
}

static bool await(struct connection *connection, uint32_t i)
{
	char line[LINE_BYTES];
	if (!read_line(connection->fd, line))
		return false;
	uint64_t ns = now_ns();
	connection->sent_ns[i] = ns - connection->at_ns[i];
	connection->due_ns[i] = ns - due_ns(connection, i);
	return true;
}

static void *connection_main(void *argument)
{
	struct connection *connection = argument;
	pthread_t sender;
	uint32_t i = 0;
	if (connection->is_ahead && pthread_create(&sender, NULL, ask_ahead, connection) != 0)
		abort();
	while (i < connection->requests && (connection->is_ahead || ask(connection, i)) &&
	       await(connection, i))
		i++;
	connection->missing = connection->requests - i;
	if (connection->is_ahead)
		pthread_join(sender, NULL);
	close(connection->fd);
	return NULL;
}

static int compare_ns(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
	return (left > right) - (left < right);
}

static double percentile_ms(uint64_t *ns, size_t count, size_t percent)
{
	qsort(ns, count, sizeof *ns, compare_ns);
	return (double)ns[count * percent / 100] / 1e6;
}

static int load(const long *numbers, bool is_ahead)
{
	static struct connection connections[CONNECTIONS_MAX];
	const struct sockaddr_in address = address_of((uint16_t)numbers[0]);
	uint32_t count = (uint32_t)numbers[1], each = (uint32_t)numbers[2] / count;
	uint64_t *ns = calloc((size_t)3 * count * each, sizeof *ns), start_ns = now_ns();
	uint64_t *sent_ns = ns, *from_due_ns = ns + count * each,
		 *at_ns = from_due_ns + count * each;
	size_t missing = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct connection *c = &connections[i];
		*c = (struct connection){ .number = i,
					  .requests = each,
					  .every_ns = (uint64_t)numbers[3] * 1000,
					  .work_us = (uint32_t)numbers[4],
					  .slow_us = (uint32_t)numbers[5],
					  .is_ahead = is_ahead,
					  .sent_ns = sent_ns + i * each,
					  .due_ns = from_due_ns + i * each,
					  .at_ns = at_ns + i * each };
		c->start_ns = start_ns + c->every_ns + i * c->every_ns / count;
		c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		send_at_once(c->fd);
		if (connect(c->fd, (const struct sockaddr *)&address, sizeof address) != 0 ||
		    pthread_create(&c->thread, NULL, connection_main, c) != 0)
			abort();
	}
	for (uint32_t i = 0; i < count; i++) {
		pthread_join(connections[i].thread, NULL);
		missing += connections[i].missing;
	}
	printf("%u requests, p50 %.3f ms, p99 %.3f ms, from when they were due p50 %.3f ms, "
	       "p99 %.3f ms\n",
	       count * each, percentile_ms(sent_ns, count * each, 50),
	       percentile_ms(sent_ns, count * each, 99),
	       percentile_ms(from_due_ns, count * each, 50),
	       percentile_ms(from_due_ns, count * each, 99));
	free(ns);
	return missing > 0;
}

int main(int argc, char **argv)
{
	long numbers[ARGUMENTS - 1];
	bool is_ahead = argc == ARGUMENTS + 1 && strcmp(argv[ARGUMENTS], "ahead") == 0;
	if (argc == 3 && strcmp(argv[1], "serve") == 0)
		return serve((uint16_t)atoi(argv[2]));
	bool is_good = argc == ARGUMENTS || is_ahead;
	for (int i = 1; i < ARGUMENTS && is_good; i++) {
		char *end;
		numbers[i - 1] = strtol(argv[i], &end, 10);
		is_good = *argv[i] && !*end && numbers[i - 1] > 0;
	}
	if (!is_good || numbers[1] > CONNECTIONS_MAX || numbers[2] < numbers[1]) {
		fprintf(stderr,
			"usage: timetable serve PORT\n       timetable PORT CONNECTIONS REQUESTS "
			"EVERY_US WORK_US SLOW_US [ahead]\n");
		return 2;
	}
	return load(numbers, is_ahead);
}

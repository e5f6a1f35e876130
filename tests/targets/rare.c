/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: one request in fifty is slow, because `rebuild` was asked for 980 levels or
 * more.
 *
 * A server on 127.0.0.1 that answers each line, a number of levels, when it has rebuilt so many.
 * It has a thread for each connection. Deep trees go to a slow disk, which a sleep stands for.
 *
 *	rare PORT              PORT 0: a free one; prints `listening on PORT`
 *	rare load PORT         four clients that ask until they are ended
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CLIENTS = 4, LEVELS = 1000, DEEP = 980, LINE_BYTES = 32, NODES = 2000, THINK_US = 500 };

static volatile unsigned nodes;

static __attribute__((noinline)) int rebuild(int depth)
{
	for (int i = 0; i < NODES; i++)
		nodes += (unsigned)(i * depth);
	if (depth >= DEEP)
		usleep(20000);
	return depth + 1;
}

static bool exchange(int fd, char *line, bool asks)
{
	size_t used = 0;

	if (asks && write(fd, line, strlen(line)) < 0)
		return false;
	while (used + 1 < LINE_BYTES) {
		if (read(fd, line + used, 1) != 1)
			return false;
		if (line[used++] == '\n')
			break;
	}
	line[used] = '\0';
	return true;
}

static void *serve(void *argument)
{
	int fd = (int)(intptr_t)argument;
	char line[LINE_BYTES];

	while (exchange(fd, line, false)) {
		int levels = rebuild(atoi(line));
		int length = snprintf(line, sizeof(line), "%d\n", levels);

		if (write(fd, line, (size_t)length) != length)
			break;
	}
	close(fd);
	return NULL;
}

static struct sockaddr_in address_of(const char *port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons((uint16_t)atoi(port)),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static void *ask(void *argument)
{
	struct sockaddr_in address = *(const struct sockaddr_in *)argument;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	unsigned seed = (unsigned)gettid();
	char line[LINE_BYTES];

	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		return NULL;
	do {
		usleep(THINK_US);
		snprintf(line, sizeof(line), "%d\n", rand_r(&seed) % LEVELS);
	} while (exchange(fd, line, true));
	return NULL;
}

static int load(const char *port)
{
	struct sockaddr_in address = address_of(port);
	pthread_t threads[CLIENTS];

	for (int i = 0; i < CLIENTS; i++)
		pthread_create(&threads[i], NULL, ask, &address);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

int main(int count, char **arguments)
{
	if (count == 3 && strcmp(arguments[1], "load") == 0)
		return load(arguments[2]);
	struct sockaddr_in address = address_of(count > 1 ? arguments[1] : "0");
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 16) != 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &size) != 0) {
		perror("rare");
		return 1;
	}
	printf("listening on %d\n", ntohs(address.sin_port));
	fflush(stdout);
	for (;;) {
		pthread_t thread;
		int fd = accept(listener, NULL, NULL);

		if (fd >= 0 && pthread_create(&thread, NULL, serve, (void *)(intptr_t)fd) == 0)
			pthread_detach(thread);
	}
}

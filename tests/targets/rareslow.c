/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server of which one request in EVERY is slow: `rareslow REQUESTS [mark]` (0 = for ever).
 *
 * Each request uses CPU time in usual_work(), a slow one also in slow_branch(), 20 times as much.
 * Two connections, a thread each; their client is a child process. With `mark` each request is an
 * op of wcprof.h.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "wcprof.h"

enum { CONNECTIONS = 2, EVERY = 40, USUAL_US = 200, SLOW_US = 4000 };

static int marks;

static uint64_t cpu_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static inline __attribute__((always_inline)) void burn(uint64_t us)
{
	static volatile uint64_t sink;

	for (uint64_t end = cpu_us() + us; cpu_us() < end;)
		for (int i = 0; i < 2000; i++)
			sink = sink + (uint64_t)i;
}

static __attribute__((noinline)) int usual_work(int number)
{
	burn(USUAL_US);
	return number + 1;
}

static __attribute__((noinline)) int slow_branch(int number)
{
	burn(SLOW_US);
	return number + 2;
}

/* Called with and without the slow branch. */
static __attribute__((noinline)) int answer(int number)
{
	wcprof_op op = marks ? wcprof_begin("answer", NULL) : 0;
	int result = usual_work(number);

	if (number % EVERY == EVERY - 1)
		result += slow_branch(number);
	wcprof_end(op, WCPROF_OK, 0);
	return result;
}

static void *serve(void *argument)
{
	int connection = (int)(intptr_t)argument, number;

	while (read(connection, &number, sizeof(number)) == (ssize_t)sizeof(number)) {
		number = answer(number);
		if (write(connection, &number, sizeof(number)) != (ssize_t)sizeof(number))
			break;
	}
	close(connection);
	return NULL;
}

static int ask(const struct sockaddr_in *address, long requests)
{
	int sockets[CONNECTIONS];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < CONNECTIONS; i++) {
		sockets[i] = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(sockets[i], (const struct sockaddr *)address, sizeof(*address)) != 0)
			return 1;
	}
	for (long n = 0; requests == 0 || n < requests; n++) {
		int number = (int)(n % 1000000000), got;
		int to = sockets[n % CONNECTIONS];

		if (write(to, &number, sizeof(number)) != (ssize_t)sizeof(number) ||
		    read(to, &got, sizeof(got)) != (ssize_t)sizeof(got))
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t bytes = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0), status = 0;
	pthread_t threads[CONNECTIONS];
	pid_t child;

	if (argc < 2)
		return 2;
	marks = argc > 2 && strcmp(argv[2], "mark") == 0;
	if (bind(listener, (struct sockaddr *)&address, bytes) != 0 ||
	    listen(listener, CONNECTIONS) != 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &bytes) != 0) {
		perror("rareslow");
		return 1;
	}
	child = fork();
	if (child == 0)
		_exit(ask(&address, atol(argv[1])));
	for (int i = 0; i < CONNECTIONS; i++)
		pthread_create(&threads[i], NULL, serve,
			       (void *)(intptr_t)accept(listener, NULL, NULL));
	puts("ready");
	fflush(stdout);
	for (int i = 0; i < CONNECTIONS; i++)
		pthread_join(threads[i], NULL);
	waitpid(child, &status, 0);
	return status != 0;
}

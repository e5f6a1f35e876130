/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expected: a reader waits for its writer's bytes and a writer for room, so the slower side
 * decides. In a closed loop (echo, echotcp, epoll) request and service add up and work after the
 * answer is free.
 *
 * Patterns in which threads hand bytes to each other through the kernel. The comment above each
 * says which pieces matter. Descriptors are made before the threads start; each end has one
 * owner, but the pool's pipe, whose messages are small enough to be read whole. Not here: locks
 * and conditions; the bytes must be what carries the hand-over.
 */
#include "truth.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum {
	CLIENTS = 4,
	PAGE_BYTES = 1024,   /* of backpressure: the pipe takes four */
	PIPE_BYTES = 4096,   /* the least that Linux gives */
	RECORD_BYTES = 1000, /* of partial: written in two parts, read in mouthfuls */
	HEAD_BYTES = 600,
	MOUTHFUL_BYTES = 300,
	SLOW_JOB_EVERY = 7,
	WORKERS = 4
};

static int ends[2];

static void write_all(int fd, const void *bytes, size_t count)
{
	if (write(fd, bytes, count) != (ssize_t)count)
		die(strerror(errno), "write");
}

/* pipepool: jobs come through one pipe; whoever reads a number does that job. */
static void *worker(void *unused UNUSED)
{
	int job;

	while (read(ends[0], &job, sizeof(job)) == sizeof(job) && job >= 0) {
		if (job % SLOW_JOB_EVERY == 3)
			work_b();
		else
			work_a();
	}
	return NULL;
}

static void pipepool(void)
{
	long jobs = count_of("T_N");

	if (pipe(ends))
		die(strerror(errno), "pipe");
	start_many(WORKERS, worker);
	for (int job = 0; job < jobs; job++) {
		work_c();
		write_all(ends[1], &job, sizeof(job));
	}
	for (int i = 0, end = -1; i < WORKERS; i++)
		write_all(ends[1], &end, sizeof(end));
	join_all();
}

/* echo, echotcp: request (work_a), service (work_b), and after the answer what nobody waits for. */
static void *echo_client(void *unused UNUSED)
{
	char letter = 'x';

	for (long i = count_of("T_N"); i > 0; i--) {
		work_a();
		write_all(ends[0], &letter, 1);
		if (read(ends[0], &letter, 1) != 1)
			die("no answer", "read");
	}
	return NULL;
}

static void echo_serve(void)
{
	char letter;

	start(echo_client, 0);
	for (long i = count_of("T_N"); i > 0; i--) {
		if (read(ends[1], &letter, 1) != 1)
			die("no request", "read");
		work_b();
		write_all(ends[1], &letter, 1);
		work_c();
	}
	join_all();
}

static void echo(void)
{
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		die(strerror(errno), "socketpair");
	echo_serve();
}

static void echotcp(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&address, &length))
		die(strerror(errno), "listen");
	ends[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(ends[0], (struct sockaddr *)&address, length))
		die(strerror(errno), "connect");
	ends[1] = accept(listener, NULL, NULL);
	setsockopt(ends[0], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(ends[1], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	echo_serve();
}

/*
 * backpressure: the writer (work_a) is kept waiting by a full pipe, so the reader (work_b)
 * decides.
 */
static void *page_reader(void *unused UNUSED)
{
	char page[PAGE_BYTES];

	for (long i = count_of("T_N"); i > 0; i--) {
		if (read(ends[0], page, sizeof(page)) != sizeof(page))
			die("a page is cut short", "read");
		work_b();
	}
	return NULL;
}

static void backpressure(void)
{
	static const char page[PAGE_BYTES];

	if (pipe(ends) || fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES) != PIPE_BYTES)
		die(strerror(errno), "pipe");
	start(page_reader, 0);
	for (long i = count_of("T_N"); i > 0; i--) {
		work_a();
		write_all(ends[1], page, sizeof(page));
	}
	join_all();
}

/*
 * partial: a record comes in two parts (after work_a and work_c) and is read in four (then
 * work_b).
 */
static void *record_reader(void *unused UNUSED)
{
	char mouthful[MOUTHFUL_BYTES];
	ssize_t got;

	for (long i = count_of("T_N"); i > 0; i--) {
		for (size_t left = RECORD_BYTES; left > 0; left -= (size_t)got) {
			got = read(ends[0], mouthful,
				   left < sizeof(mouthful) ? left : sizeof(mouthful));
			if (got <= 0)
				die("a record is cut short", "read");
		}
		work_b();
	}
	return NULL;
}

static void partial(void)
{
	static const char record[RECORD_BYTES];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		die(strerror(errno), "socketpair");
	start(record_reader, 0);
	for (long i = count_of("T_N"); i > 0; i--) {
		work_a();
		write_all(ends[1], record, HEAD_BYTES);
		work_c();
		write_all(ends[1], record, RECORD_BYTES - HEAD_BYTES);
	}
	join_all();
}

/* epoll: one thread serves (work_b) four clients that think (work_a) between answer and request. */
static void *thinker(void *connection)
{
	int fd = (int)(long)connection;
	char letter = 'x';

	for (long i = count_of("T_N"); i > 0; i--) {
		work_a();
		write_all(fd, &letter, 1);
		if (read(fd, &letter, 1) != 1)
			die("no answer", "read");
	}
	close(fd);
	return NULL;
}

static int serve_one(int fd)
{
	char letter;

	if (read(fd, &letter, 1) != 1) {
		close(fd);
		return 0;
	}
	work_b();
	write_all(fd, &letter, 1);
	return 1;
}

static void epoll(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int poller = epoll_create1(0), living = CLIENTS;

	for (int i = 0; i < CLIENTS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			die(strerror(errno), "socketpair");
		event.data.fd = ends[1];
		epoll_ctl(poller, EPOLL_CTL_ADD, ends[1], &event);
		start(thinker, ends[0]);
	}
	while (living > 0)
		if (epoll_wait(poller, &event, 1, -1) == 1 && !serve_one(event.data.fd))
			living--;
	join_all();
}

int main(int argc, char **argv)
{
	static const struct pattern patterns[] = { { "pipepool", pipepool },
						   { "echo", echo },
						   { "echotcp", echotcp },
						   { "backpressure", backpressure },
						   { "partial", partial },
						   { "epoll", epoll },
						   { NULL, NULL } };

	return truth_main(argc, argv, patterns);
}

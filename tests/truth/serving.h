/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Servers and their clients: what the serve_*.c programs share.
 *
 * A service is one way to write a server. Its clients run as threads beside it
 * (T_CLIENTS=threads), as a process of their own (process), or as one that no profiler is loaded
 * into (outside). They print what their requests took, as they measured it. A server whose
 * clients are another process goes on until SIGTERM or SIGINT.
 *
 * T_K connections each make T_N requests; every T_S-th of them is of the slow kind. Clients are
 * closed: the next request follows the answer, after work_e. With T_M they are open: one request
 * of all every T_M microseconds. T_P requests are sent at once, T_MUX=1 has one thread for all
 * connections, T_UNIX=1 takes a socket of the file system's family. All but K and N may be left
 * out.
 *
 * Threads: a client writes its own times only. A service's threads end with the program.
 */
#ifndef WCPROF_SERVING_H
#define WCPROF_SERVING_H

#include "truth.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

enum {
	REQUEST_BYTES = 32, /* a line of text, filled up with spaces */
	ANSWER_BYTES = 64,
	CONNECTIONS_MAX = 64,
	REQUESTS_MAX = 16384,
	DEPTH_MAX = 32,
	LISTENERS_MAX = 4,
	BACKLOG = 256
};

/* How the clients of a service behave, beside what the environment says. */
enum {
	CLIENTS_SHORT = 1,    /* a connection for each request */
	CLIENTS_GREETED = 2,  /* the server speaks first, then they log in */
	CLIENTS_DATAGRAM = 4, /* datagrams instead of a connection */
	LISTENERS_MANY = 8    /* T_W sockets listen to one port */
};

struct service {
	const char *name;
	void (*begin)(void); /* starts threads or processes, and returns */
	unsigned flags;
	void (*end)(void); /* NULL: the threads end with the program */
};

struct request {
	char text[REQUEST_BYTES];
};

/* The clients' behaviour: read before the first one starts, never written again. */
struct plan {
	long connections, requests, slow_every, depth;
	uint64_t period_ns;
	unsigned flags;
	bool is_multiplexed, is_unix;
	uint64_t begin_ns; /* of the timetable */
};

static struct plan plan;
static pthread_barrier_t gate; /* passed twice: all are connected, all may begin */
static uint64_t taken_ns[REQUESTS_MAX];
static int listeners[LISTENERS_MAX];
static struct sockaddr_storage address;
static socklen_t address_bytes;

static UNUSED void die_if(int failed, const char *call)
{
	if (failed)
		die(strerror(errno), call);
}

/* A count that may be left out. */
static UNUSED long option_of(const char *variable)
{
	return getenv(variable) ? count_of(variable) : 0;
}

static UNUSED void start_detached(routine *body, long argument)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, body, (void *)argument))
		die("cannot start another thread", "start_detached");
	pthread_detach(thread);
}

/* Both ends of a connection. */

static UNUSED bool read_all(int fd, void *bytes, size_t count)
{
	size_t done = 0;

	while (done < count) {
		ssize_t got = read(fd, (char *)bytes + done, count - done);

		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

static UNUSED void write_all(int fd, const void *bytes, size_t count)
{
	for (size_t done = 0; done < count;) {
		ssize_t put = write(fd, (const char *)bytes + done, count - done);

		die_if(put < 0, "write");
		done += (size_t)put;
	}
}

static UNUSED void send_at_once(int fd)
{
	int one = 1;

	if (!plan.is_unix)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

/* The server's side. */

static UNUSED int accept_next(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd >= 0)
		send_at_once(fd);
	return fd;
}

static UNUSED bool request_read(int fd, struct request *request)
{
	return read_all(fd, request->text, sizeof(request->text));
}

static UNUSED bool is_slow(const struct request *request)
{
	return request->text[0] == 'P';
}

static UNUSED void answer(int fd)
{
	static const char text[ANSWER_BYTES] = "200 OK, and the value that was asked for";

	write_all(fd, text, sizeof(text));
}

/* A thread accepts, and starts one for each connection. */
static UNUSED void (*threaded_serve)(const struct request *);

static UNUSED void *threaded_handler(void *argument)
{
	int fd = (int)(long)argument;
	struct request request;

	while (request_read(fd, &request)) {
		threaded_serve(&request);
		answer(fd);
	}
	close(fd);
	return NULL;
}

static UNUSED void *threaded_acceptor(void *unused UNUSED)
{
	for (int fd; (fd = accept_next(listeners[0])) >= 0;)
		start_detached(threaded_handler, fd);
	return NULL;
}

static UNUSED void serve_threaded(void (*serve)(const struct request *))
{
	threaded_serve = serve;
	start_detached(threaded_acceptor, 0);
}

static UNUSED int listen_to(const struct sockaddr *to, socklen_t bytes, int type)
{
	int fd = socket(to->sa_family, type | SOCK_CLOEXEC, 0), one = 1;

	die_if(fd < 0, "socket");
	if (!plan.is_unix)
		setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
	die_if(bind(fd, to, bytes), "bind");
	die_if(type == SOCK_STREAM && listen(fd, BACKLOG), "listen");
	return fd;
}

static UNUSED void listen_all(void)
{
	int type = plan.flags & CLIENTS_DATAGRAM ? SOCK_DGRAM : SOCK_STREAM;
	long count = plan.flags & LISTENERS_MANY ? count_of("T_W") : 1;
	struct sockaddr_in port = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_un name = { .sun_family = AF_UNIX }; /* the kernel gives it one */

	for (long i = 0; i < count; i++) {
		if (i)
			listeners[i] = listen_to((struct sockaddr *)&address, address_bytes, type);
		else if (plan.is_unix)
			listeners[i] =
				listen_to((struct sockaddr *)&name, sizeof(sa_family_t), type);
		else
			listeners[i] = listen_to((struct sockaddr *)&port, sizeof(port), type);
		address_bytes = sizeof(address);
		die_if(getsockname(listeners[i], (struct sockaddr *)&address, &address_bytes),
		       "getsockname");
	}
}

/* The clients' side. */

static UNUSED int connection_open(void)
{
	int type = plan.flags & CLIENTS_DATAGRAM ? SOCK_DGRAM : SOCK_STREAM;
	int fd = socket(address.ss_family, type | SOCK_CLOEXEC, 0);
	char text[ANSWER_BYTES];

	die_if(fd < 0 || connect(fd, (struct sockaddr *)&address, address_bytes), "connect");
	if (type == SOCK_STREAM)
		send_at_once(fd);
	if (plan.flags & CLIENTS_GREETED) {
		struct request login = { "USER somebody" };

		if (!read_all(fd, text, sizeof(text)))
			die("no greeting", "read");
		write_all(fd, &login, sizeof(login));
		if (!read_all(fd, text, sizeof(text)))
			die("not let in", "read");
	}
	return fd;
}

static UNUSED struct request request_of(long rank, long i)
{
	bool slow = plan.slow_every && (i + 5 * rank) % plan.slow_every == plan.slow_every - 1;
	struct request request;
	int length = snprintf(request.text, REQUEST_BYTES, "%s /item/%06ld", slow ? "PUT" : "GET",
			      (rank * plan.requests + i) % 1000000);

	memset(request.text + length, ' ', REQUEST_BYTES - (size_t)length);
	request.text[REQUEST_BYTES - 1] = '\n';
	return request;
}

/* When the i-th request of a connection is due on the timetable. */
static UNUSED uint64_t due_at(long rank, long i)
{
	long turn = i / plan.depth * plan.connections + rank;

	return plan.begin_ns + (uint64_t)turn * plan.period_ns * (uint64_t)plan.depth;
}

static UNUSED void send_requests(int fd, long rank, long from)
{
	struct request requests[DEPTH_MAX];

	for (long i = 0; i < plan.depth; i++)
		requests[i] = request_of(rank, from + i);
	write_all(fd, requests, (size_t)plan.depth * sizeof(*requests));
}

/* Takes what has come of the answers; returns how many bytes that makes of them. */
static UNUSED size_t take_answers(int fd, long rank, long from, size_t had, uint64_t asked_ns)
{
	char text[DEPTH_MAX * ANSWER_BYTES];
	ssize_t got = read(fd, text, (size_t)plan.depth * ANSWER_BYTES - had);
	uint64_t now = now_ns();

	if (got <= 0)
		die("no answer", "read");
	for (size_t i = had / ANSWER_BYTES; i < (had + (size_t)got) / ANSWER_BYTES; i++)
		taken_ns[rank * plan.requests + from + (long)i] = now - asked_ns;
	return had + (size_t)got;
}

static UNUSED void ask(int fd, long rank, long from, uint64_t asked_ns)
{
	size_t had = 0;

	send_requests(fd, rank, from);
	while (had < (size_t)plan.depth * ANSWER_BYTES)
		had = take_answers(fd, rank, from, had, asked_ns);
}

static UNUSED void think(void)
{
	if (work_e_piece.what != PIECE_UNSET)
		work_e();
}

static UNUSED void *client(void *argument)
{
	long rank = (long)argument;
	bool is_short = plan.flags & CLIENTS_SHORT;
	int fd = is_short ? -1 : connection_open();

	pthread_barrier_wait(&gate);
	pthread_barrier_wait(&gate);
	for (long i = 0; i < plan.requests; i += plan.depth) {
		struct timespec due = to_timespec(due_at(rank, i));
		uint64_t asked_ns;

		if (plan.period_ns)
			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
		asked_ns = now_ns();
		if (is_short)
			fd = connection_open();
		ask(fd, rank, i, asked_ns);
		if (is_short)
			close(fd);
		think();
	}
	return NULL;
}

/* One connection of a client that has many. */
struct dialogue {
	long next;         /* number of its next request */
	size_t had;        /* bytes of answers */
	uint64_t asked_ns; /* 0: nothing is asked */
	uint64_t due_ns;
};

static UNUSED uint64_t next_due(long rank, const struct dialogue *dialogue)
{
	const struct timespec *pause = &work_e_piece.request;

	if (plan.period_ns)
		return due_at(rank, dialogue->next);
	return now_ns() + (uint64_t)pause->tv_sec * NS_PER_S + (uint64_t)pause->tv_nsec;
}

/* Asks what is due; returns when the next one is, of those that wait for no answer. */
static UNUSED uint64_t ask_due(const struct pollfd *set, struct dialogue *dialogues)
{
	uint64_t soonest_ns = UINT64_MAX;

	for (long k = 0; k < plan.connections; k++) {
		struct dialogue *dialogue = &dialogues[k];

		if (dialogue->asked_ns || dialogue->next == plan.requests)
			continue;
		if (dialogue->due_ns <= now_ns()) {
			dialogue->asked_ns = now_ns();
			send_requests(set[k].fd, k, dialogue->next);
		} else if (dialogue->due_ns < soonest_ns) {
			soonest_ns = dialogue->due_ns;
		}
	}
	return soonest_ns;
}

/* True: all that was asked is answered. */
static UNUSED bool hear(int fd, long rank, struct dialogue *dialogue)
{
	dialogue->had = take_answers(fd, rank, dialogue->next, dialogue->had, dialogue->asked_ns);
	if (dialogue->had < (size_t)plan.depth * ANSWER_BYTES)
		return false;
	dialogue->next += plan.depth;
	dialogue->had = 0;
	dialogue->asked_ns = 0;
	dialogue->due_ns = next_due(rank, dialogue);
	return true;
}

static UNUSED void *client_of_many(void *unused UNUSED)
{
	struct pollfd set[CONNECTIONS_MAX];
	struct dialogue dialogues[CONNECTIONS_MAX] = { { .next = 0 } };
	long left = plan.connections * (plan.requests / plan.depth);

	for (long k = 0; k < plan.connections; k++)
		set[k] = (struct pollfd){ connection_open(), POLLIN, 0 };
	pthread_barrier_wait(&gate);
	pthread_barrier_wait(&gate);
	for (long k = 0; plan.period_ns && k < plan.connections; k++)
		dialogues[k].due_ns = due_at(k, 0);
	while (left > 0) {
		uint64_t due_ns = ask_due(set, dialogues), now = now_ns();
		struct timespec limit = to_timespec(due_ns > now ? due_ns - now : 0);
		int found = ppoll(set, (nfds_t)plan.connections,
				  due_ns == UINT64_MAX ? NULL : &limit, NULL);

		for (long k = 0; found > 0 && k < plan.connections; k++)
			if (set[k].revents)
				left -= hear(set[k].fd, k, &dialogues[k]);
	}
	return NULL;
}

static UNUSED void clients_run(void)
{
	long sources = plan.is_multiplexed ? 1 : plan.connections;
	size_t count = (size_t)(plan.connections * plan.requests);
	uint64_t spent_ns;

	pthread_barrier_init(&gate, NULL, (unsigned)sources + 1);
	start_many(sources, plan.is_multiplexed ? client_of_many : client);
	pthread_barrier_wait(&gate);
	plan.begin_ns = now_ns();
	pthread_barrier_wait(&gate);
	join_all();
	spent_ns = now_ns() - plan.begin_ns;
	snprintf(figures, sizeof(figures), "makespan_ns %lu throughput %.1f",
		 (unsigned long)spent_ns, (double)count * NS_PER_S / (double)spent_ns);
	report_latencies(taken_ns, count);
	printf("%s\n", figures);
	fflush(stdout);
}

/* This program again, as clients only; they find the server by T_ADDRESS. */
static UNUSED void clients_spawn(char **argv, bool is_outside)
{
	char text[2 * sizeof(address) + 1] = "", path[PATH_MAX] = "";
	const unsigned char *bytes = (const unsigned char *)&address;
	pid_t child;

	for (size_t i = 0; i < address_bytes; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	setenv("T_ADDRESS", text, 1);
	if (is_outside)
		unsetenv("LD_PRELOAD");
	die_if(readlink("/proc/self/exe", path, sizeof(path) - 1) < 0, "readlink");
	die_if(posix_spawn(&child, path, NULL, NULL, argv, environ), "posix_spawn");
}

static UNUSED bool address_read(void)
{
	const char *text = getenv("T_ADDRESS");
	unsigned byte;

	for (; text && sscanf(text + 2 * address_bytes, "%2x", &byte) == 1; address_bytes++)
		((unsigned char *)&address)[address_bytes] = (unsigned char)byte;
	return text != NULL;
}

static UNUSED void plan_read(unsigned flags)
{
	plan = (struct plan){ .connections = count_of("T_K"),
			      .requests = count_of("T_N"),
			      .slow_every = option_of("T_S"),
			      .depth = option_of("T_P"),
			      .period_ns = (uint64_t)option_of("T_M") * NS_PER_US,
			      .flags = flags,
			      .is_multiplexed = option_of("T_MUX"),
			      .is_unix = option_of("T_UNIX") };
	if (!plan.depth)
		plan.depth = 1;
	if (plan.connections > CONNECTIONS_MAX || plan.depth > DEPTH_MAX ||
	    plan.connections * plan.requests > REQUESTS_MAX || plan.requests % plan.depth)
		die("are too many, or no multiple of T_P", "T_K, T_N or T_P");
}

/* A server's process lives until somebody ends it. */
static UNUSED sigset_t ends(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	return set;
}

static UNUSED void ends_block(void)
{
	sigset_t set = ends();

	sigprocmask(SIG_BLOCK, &set, NULL);
}

static UNUSED void end_await(void)
{
	sigset_t set = ends();
	int number;

	sigwait(&set, &number);
}

static UNUSED int serving_main(int argc, char **argv, const struct service *services)
{
	const char *where = getenv("T_CLIENTS");
	const struct service *service = services;
	bool has_threads = where && !strcmp(where, "threads");

	while (service->name && (argc < 2 || strcmp(service->name, argv[1])))
		service++;
	if (!service->name)
		die("no such service; see tests/truth/truth.def", argc < 2 ? "" : argv[1]);
	pieces_read();
	plan_read(service->flags);
	if (address_read()) {
		clients_run();
		return 0;
	}
	if (!where)
		die("must be threads, process or outside", "T_CLIENTS");
	ends_block();
	listen_all();
	if (!has_threads)
		clients_spawn(argv, !strcmp(where, "outside"));
	service->begin();
	if (has_threads)
		clients_run();
	else
		end_await();
	if (service->end)
		service->end();
	return 0;
}

#endif

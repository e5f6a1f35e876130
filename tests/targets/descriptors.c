/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: each op says what its descriptor is, as the lines of $WCPROF_DIR/PID.expected
 * say, also when the number was another thing's before. The lines come from /proc, fstat and
 * getsockname.
 */
#include "scenario.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>

enum { IDENT_SIZE = 300 };

struct ident {
	char text[IDENT_SIZE];
};

static FILE *expected;
static char byte = 'x';

/* By stdio, which no op comes from. */
static void begin_to_expect(void)
{
	char path[4200];
	const char *directory = getenv("WCPROF_DIR");

	snprintf(path, sizeof(path), "%s/%d.expected", directory ? directory : "/tmp", getpid());
	expected = fopen(path, "we");
	if (!expected)
		abort();
}

static void expect(const char *call, struct ident ident, bool is_accepted)
{
	fprintf(expected, "%s %s%s\n", call, is_accepted ? "accepted " : "", ident.text);
}

static void expect_accept(struct ident listener, struct ident connection)
{
	fprintf(expected, "accept %s of %s\n", connection.text, listener.text);
}

static struct ident named(const char *text)
{
	struct ident ident;
	snprintf(ident.text, sizeof(ident.text), "%s", text);
	return ident;
}

/* /proc calls them pipes. */
static struct ident linked(int fd)
{
	struct ident ident = { "" };
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (readlink(path, ident.text, sizeof(ident.text) - 1) < 0)
		abort();
	return ident;
}

static unsigned long inode(int fd)
{
	struct stat status;
	if (fstat(fd, &status) != 0)
		abort();
	return status.st_ino;
}

static struct ident paired(const char *type, int fd, int other)
{
	struct ident ident;
	snprintf(ident.text, sizeof(ident.text), "%s:[%lu]>[%lu]", type, inode(fd), inode(other));
	return ident;
}

typedef int name_call(int, struct sockaddr *restrict, socklen_t *restrict);

static void put_end(char *text, size_t size, int fd, name_call *name)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} address;
	socklen_t bytes = sizeof(address);
	char host[INET6_ADDRSTRLEN] = "";

	if (name(fd, &address.any, &bytes) != 0)
		abort();
	bool is_v6 = address.any.sa_family == AF_INET6;
	inet_ntop(address.any.sa_family,
		  is_v6 ? (void *)&address.v6.sin6_addr : (void *)&address.v4.sin_addr, host,
		  sizeof(host));
	snprintf(text, size, is_v6 ? "[%s]:%d" : "%s:%d", host, ntohs(address.v4.sin_port));
}

static struct ident connected(int fd)
{
	struct ident ident;
	char local[100], peer[100];
	put_end(local, sizeof(local), fd, getsockname);
	put_end(peer, sizeof(peer), fd, getpeername);
	snprintf(ident.text, sizeof(ident.text), "tcp %s>%s", local, peer);
	return ident;
}

static struct ident listening(int fd)
{
	struct ident ident;
	char local[100];
	put_end(local, sizeof(local), fd, getsockname);
	snprintf(ident.text, sizeof(ident.text), "tcp listen %s", local);
	return ident;
}

/* --- One op each -------------------------------------------------------------------------- */

static void do_write(int fd, struct ident ident)
{
	say_errno("write", write(fd, &byte, 1));
	expect("write", ident, false);
}

static void do_read(int fd, struct ident ident)
{
	char data[8];
	printf("read %d\n", read(fd, data, sizeof(data)) > 0);
	expect("read", ident, false);
}

static void do_close(int fd, struct ident ident)
{
	say_errno("close", close(fd));
	expect("close", ident, false);
}

static void do_raw_close(int fd, struct ident ident)
{
	say_errno("syscall", syscall(SYS_close, fd));
	expect("close", ident, false);
}

static void check_number(int fd, int wanted)
{
	if (fd != wanted)
		puts("another number than before: nothing is proved");
}

/* Makes a pipe by a way that no hook sees; its reading end is this descriptor. */
static void unseen_pipe(int ends[2], int wanted)
{
	if (syscall(SYS_pipe2, ends, 0) != 0)
		abort();
	check_number(ends[0], wanted);
}

static void unseen_close(int fd)
{
	long result;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(SYS_close), "D"(fd)
			 : "rcx", "r11", "memory");
	say("unseen close", (int)-result);
}

/* --- Scenarios ------------------------------------------------------------------------------ */

static void pipes(void)
{
	int ends[2];
	say_errno("pipe", pipe(ends));
	struct ident ident = linked(ends[0]);
	do_write(ends[1], ident);
	do_read(ends[0], ident);
	do_close(ends[1], ident);
	do_close(ends[0], ident);
}

static void pair(int type, const char *word)
{
	int ends[2];
	say_errno("socketpair", socketpair(AF_UNIX, type, 0, ends));
	do_write(ends[0], paired(word, ends[0], ends[1]));
	do_read(ends[1], paired(word, ends[1], ends[0]));
}

static void pairs(void)
{
	pair(SOCK_STREAM, "unix");
	pair(SOCK_DGRAM, "unix dgram");
	pair(SOCK_SEQPACKET, "unix seqpacket");
}

static int listener_of(int family, struct sockaddr *address, socklen_t *size)
{
	int fd = socket(family, SOCK_STREAM, 0);
	if (fd < 0 || bind(fd, address, *size) != 0 || listen(fd, 8) != 0)
		return -1;
	getsockname(fd, address, size);
	return fd;
}

static void converse(int listener, struct sockaddr *address, socklen_t size, int flags)
{
	int client = socket(address->sa_family, SOCK_STREAM | flags, 0);
	int result = connect(client, address, size);
	printf("connect %d\n", result == 0 || errno == EINPROGRESS);
	int server = accept(listener, NULL, NULL);
	printf("accept %d\n", server >= 0);
	expect("connect", connected(client), false);
	expect_accept(listening(listener), connected(server));
	do_write(client, connected(client));
	printf("recv %zd\n", recv(server, &byte, 1, 0));
	expect("recv", connected(server), true);
	struct ident ident = connected(server);
	close(server);
	expect("close", ident, true);
	do_close(client, connected(client));
}

static void tcp(void)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	socklen_t size = sizeof(v4);

	v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int listener = listener_of(AF_INET, (struct sockaddr *)&v4, &size);
	converse(listener, (struct sockaddr *)&v4, size, 0);
	converse(listener, (struct sockaddr *)&v4, size, SOCK_NONBLOCK);
	size = sizeof(v6);
	listener = listener_of(AF_INET6, (struct sockaddr *)&v6, &size);
	if (listener >= 0)
		converse(listener, (struct sockaddr *)&v6, size, 0);
}

static struct ident through(const char *path, int fd)
{
	struct ident ident;
	snprintf(ident.text, sizeof(ident.text), "unix %.200s#%lu", path, inode(fd));
	return ident;
}

static struct sockaddr_un path_of(const char *role)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/wcprof-target-%d-%s", getpid(),
		 role);
	return address;
}

static void meet(int listener, const struct sockaddr_un *address, int client)
{
	struct ident listens;
	snprintf(listens.text, sizeof(listens.text), "unix listen %s", address->sun_path);
	say_errno("connect", connect(client, (const struct sockaddr *)address, sizeof(*address)));
	expect("connect", through(address->sun_path, client), false);
	int server = accept(listener, NULL, NULL);
	expect_accept(listens, through(address->sun_path, server));
	do_write(client, through(address->sun_path, client));
	printf("recv %zd\n", recv(server, &byte, 1, 0));
	expect("recv", through(address->sun_path, server), true);
}

/* A client without a name, and one with a name of its own. */
static void paths(void)
{
	struct sockaddr_un address = path_of("server");
	struct sockaddr_un own = path_of("client");
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);
	int client = socket(AF_UNIX, SOCK_STREAM, 0);

	bind(listener, (struct sockaddr *)&address, sizeof(address));
	listen(listener, 8);
	meet(listener, &address, client);
	client = socket(AF_UNIX, SOCK_STREAM, 0);
	bind(client, (struct sockaddr *)&own, sizeof(own));
	meet(listener, &address, client);
	unlink(address.sun_path);
	unlink(own.sun_path);
}

/* Another descriptor is put in the place of one that was used. */
static void replaced(void)
{
	int ends[2], others[2];
	say_errno("pipe", pipe(ends));
	do_write(ends[1], linked(ends[1]));
	do_read(ends[0], linked(ends[0]));
	say_errno("pipe", pipe(others));
	do_write(others[1], linked(others[1]));
	check_number(dup2(others[0], ends[0]), ends[0]);
	do_read(ends[0], linked(others[0]));
	check_number(dup3(others[1], ends[1], 0), ends[1]);
	do_write(ends[1], linked(others[1]));
	int copy = fcntl(others[0], F_DUPFD, 100);
	do_read(copy, linked(others[0]));
	say_errno("pipe", pipe(ends));
	check_number((int)syscall(SYS_dup2, ends[1], copy), copy);
	do_write(copy, linked(ends[1]));
}

/* The number of a used descriptor after each way to close it, given out again unseen. */
static void reused(void)
{
	int first[2], next[2];
	say_errno("pipe", pipe(first));
	int fd = first[0];

	do_write(first[1], linked(first[1]));
	do_read(fd, linked(fd));
	do_close(fd, linked(fd));
	unseen_pipe(next, fd);
	do_write(next[1], linked(fd));
	do_read(fd, linked(fd));
	do_raw_close(fd, linked(fd));
	unseen_pipe(next, fd);
	do_write(next[1], linked(fd));
	do_read(fd, linked(fd));
	say_errno("close_range", close_range((unsigned)fd, (unsigned)fd, 0));
	unseen_pipe(next, fd);
	do_write(next[1], linked(fd));
	do_read(fd, linked(fd));
	say_errno("fclose", fclose(fdopen(fd, "r")));
	unseen_pipe(next, fd);
	do_write(next[1], linked(fd));
	do_read(fd, linked(fd));
}

/* Closed by a way that no hook sees; what gives the number out again is seen. */
static void remade(void)
{
	int ends[2], others[2];
	say_errno("pipe", pipe(ends));
	do_write(ends[1], linked(ends[1]));
	do_read(ends[0], linked(ends[0]));
	unseen_close(ends[0]);
	say_errno("pipe", pipe(others));
	check_number(others[0], ends[0]);
	do_write(others[1], linked(others[1]));
	do_read(others[0], linked(others[0]));
	unseen_close(others[0]);
	int fd = open("/dev/null", O_RDWR);
	check_number(fd, others[0]);
	expect("open", named("file /dev/null"), false);
	do_write(fd, named("file /dev/null"));
	unseen_close(fd);
	socketpair(AF_UNIX, SOCK_STREAM, 0, others);
	check_number(others[0], fd);
	do_write(others[0], paired("unix", others[0], others[1]));
}

static void files(void)
{
	int fd = open("/proc/self/stat", O_RDONLY);
	expect("open", named("file /proc/N/stat"), false);
	do_read(fd, named("file /proc/N/stat"));
	do_close(fd, named("file /proc/N/stat"));
	fd = creat("/tmp/wcprof-target-47-of-11", 0600);
	expect("creat", named("file /tmp/wcprof-target-N-of-N"), false);
	unlink("/tmp/wcprof-target-47-of-11");
	do_write(fd, named("file /tmp/wcprof-target-N-of-N"));
	open("/nonexistent", O_RDONLY);
	expect("open", named(""), false);
	say_errno("write", write(12345, &byte, 1));
	expect("write", named(""), false);
}

/* The process's nth eventfd. */
static struct ident counted(pid_t pid, int nth)
{
	struct ident ident;
	snprintf(ident.text, sizeof(ident.text), "eventfd:[%d:%d]", (int)pid, nth);
	return ident;
}

static void others(void)
{
	uint64_t one = 1;
	struct itimerspec soon = { .it_value = { .tv_nsec = 1000 } };
	struct epoll_event event = { .events = EPOLLIN };
	sigset_t signals;
	int first = eventfd(0, 0);
	int second = eventfd(0, 0);

	say_errno("write", write(second, &one, sizeof(one)));
	expect("write", counted(getpid(), 2), false);
	say_errno("write", write(first, &one, sizeof(one)));
	expect("write", counted(getpid(), 1), false);
	int timer = timerfd_create(CLOCK_MONOTONIC, 0);
	expect("timerfd_settime", named("timerfd"), false);
	timerfd_settime(timer, 0, &soon, NULL);
	do_read(timer, named("timerfd"));
	sigemptyset(&signals);
	int handler = signalfd(-1, &signals, SFD_NONBLOCK);
	do_read(handler, named("signalfd"));
	int epoll = epoll_create1(0);
	epoll_ctl(epoll, EPOLL_CTL_ADD, first, &event);
	say_errno("epoll_wait", epoll_wait(epoll, &event, 1, -1));
	expect("epoll_wait", named("epoll"), false);
	struct pollfd set[2] = { { .fd = first, .events = POLLIN }, { .fd = -1 } };
	say_errno("poll", poll(set, 1, -1));
	expect("poll", counted(getpid(), 1), false);
	say_errno("poll", poll(set, 2, 0));
	expect("poll", counted(getpid(), 1), false);
	set[0].fd = -1;
	say_errno("poll", poll(set, 2, 0));
	expect("poll", named(""), false);
}

/* Of several, the first that is ready; of none, nothing is said. */
static void several(void)
{
	int quiet[2], loud[2], louder[2];
	struct timeval no_time = { 0 };
	struct timespec no_time_either = { 0 };
	fd_set readable, writable;

	say_errno("pipe", pipe(quiet));
	say_errno("pipe", pipe(loud));
	say_errno("pipe", pipe(louder));
	do_write(loud[1], linked(loud[1]));
	do_write(louder[1], linked(louder[1]));
	struct pollfd set[3] = { { quiet[0], POLLIN, 0 },
				 { loud[0], POLLIN, 0 },
				 { louder[0], POLLIN, 0 } };
	say_errno("poll", poll(set, 3, 0));
	expect("poll", linked(loud[0]), false);
	say_errno("syscall", (int)syscall(SYS_poll, set, 3, 0));
	expect("poll", linked(loud[0]), false);
	FD_ZERO(&readable);
	FD_SET(quiet[0], &readable);
	FD_SET(louder[0], &readable);
	say_errno("select", select(louder[0] + 1, &readable, NULL, NULL, &no_time));
	expect("select", linked(louder[0]), false);
	FD_ZERO(&writable);
	FD_SET(loud[1], &writable);
	FD_SET(louder[0], &readable);
	int result = pselect(FD_SETSIZE, &readable, &writable, NULL, &no_time_either, NULL);
	say_errno("pselect", result);
	expect("pselect", linked(loud[1]), false);
	FD_ZERO(&readable);
	FD_SET(louder[0], &readable);
	result = (int)syscall(SYS_select, louder[0] + 1, &readable, NULL, NULL, &no_time);
	say_errno("syscall", result);
	expect("select", linked(louder[0]), false);
	FD_ZERO(&readable);
	FD_SET(quiet[0], &readable);
	say_errno("select", select(quiet[0] + 1, &readable, NULL, NULL, &no_time));
	expect("select", named(""), false);
}

/* A child that says what it expects itself. */
static void in_child(void (*work)(int, int), int fd, int other)
{
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		begin_to_expect();
		work(fd, other);
		fclose(expected);
		fflush(NULL);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void answer(int fd, int other)
{
	int unused[2];
	do_read(fd, paired("unix", fd, other));
	do_write(fd, paired("unix", fd, other));
	say_errno("pipe", pipe(unused));
	do_write(unused[1], linked(unused[1]));
}

/* Descriptions are the child's own, what is known of a pair stays. */
static void child(void)
{
	int ends[2];
	say_errno("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	do_write(ends[0], paired("unix", ends[0], ends[1]));
	in_child(answer, ends[1], ends[0]);
	do_read(ends[0], paired("unix", ends[0], ends[1]));
}

static void count(int fd, int copy)
{
	uint64_t one = 1;
	int own = eventfd(0, 0);

	say_errno("write", write(copy, &one, sizeof(one)));
	expect("write", counted(getppid(), 1), false);
	say_errno("write", write(own, &one, sizeof(one)));
	expect("write", counted(getpid(), 3), false);
	say_errno("dup2", dup2(own, fd));
	say_errno("write", write(fd, &one, sizeof(one)));
	expect("write", counted(getpid(), 3), false);
}

/* Descriptors that a child has from its parent are the parent's; those that it makes are its own.
 * */
static void counters(void)
{
	uint64_t one = 1;
	int first = eventfd(0, 0);
	int second = eventfd(0, 0);
	int copy = fcntl(dup(first), F_DUPFD_CLOEXEC, 100);

	say_errno("write", write(second, &one, sizeof(one)));
	expect("write", counted(getpid(), 2), false);
	in_child(count, first, copy);
	say_errno("write", write(first, &one, sizeof(one)));
	expect("write", counted(getpid(), 1), false);
}

static void serve(int server, int listener)
{
	unseen_close(listener);
	printf("read %zd\n", read(server, &byte, 1));
	expect("read", connected(server), true);
}

/* A process for each connection, which does not listen itself. */
static void server(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t size = sizeof(address);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int listener = listener_of(AF_INET, (struct sockaddr *)&address, &size);
	int client = socket(AF_INET, SOCK_STREAM, 0);

	say_errno("connect", connect(client, (struct sockaddr *)&address, size));
	expect("connect", connected(client), false);
	int fd = accept(listener, NULL, NULL);
	expect_accept(listening(listener), connected(fd));
	do_write(client, connected(client));
	in_child(serve, fd, listener);
}

static void run(void (*scenario)(void))
{
	begin_to_expect();
	scenario();
	fclose(expected);
}

#define SCENARIO(name)               \
	static void run_##name(void) \
	{                            \
		run(name);           \
	}
SCENARIO(pipes)
SCENARIO(pairs)
SCENARIO(tcp)
SCENARIO(paths)
SCENARIO(replaced)
SCENARIO(reused)
SCENARIO(remade)
SCENARIO(files)
SCENARIO(others)
SCENARIO(several)
SCENARIO(counters)
SCENARIO(child)
SCENARIO(server)

static const struct scenario scenarios[] = {
	{ "pipes", run_pipes },     { "pairs", run_pairs },       { "tcp", run_tcp },
	{ "paths", run_paths },     { "replaced", run_replaced }, { "reused", run_reused },
	{ "remade", run_remade },   { "files", run_files },       { "others", run_others },
	{ "several", run_several }, { "counters", run_counters }, { "child", run_child },
	{ "server", run_server },
};

SCENARIOS_MAIN

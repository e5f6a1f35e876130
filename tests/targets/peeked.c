/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expected: a server's reads, by whatever call, are told by their first words; a client's are not.
 * No secret is in any recording. One thread is both: it sends, and then reads at the other end.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "scenario.h"

enum { ROOM = 200 };

static int client, server;
/* Full of what nobody has sent. */
static char data[ROOM] = "GET /stale/path HTTP/1.1\r\n";

static void connect_both(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int listening = socket(AF_INET, SOCK_STREAM, 0);

	client = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listening, (struct sockaddr *)&address, size) != 0 || listen(listening, 1) != 0 ||
	    getsockname(listening, (struct sockaddr *)&address, &size) != 0 ||
	    connect(client, (struct sockaddr *)&address, size) != 0)
		abort();
	server = accept(listening, NULL, NULL);
	close(listening);
}

static void ask(const char *request, size_t bytes)
{
	if (send(client, request, bytes, 0) != (ssize_t)bytes)
		abort();
	errno = ERANGE;
}

#define ASK(request) ask(request, sizeof(request) - 1)

/* How it ended: the result, errno, and what is there. */
static void tell(const char *call, long result)
{
	int error = errno;

	printf("%s: %ld %s %.20s\n", call, result, strerrorname_np(error), data);
	fflush(stdout);
}

static void read_by_libc(void)
{
	struct iovec parts[] = { { data, 5 }, { data + 5, ROOM - 5 } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

	ASK("GET /by/read?password=HUNTER2 HTTP/1.1\r\n");
	tell("read", read(server, data, ROOM));
	ASK("GET /by/recv HTTP/1.1\r\nCookie: HUNTER2\r\n");
	tell("recv", recv(server, data, ROOM, 0));
	ASK("GET /by/recvfrom/HUNTER2 HTTP/1.1\r\n");
	tell("recvfrom", recvfrom(server, data, ROOM, 0, NULL, NULL));
	ASK("GET /by/readv HTTP/1.1\r\n");
	tell("readv", readv(server, parts, 2));
	ASK("GET /by/recvmsg HTTP/1.1\r\n");
	tell("recvmsg", recvmsg(server, &message, 0));
}

static void read_by_syscall(void)
{
	struct iovec parts[] = { { data, 7 }, { data + 7, ROOM - 7 } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

	ASK("GET /raw/read HTTP/1.1\r\n");
	tell("raw read", syscall(SYS_read, server, data, ROOM));
	ASK("GET /raw/readv HTTP/1.1\r\n");
	tell("raw readv", syscall(SYS_readv, server, parts, 2));
	ASK("GET /raw/recvfrom HTTP/1.1\r\n");
	tell("raw recvfrom", syscall(SYS_recvfrom, server, data, ROOM, 0, NULL, NULL));
	ASK("GET /raw/recvmsg HTTP/1.1\r\n");
	tell("raw recvmsg", syscall(SYS_recvmsg, server, &message, 0));
}

static void read_in_strange_ways(void)
{
	/* Only the first bytes are this read's. */
	ASK("GET /cu");
	tell("cut", read(server, data, ROOM));
	ASK("GET /peeked HTTP/1.1\r\n");
	tell("MSG_PEEK", recv(server, data, ROOM, MSG_PEEK));
	/* TCP throws them away, and writes to no memory. */
	tell("MSG_TRUNC", recv(server, NULL, ROOM, MSG_TRUNC));
	tell("nothing there", recv(server, data, ROOM, MSG_DONTWAIT));
	ASK("GET /faulty HTTP/1.1\r\n");
	tell("EFAULT", read(server, bad_address(), ROOM));
	tell("after it", read(server, data, ROOM));
	ASK("hello HUNTER2\r\n");
	tell("unknown", read(server, data, ROOM));
}

static void read_other_protocols(void)
{
	ASK("*3\r\n$4\r\nAUTH\r\n$3\r\nann\r\n$7\r\nHUNTER2\r\n");
	tell("redis", read(server, data, ROOM));
	ASK("Q\0\0\0\x2cSELECT 'HUNTER2', a FROM accounts WHERE b=1\0");
	tell("postgres", read(server, data, ROOM));
	ASK("p\0\0\0\x0cHUNTER2\0");
	tell("password", read(server, data, ROOM));
	ASK("set HUNTER2 0 0 1\r\nx\r\n");
	tell("memcached", read(server, data, ROOM));
	ASK("\x1d\0\0\0\x03UPDATE t SET a='HUNTER2' b=1");
	tell("mysql header", read(server, data, 4));
	tell("mysql", read(server, data, ROOM));
}

static void read_as_client(void)
{
	if (send(server, "GET /client HTTP/1.1\r\n", 22, 0) != 22)
		abort();
	tell("client", read(client, data, ROOM));
}

/* A kind that the parent has, in an arena with other strings. */
static void read_in_a_child(void)
{
	int status;
	pid_t child;

	ASK("GET /by/readv HTTP/1.1\r\n");
	child = fork();
	if (child == 0) {
		tell("child", read(server, data, ROOM));
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || status != 0)
		abort();
}

int main(void)
{
	char line[16];

	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	connect_both();
	read_by_libc();
	read_by_syscall();
	read_in_strange_ways();
	read_other_protocols();
	read_as_client();
	if (line[0] == 'f')
		read_in_a_child();
	/* Its own memory is no recording. */
	explicit_bzero(data, ROOM);
	puts("done");
	fflush(stdout);
	return fgets(line, sizeof(line), stdin) ? 0 : 1;
}

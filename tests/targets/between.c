/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer: 3 bytes spliced from one pipe to another, 2 of those copied back by tee. 4 bytes are
 * looked at in a socket, which moves none, and then read. Datagrams go by name, three of them with
 * one call to one name and two to two, one is cut short, and one goes nowhere. Letters of two types
 * are taken by type.
 */
#include "scenario.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/socket.h>
#include <sys/un.h>

static void moved(void)
{
	int first[2], second[2], pair[2];
	char data[16];

	if (pipe(first) || pipe(second) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		abort();
	say_errno("write", write(first[1], "abc", 3));
	say_errno("splice", splice(first[0], NULL, second[1], NULL, 3, 0));
	say_errno("tee", tee(second[0], first[1], 2, 0));
	say_errno("send", send(pair[0], "abcd", 4, 0));
	say_errno("peek", recv(pair[1], data, sizeof(data), MSG_PEEK));
	say_errno("recv", recv(pair[1], data, sizeof(data), 0));
}

enum { SOCKETS = 2, DATAGRAMS = 3 };

static struct sockaddr_un names[SOCKETS];
static socklen_t name_bytes[SOCKETS];

static int named_socket(int i)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	names[i].sun_family = AF_UNIX;
	name_bytes[i] =
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			    snprintf(names[i].sun_path + 1, 60, "between-%d-%d", i, getpid()));
	if (bind(fd, (struct sockaddr *)&names[i], name_bytes[i]))
		abort();
	return fd;
}

static void sent(void)
{
	int from = named_socket(0), to = named_socket(1);
	const struct sockaddr *name = (struct sockaddr *)&names[1];
	char data[16];
	struct iovec part = { data, 5 };
	struct msghdr message = { &names[1], name_bytes[1], &part, 1, NULL, 0, 0 };
	struct msghdr empty = { NULL, 0, &part, 1, NULL, 0, 0 };
	struct mmsghdr messages[DATAGRAMS] = { { message, 0 }, { message, 0 }, { message, 0 } };
	struct mmsghdr received[DATAGRAMS] = { { empty, 0 }, { empty, 0 }, { empty, 0 } };

	say_errno("sendto", sendto(from, "abcd", 4, 0, name, name_bytes[1]));
	say_errno("syscall", syscall(SYS_sendto, from, "ab", 2, 0, name, name_bytes[1]));
	say_errno("sendmsg", sendmsg(from, &message, 0));
	say_errno("sendmmsg", sendmmsg(from, messages, DATAGRAMS, 0));
	say_errno("recvmmsg", recvmmsg(to, received, 2, 0, NULL));
	say_errno("peek", recv(to, data, sizeof(data), MSG_PEEK));
	say_errno("cut", recv(to, data, 3, MSG_TRUNC));
	say_errno("recvmmsg", recvmmsg(to, received, DATAGRAMS, 0, NULL));
	messages[1].msg_hdr.msg_name = &names[0];
	say_errno("sendmmsg", sendmmsg(from, messages, 2, 0));
	names[1].sun_path[1] = 'x';
	say_errno("nobody", sendto(from, "abcd", 4, 0, name, name_bytes[1]));
	say_errno("no address", sendto(from, "abcd", 4, 0, NULL, 0));
	say_errno("bad address", sendto(from, "abcd", 4, 0, (struct sockaddr *)8, 16));
	say_errno("empty again", recv(to, data, sizeof(data), MSG_DONTWAIT));
	say_errno("empty again", recv(to, data, sizeof(data), MSG_DONTWAIT));
}

/* An address over the edge of a page, and one that was cut off there. */
static void received_at_an_edge(int to, char *data, size_t bytes)
{
	enum { PAGE = 4096, BEFORE = 8 };
	char *pages =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sockaddr *sender = (struct sockaddr *)(pages + PAGE - BEFORE);
	socklen_t room = sizeof(struct sockaddr_un);

	say_errno("edge", recvfrom(to, data, bytes, 0, sender, &room));
	mprotect(pages + PAGE, PAGE, PROT_NONE);
	room = BEFORE;
	say_errno("cut off", recvfrom(to, data, bytes, 0, sender, &room));
	munmap(pages, 2 * PAGE);
}

/* Eight datagrams from one socket, each of another length. */
static void received(void)
{
	int from = named_socket(0), to = named_socket(1);
	const struct sockaddr *name = (struct sockaddr *)&names[1];
	struct sockaddr_un sender;
	socklen_t bytes = sizeof(sender);
	char data[16] = "abcdefgh";
	struct iovec part = { data, sizeof(data) };
	struct msghdr message = { &sender, sizeof(sender), &part, 1, NULL, 0, 0 };
	struct mmsghdr messages[2] = { { message, 0 }, { message, 0 } };

	for (size_t i = 1; i <= 8; i++)
		say_errno("sendto", sendto(from, data, i, 0, name, name_bytes[1]));
	say_errno("recvfrom",
		  recvfrom(to, data, sizeof(data), 0, (struct sockaddr *)&sender, &bytes));
	say_errno("no address", recvfrom(to, data, sizeof(data), 0, NULL, NULL));
	say_errno("syscall", syscall(SYS_recvfrom, to, data, sizeof(data), 0,
				     (struct sockaddr *)&sender, &bytes));
	say_errno("recvmsg", recvmsg(to, &message, 0));
	say_errno("recvmmsg", recvmmsg(to, messages, 1, 0, NULL));
	say_errno("bad address", recvfrom(to, data, sizeof(data), 0, (struct sockaddr *)8, &bytes));
	received_at_an_edge(to, data, sizeof(data));
	bytes = sizeof(sender);
	say_errno("nothing", recvfrom(to, data, sizeof(data), MSG_DONTWAIT,
				      (struct sockaddr *)&sender, &bytes));
}

static void letters(void)
{
	struct letter {
		long type;
		char text[8];
	} letter = { 4, "four" };
	int queue = msgget(IPC_PRIVATE, 0600);

	say_errno("msgsnd", msgsnd(queue, &letter, 5, 0));
	letter.type = 9;
	say_errno("msgsnd", msgsnd(queue, &letter, 5, 0));
	say_errno("msgrcv", msgrcv(queue, &letter, sizeof(letter.text), 9, 0));
	say_errno("msgrcv", msgrcv(queue, &letter, sizeof(letter.text), 9, IPC_NOWAIT));
	say_errno("msgrcv", msgrcv(queue, &letter, sizeof(letter.text), 0, 0));
	say_errno("bad message", msgsnd(queue, (void *)8, 5, 0));
	msgctl(queue, IPC_RMID, NULL);
}

static const struct scenario scenarios[] = {
	{ "moved", moved }, { "sent", sent }, { "received", received }, { "letters", letters }
};

SCENARIOS_MAIN

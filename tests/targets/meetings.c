/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer: two processes talk, and what either says was moved adds up, byte by byte. `path`, `pair`:
 * the child writes 3 and reads 2. `shared`: both write to one pipe, 3 and 4, and the parent reads 7
 * in parts. `parts`: 10 bytes each way, in several forms, with tries in vain between them.
 */
#include "scenario.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>

static char bytes[16] = "0123456789";

static pid_t begin_child(void (*work)(int), int fd)
{
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		work(fd);
		exit(0);
	}
	return pid;
}

static void end_child(pid_t pid)
{
	int status = 0;
	say_errno("child", waitpid(pid, &status, 0) == pid ? status : -1);
}

static void ask(int fd)
{
	say_errno("write", (int)write(fd, bytes, 3));
	say_errno("read", (int)recv(fd, bytes, 2, MSG_WAITALL));
}

static void answer(int fd)
{
	say_errno("read", (int)recv(fd, bytes, 3, MSG_WAITALL));
	say_errno("write", (int)write(fd, bytes, 2));
}

static struct sockaddr_un address = { .sun_family = AF_UNIX };

static void ask_through_path(int unused)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	(void)unused;
	say_errno("connect", connect(fd, (struct sockaddr *)&address, sizeof(address)));
	ask(fd);
}

static void path(void)
{
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/wcprof-target-%d-meet",
		 getpid());
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) != 0)
		abort();
	listen(listener, 8);
	pid_t pid = begin_child(ask_through_path, -1);
	answer(accept(listener, NULL, NULL));
	end_child(pid);
	unlink(address.sun_path);
}

static void pair(void)
{
	int ends[2];
	say_errno("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	pid_t pid = begin_child(ask, ends[1]);
	answer(ends[0]);
	end_child(pid);
}

static void write_three(int fd)
{
	say_errno("write", (int)write(fd, bytes, 3));
}

static void shared(void)
{
	int ends[2];
	say_errno("pipe", pipe(ends));
	say_errno("write", (int)write(ends[1], bytes, 4));
	end_child(begin_child(write_three, ends[1]));
	say_errno("read", (int)read(ends[0], bytes, 5));
	struct iovec parts[2] = { { bytes, 1 }, { bytes + 1, 8 } };
	say_errno("readv", (int)readv(ends[0], parts, 2));
}

/* Nothing is there yet, or nothing fits any more: nothing moves. */
static void in_vain(int ends[2])
{
	static char much[1 << 16];
	ssize_t filled = 0, part;
	int full[2];
	say_errno("recv, nothing", (int)recv(ends[1], bytes, 8, MSG_DONTWAIT));
	say_errno("pipe2", pipe2(full, O_NONBLOCK));
	say_errno("read, nothing", (int)read(full[0], bytes, 8));
	while ((part = write(full[1], much, sizeof(much) - 1)) > 0)
		filled += part;
	while ((part = read(full[0], much, sizeof(much))) > 0)
		filled -= part;
	printf("left %zd\n", filled);
}

static void parts(void)
{
	int ends[2];
	struct iovec parts[2] = { { bytes, 1 }, { bytes + 1, 2 } };
	struct mmsghdr messages[2] = { { .msg_hdr = { .msg_iov = parts, .msg_iovlen = 2 } },
				       { .msg_hdr = { .msg_iov = parts, .msg_iovlen = 1 } } };
	say_errno("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	in_vain(ends);
	say_errno("writev", (int)writev(ends[0], parts, 2));
	say_errno("sendmmsg", sendmmsg(ends[0], messages, 2, 0));
	say_errno("send", (int)send(ends[0], bytes, 3, 0));
	say_errno("peek", (int)recv(ends[1], bytes, 8, MSG_PEEK));
	say_errno("recvmmsg", recvmmsg(ends[1], messages, 2, MSG_DONTWAIT, NULL));
	say_errno("read, more than is there", (int)read(ends[1], bytes, sizeof(bytes)));
	say_errno("recv, nothing", (int)recv(ends[1], bytes, 8, MSG_DONTWAIT));
}

static const struct scenario scenarios[] = {
	{ "path", path },
	{ "pair", pair },
	{ "shared", shared },
	{ "parts", parts },
};

SCENARIOS_MAIN

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer: two processes talk, and what either says was moved adds up, byte by byte. `path`, `pair`:
 * the child writes 3 and reads 2. `shared`: both write to one pipe, 3 and 4, and the parent reads 7
 * in parts. `readers`: both read from one pipe, 4 and 5 of 9. `parts`: 10 bytes each way, in
 * several forms, with tries in vain between them. `tight`: nobody takes all that is offered, and
 * what was taken is read to the end. `looks`: 8 bytes are looked at in all ways and then read; 5
 * come back as an error. `copies`: 15 bytes through a pipe and 15 through a pair, by descriptors
 * that are copies of each other. `passed`: the child gets an end of a pipe and one of a pair in
 * messages, reads 4 from the one, and writes 3 to the other. `raw`: 20 bytes by syscall().
 * `buffers`: what a stream's buffer holds reaches the other end when all are flushed (5), at exit()
 * (8), at freopen() (3) and at pclose() (9).
 */
#include "scenario.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
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

static void read_four(int fd)
{
	say_errno("read", (int)read(fd, bytes, 4));
}

static void readers(void)
{
	int ends[2];
	say_errno("pipe", pipe(ends));
	say_errno("write", (int)write(ends[1], bytes, 9));
	end_child(begin_child(read_four, ends[0]));
	say_errno("read", (int)read(ends[0], bytes, sizeof(bytes)));
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

static char much[200000];

static ssize_t read_all(int fd)
{
	ssize_t sum = 0, part;
	while ((part = read(fd, much, 3000)) > 0)
		sum += part;
	return sum;
}

static void small_pipe(int ends[2])
{
	if (pipe2(ends, O_NONBLOCK) || fcntl(ends[1], F_SETPIPE_SZ, 4096) != 4096)
		abort();
}

/* A pipe of one page gets no more than that; another one has less room than there is to splice. */
static void tight_pipes(void)
{
	int first[2], second[2];
	struct iovec parts[2] = { { much, 3000 }, { much, 3000 } };
	small_pipe(first);
	small_pipe(second);
	say_errno("tee, nothing", (int)tee(first[0], second[1], 10, SPLICE_F_NONBLOCK));
	say_errno("splice, nothing",
		  (int)splice(first[0], NULL, second[1], NULL, 10, SPLICE_F_NONBLOCK));
	ssize_t there = writev(first[1], parts, 2);
	say_errno("writev, no room", (int)writev(first[1], parts, 2));
	there += tee(first[0], second[1], 100, 0);
	say_errno("splice, no room",
		  (int)splice(first[0], NULL, second[1], NULL, 10, SPLICE_F_NONBLOCK));
	there -= read_all(second[0]);
	say_errno("splice", (int)splice(first[0], NULL, second[1], NULL, 1000, 0));
	there -= read_all(second[0]);
	say_errno("raw splice",
		  syscall(SYS_splice, first[0], NULL, second[1], NULL, 1000, SPLICE_F_NONBLOCK));
	there -= read_all(second[0]) + read_all(first[0]);
	say_errno("vmsplice", (int)vmsplice(second[1], parts, 1, 0));
	printf("left %zd\n", there + 3000 - read_all(second[0]));
}

/* A socket takes a part of what is offered, of one message or of several, or of a file. */
static void tight_sockets(void)
{
	int ends[2], file = memfd_create("much", 0);
	struct iovec all = { much, sizeof(much) }, some = { much, 5000 };
	struct msghdr message = { .msg_iov = &all, .msg_iovlen = 1 };
	struct mmsghdr messages[2] = { { .msg_hdr = { .msg_iov = &some, .msg_iovlen = 1 } },
				       { .msg_hdr = message } };
	ssize_t there = 0, part;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends))
		abort();
	say_errno("setsockopt", setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &(int){ 20000 }, 4));
	say_errno("sendmmsg", sendmmsg(ends[0], messages, 2, 0));
	there += messages[0].msg_len + messages[1].msg_len;
	say_errno("sendmsg, no room", (int)sendmsg(ends[0], &message, 0));
	while (recvmmsg(ends[1], messages, 1, 0, NULL) > 0)
		there -= messages[0].msg_len;
	there += part = sendmsg(ends[0], &message, 0);
	printf("a part: %d\n", part > 0 && part < (ssize_t)sizeof(much));
	there -= read_all(ends[1]);
	say_errno("ftruncate", ftruncate(file, sizeof(much)));
	there += part = sendfile(ends[0], file, NULL, sizeof(much));
	printf("a part: %d\n", part > 0 && part < (ssize_t)sizeof(much));
	printf("left %zd\n", there - read_all(ends[1]));
}

static void tight(void)
{
	tight_pipes();
	tight_sockets();
}

/* A message that was sent to nobody comes back. */
static void look_at_errors(void)
{
	struct sockaddr_in nobody = { .sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct iovec part = { bytes, sizeof(bytes) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	socklen_t size = sizeof(nobody);
	int fd = socket(AF_INET, SOCK_DGRAM, 0), other = socket(AF_INET, SOCK_DGRAM, 0);
	if (bind(other, (struct sockaddr *)&nobody, size) ||
	    getsockname(other, (struct sockaddr *)&nobody, &size) || close(other) ||
	    setsockopt(fd, IPPROTO_IP, IP_RECVERR, &(int){ 1 }, sizeof(int)) ||
	    connect(fd, (struct sockaddr *)&nobody, size))
		abort();
	say_errno("send", (int)send(fd, bytes, 5, 0));
	poll(&(struct pollfd){ .fd = fd }, 1, -1);
	say_errno("errors", (int)recvmsg(fd, &message, MSG_ERRQUEUE));
}

static void looks(void)
{
	int ends[2];
	struct iovec part = { bytes, sizeof(bytes) };
	struct mmsghdr message = { .msg_hdr = { .msg_iov = &part, .msg_iovlen = 1 } };
	say_errno("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	say_errno("send", (int)send(ends[0], bytes, 8, 0));
	say_errno("recvfrom", (int)recvfrom(ends[1], bytes, 3, MSG_PEEK, NULL, NULL));
	say_errno("recvmsg", (int)recvmsg(ends[1], &message.msg_hdr, MSG_PEEK));
	say_errno("recvmmsg", recvmmsg(ends[1], &message, 1, MSG_PEEK, NULL));
	say_errno("raw", syscall(SYS_recvfrom, ends[1], bytes, 8L, (long)MSG_PEEK, NULL, NULL));
	say_errno("raw", syscall(SYS_recvmsg, ends[1], &message.msg_hdr, (long)MSG_PEEK));
	say_errno("raw, read", syscall(SYS_recvfrom, ends[1], bytes, 2L, 0L, NULL, NULL));
	say_errno("read", (int)read(ends[1], bytes, sizeof(bytes)));
	look_at_errors();
}

/* Ends 0 and 1 by themselves, by copies, and by copies alone. */
static void through_copies(const char *what, int ends[2])
{
	int reader = dup(ends[0]), writer = fcntl(ends[1], F_DUPFD_CLOEXEC, 100);
	say_errno(what, (int)write(ends[1], bytes, 3));
	say_errno("write", (int)write(writer, bytes, 2));
	say_errno("read", (int)read(reader, bytes, 4));
	say_errno("read", (int)read(ends[0], bytes, 1));
	say_errno("close", close(ends[0]));
	say_errno("dup3", dup3(writer, ends[0], 0));
	say_errno("write", (int)write(ends[0], bytes, 4));
	say_errno("close", close(ends[1]));
	say_errno("dup2", dup2(reader, ends[1]));
	say_errno("write", (int)write(writer, bytes, 6));
	say_errno("read", (int)read(ends[1], bytes, 7));
	say_errno("read", (int)read(reader, bytes, sizeof(bytes)));
	for (int i = 0; i < 2; i++)
		close(ends[i]);
	close(reader);
	close(writer);
}

static void copies(void)
{
	int ends[2];
	say_errno("pipe", pipe(ends));
	through_copies("pipe", ends);
	say_errno("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	through_copies("pair", ends);
}

union passing {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(2 * sizeof(int))];
};

static void pass(int channel, const int fds[2])
{
	union passing control = { .header = { .cmsg_len = CMSG_LEN(2 * sizeof(int)),
					      .cmsg_level = SOL_SOCKET,
					      .cmsg_type = SCM_RIGHTS } };
	struct iovec part = { bytes, 1 };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	memcpy(CMSG_DATA(&control.header), fds, 2 * sizeof(int));
	say_errno("sendmsg", (int)sendmsg(channel, &message, 0));
}

static void use_passed(int channel)
{
	union passing control = { 0 };
	struct iovec part = { bytes, 1 };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	int fds[2], other = open("/dev/null", O_RDWR);
	/* The numbers were another thing's. */
	say_errno("write", (int)write(other, bytes, 1));
	say_errno("close", close(other));
	say_errno("recvmsg", (int)recvmsg(channel, &message, 0));
	memcpy(fds, CMSG_DATA(&control.header), sizeof(fds));
	say_errno("read", (int)read(fds[0], bytes, 4));
	say_errno("writev", (int)writev(fds[1], &(struct iovec){ bytes, 3 }, 1));
}

static void passed(void)
{
	int channel[2], ends[2], sockets[2];
	say_errno("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, channel));
	pid_t pid = begin_child(use_passed, channel[1]);
	say_errno("pipe", pipe(ends));
	say_errno("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	say_errno("write", (int)write(ends[1], bytes, 4));
	pass(channel[0], (int[2]){ ends[0], sockets[1] });
	struct iovec part = { bytes, sizeof(bytes) };
	say_errno("readv", (int)readv(sockets[0], &part, 1));
	end_child(pid);
}

static void raw_sockets(void)
{
	struct sockaddr_in own = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(own);
	struct iovec part = { bytes, 4 };
	struct mmsghdr messages[2] = { { .msg_hdr = { .msg_iov = &part, .msg_iovlen = 1 } },
				       { .msg_hdr = { .msg_iov = &part, .msg_iovlen = 1 } } };
	int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&own, size) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&own, &size))
		abort();
	say_errno("connect", syscall(SYS_connect, client, &own, (long)size));
	int server = (int)syscall(SYS_accept4, listener, NULL, NULL, 0L);
	printf("accept4 %d\n", server >= 0);
	say_errno("sendmmsg", syscall(SYS_sendmmsg, client, messages, 2L, 0L));
	say_errno("recvmmsg", syscall(SYS_recvmmsg, server, messages, 2L, (long)MSG_PEEK, NULL));
	say_errno("recvmmsg", syscall(SYS_recvmmsg, server, messages, 2L, 0L, NULL));
	say_errno("recvmmsg",
		  syscall(SYS_recvmmsg, server, messages, 2L, (long)MSG_DONTWAIT, NULL));
	say_errno("connect", syscall(SYS_connect, client, &own, (long)size));
	say_errno("accept", syscall(SYS_accept, -1L, NULL, NULL));
}

static void raw_pipes(void)
{
	int first[2], second[2], file = memfd_create("some", 0);
	struct iovec part = { bytes, 3 };
	if (pipe(first) || pipe(second) || ftruncate(file, sizeof(bytes)))
		abort();
	say_errno("vmsplice", syscall(SYS_vmsplice, first[1], &part, 1L, 0L));
	say_errno("tee", syscall(SYS_tee, first[0], second[1], 2L, 0L));
	say_errno("sendfile", syscall(SYS_sendfile, second[1], file, NULL, 7L));
	say_errno("read", (int)read(second[0], bytes, sizeof(bytes)));
	say_errno("read", (int)read(first[0], bytes, sizeof(bytes)));
	say_errno("tee", syscall(SYS_tee, -1L, second[1], 2L, 0L));
	say_errno("copy_file_range",
		  syscall(SYS_copy_file_range, file, NULL, first[1], NULL, 4L, 0L));
}

static void raw(void)
{
	raw_sockets();
	raw_pipes();
}

/* Its standard output is the pipe; what it writes there at last, exit() flushes. */
static void write_buffered(int fd)
{
	dup2(fd, STDOUT_FILENO);
	fputs("01234", stdout);
	fflush(NULL);
	FILE *stream = fdopen(fd, "w");
	fputs("012", stream);
	if (!freopen("/dev/null", "w", stream))
		abort();
	fputs("01234567", stdout);
}

static void buffers(void)
{
	int ends[2];
	say_errno("pipe", pipe(ends));
	pid_t pid = begin_child(write_buffered, ends[1]);
	close(ends[1]);
	say_errno("read, to the end", (int)read_all(ends[0]));
	end_child(pid);
	FILE *child = popen("cat >/dev/null", "w");
	fputs("012345678", child);
	say_errno("pclose", pclose(child));
}

static const struct scenario scenarios[] = {
	{ "path", path },     { "pair", pair },   { "shared", shared },   { "readers", readers },
	{ "parts", parts },   { "tight", tight }, { "looks", looks },     { "copies", copies },
	{ "passed", passed }, { "raw", raw },     { "buffers", buffers },
};

SCENARIOS_MAIN

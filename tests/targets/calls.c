/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: every call that reads, writes, connects, opens, syncs or polls is there, by its
 * plain name.
 */
#include "scenario.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

static char data[64] = "0123456789abcdef";

static void files(void)
{
	char path[] = "/tmp/wcprof-target-XXXXXX";
	struct iovec parts[2] = { { data, 4 }, { data + 4, 4 } };
	int fd = mkstemp(path);

	say_errno("write", write(fd, data, 10));
	say_errno("writev", writev(fd, parts, 2));
	say_errno("pwrite", pwrite(fd, data, 3, 0));
	say_errno("pwrite64", pwrite64(fd, data, 3, 0));
	say_errno("pwritev", pwritev(fd, parts, 2, 0));
	say_errno("pwritev2", pwritev2(fd, parts, 2, 0, 0));
	say_errno("fsync", fsync(fd));
	say_errno("fdatasync", fdatasync(fd));
	say_errno("flock", flock(fd, LOCK_EX));
	lseek(fd, 0, SEEK_SET);
	say_errno("read", read(fd, data, 10));
	say_errno("readv", readv(fd, parts, 2));
	say_errno("read at the end", read(fd, data, 10));
	say_errno("pread", pread(fd, data, 3, 0));
	say_errno("pread64", pread64(fd, data, 3, 0));
	say_errno("preadv", preadv(fd, parts, 2, 0));
	say_errno("preadv2", preadv2(fd, parts, 2, 0, 0));
	say_errno("read, bad address", read(fd, bad_address(), 10));
	say_errno("read, bad descriptor", read(-1, data, 10));
	say_errno("close", close(fd));
	say_errno("close", close(fd));
	fd = open(path, O_RDONLY);
	printf("open %d\n", fd >= 0);
	close(fd);
	fd = openat(AT_FDCWD, path, O_RDWR | O_CREAT, 0600);
	printf("openat %d\n", fd >= 0);
	close(fd);
	say_errno("open, nothing there", open("/nonexistent/file", O_RDONLY));
	say_errno("open, bad address", open(bad_address(), O_RDONLY));
	unlink(path);
	fd = open(path, O_RDWR | O_CREAT, 0640);
	close(fd);
	unlink(path);
}

/* The names that compilers put in for programs built with FORTIFY, and the old aliases. */
extern ssize_t __read_chk(int, void *, size_t, size_t);
extern ssize_t __pread_chk(int, void *, size_t, off_t, size_t);
extern ssize_t __pread64_chk(int, void *, size_t, off_t, size_t);
extern ssize_t __recv_chk(int, void *, size_t, size_t, int);
extern ssize_t __recvfrom_chk(int, void *, size_t, size_t, int, struct sockaddr *, socklen_t *);
extern int __poll_chk(struct pollfd *, nfds_t, int, size_t);
extern int __ppoll_chk(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t);
extern ssize_t __read(int, void *, size_t);
extern ssize_t __write(int, const void *, size_t);
extern ssize_t __send(int, const void *, size_t, int);
extern int __close(int);
extern int __poll(struct pollfd *, nfds_t, int);
extern int __open_2(const char *, int);

static void aliases(void)
{
	struct timespec none = { 0 };
	int ends[2];
	int fd = __open_2("/etc/passwd", O_RDONLY);
	socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	struct pollfd set = { .fd = ends[0], .events = POLLIN };
	say_errno("pread_chk", __pread_chk(fd, data, 4, 0, sizeof(data)));
	say_errno("pread64_chk", __pread64_chk(fd, data, 4, 0, sizeof(data)));
	say_errno("read_chk", __read_chk(fd, data, 4, sizeof(data)));
	say_errno("__read", __read(fd, data, 4));
	say_errno("__write", __write(ends[1], data, 4));
	say_errno("__send", __send(ends[1], data, 4, 0));
	say_errno("recv_chk", __recv_chk(ends[0], data, 4, sizeof(data), 0));
	say_errno("recvfrom_chk", __recvfrom_chk(ends[0], data, 4, sizeof(data), 0, NULL, NULL));
	say_errno("poll_chk", __poll_chk(&set, 1, 0, sizeof(set)));
	say_errno("ppoll_chk", __ppoll_chk(&set, 1, &none, NULL, sizeof(set)));
	say_errno("__poll", __poll(&set, 1, 0));
	say_errno("__close", __close(fd));
}

static void moves(void)
{
	char path[] = "/tmp/wcprof-target-XXXXXX";
	struct flock lock = { .l_type = F_WRLCK };
	struct iovec part = { data, 8 };
	int first[2], second[2];
	int fd = mkstemp(path);

	(void)!pipe(first);
	(void)!pipe(second);
	say_errno("vmsplice", vmsplice(first[1], &part, 1, 0));
	say_errno("tee", tee(first[0], second[1], 8, 0));
	say_errno("splice", splice(first[0], NULL, fd, NULL, 8, 0));
	say_errno("tee, no pipe", tee(fd, second[1], 8, 0));
	say_errno("ftruncate", ftruncate(fd, 4096));
	say_errno("truncate", truncate(path, 8192));
	say_errno("truncate, nothing there", truncate("/nonexistent/file", 1));
	say_errno("fallocate", fallocate(fd, 0, 0, 4096));
	say("posix_fallocate", posix_fallocate(fd, 0, 4096));
	say("posix_fallocate, bad descriptor", posix_fallocate(-1, 0, 4096));
	say_errno("sync_file_range", sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE));
	say_errno("readahead", readahead(fd, 0, 4096));
	say_errno("lockf", lockf(fd, F_LOCK, 0));
	say_errno("lockf", lockf(fd, F_ULOCK, 0));
	say_errno("fcntl, lock", fcntl(fd, F_SETLKW, &lock));
	say_errno("fcntl, bad lock", fcntl(fd, F_SETLKW, bad_address()));
	say_errno("fcntl, flags", fcntl(fd, F_GETFD));
	say_errno("fcntl, bad descriptor", fcntl(-1, F_GETFL));
	unlink(path);
	printf("creat %d\n", creat(path, 0600) >= 0);
	unlink(path);
}

static void sockets(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t size = sizeof(address);
	struct iovec part = { data, 5 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	struct mmsghdr messages[2] = { { .msg_hdr = message }, { .msg_hdr = message } };
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	int client = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	bind(listener, (struct sockaddr *)&address, size);
	getsockname(listener, (struct sockaddr *)&address, &size);
	listen(listener, 8);
	say_errno("connect", connect(client, (struct sockaddr *)&address, size));
	int server = accept(listener, NULL, NULL);
	printf("accept %d\n", server >= 0);
	say_errno("send", send(client, data, 4, 0));
	say_errno("sendto", sendto(client, data, 4, 0, NULL, 0));
	say_errno("sendmsg", sendmsg(client, &message, 0));
	say_errno("sendmmsg", sendmmsg(client, messages, 2, 0));
	say_errno("recv", recv(server, data, 4, MSG_WAITALL));
	say_errno("recvfrom", recvfrom(server, data, 4, MSG_WAITALL, NULL, NULL));
	say_errno("recvmsg", recvmsg(server, &message, 0));
	say_errno("recvmmsg", recvmmsg(server, messages, 2, 0, NULL));
	say_errno("recv, nothing there", recv(server, data, 4, MSG_DONTWAIT));
	say_errno("accept4, nothing there",
		  (fcntl(listener, F_SETFL, O_NONBLOCK), accept4(listener, NULL, NULL, 0)));
	close(listener);
	say_errno("connect, refused",
		  connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&address, size));
	int copy = open("/etc/passwd", O_RDONLY);
	say_errno("sendfile", sendfile(client, copy, NULL, 4));
}

static void readiness(void)
{
	struct timespec short_time = { .tv_nsec = 5000000 };
	struct timeval short_value = { .tv_usec = 5000 };
	struct epoll_event events[4] = { { .events = EPOLLIN } };
	sigset_t mask;
	fd_set readable;
	int ends[2];

	sigemptyset(&mask);
	(void)!pipe(ends);
	struct pollfd set = { .fd = ends[0], .events = POLLIN };
	int epoll = epoll_create1(0);
	epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &events[0]);
	say_errno("poll", poll(&set, 1, 5));
	say_errno("ppoll", ppoll(&set, 1, &short_time, &mask));
	FD_ZERO(&readable);
	FD_SET(ends[0], &readable);
	say_errno("select", select(ends[0] + 1, &readable, NULL, NULL, &short_value));
	FD_SET(ends[0], &readable);
	say_errno("pselect", pselect(ends[0] + 1, &readable, NULL, NULL, &short_time, &mask));
	say_errno("epoll_wait", epoll_wait(epoll, events, 4, 5));
	(void)!write(ends[1], data, 1);
	say_errno("poll", poll(&set, 1, -1));
	say_errno("epoll_pwait", epoll_pwait(epoll, events, 4, -1, &mask));
	say_errno("epoll_pwait2", epoll_pwait2(epoll, events, 4, &short_time, &mask));
	say_errno("poll, bad address", poll(bad_address(), 1, 0));
	say_errno("select, bad", select(-1, NULL, NULL, NULL, NULL));
}

/* Two pipes are ready: the first calls have room for one of them. */
static void crowded(void)
{
	struct epoll_event events[3] = { { .events = EPOLLIN } };
	int epoll = epoll_create1(0), ends[2];

	for (int i = 0; i < 2; i++) {
		(void)!pipe(ends);
		epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &events[0]);
		(void)!write(ends[1], data, 1);
	}
	say_errno("epoll_wait", epoll_wait(epoll, events, 1, -1));
	say_errno("system call", syscall(SYS_epoll_wait, epoll, events, 1, -1));
	say_errno("epoll_wait", epoll_wait(epoll, events, 2, -1));
	say_errno("epoll_wait", epoll_wait(epoll, events, 3, -1));
}

static int pipe_ends[2];

static void read_for_ever(void)
{
	char byte;
	say_errno("read", read(pipe_ends[0], &byte, 1));
}

/* Cancelled while blocked; the thread's op goes on to be closed. */
static void cancelled(void)
{
	struct helper helper;
	(void)!pipe(pipe_ends);
	helper_start(&helper, read_for_ever);
	until_in_call(helper.tid, SYS_read);
	pthread_cancel(helper.thread);
	helper_join(&helper);
}

static sigjmp_buf back;

static void jump(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

static void interrupt(int number)
{
	(void)number;
}

static void jump_out(void)
{
	char byte;
	if (sigsetjmp(back, 1) == 0) {
		(void)!read(pipe_ends[0], &byte, 1);
		puts("came back");
	}
	puts("jumped");
	for (int i = 0; i < 3; i++)
		say_errno("write", write(pipe_ends[1], data, 1));
}

/* A signal handler leaves a blocked read by a jump: the op is over, and later ones are not
 * inside it. */
static void jumped(void)
{
	struct helper helper;
	struct sigaction action = { .sa_handler = jump };
	sigaction(SIGUSR1, &action, NULL);
	(void)!pipe(pipe_ends);
	helper_start(&helper, jump_out);
	until_in_call(helper.tid, SYS_read);
	pthread_kill(helper.thread, SIGUSR1);
	helper_join(&helper);
}

static void interrupted(void)
{
	struct helper helper;
	struct sigaction action = { .sa_handler = interrupt };
	sigaction(SIGUSR1, &action, NULL);
	(void)!pipe(pipe_ends);
	helper_start(&helper, read_for_ever);
	until_in_call(helper.tid, SYS_read);
	pthread_kill(helper.thread, SIGUSR1);
	helper_join(&helper);
}

static const struct scenario scenarios[] = {
	{ "files", files },     { "aliases", aliases },     { "sockets", sockets },
	{ "moves", moves },     { "readiness", readiness }, { "cancelled", cancelled },
	{ "crowded", crowded }, { "jumped", jumped },       { "interrupted", interrupted },
};

SCENARIOS_MAIN

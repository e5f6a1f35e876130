/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: "ready", and after a byte on standard input "out". "unknown" instead of "ready":
 * the kernel does not say in which call a thread is.
 *
 *	inside mutex|read|recv|accept|poll|epoll|select|sleep|futex|sem|readers|writers|reading|cond
 *	inside join|child|children
 *
 * readers: a writer waits for a reader; writers: one waits for a writer; reading: a reader does.
 *
 * join, child, children: what is waited for has begun when "ready" is said. Another byte is read
 * then, and "inside" is said as "ready" is else.
 *
 * A worker is inside of the call when "ready" is said, as the kernel says. The byte makes the call
 * return; the worker writes a byte of its own then.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int may_go;
static sem_t permits;
static pid_t child;
static const char *kind;
static int ends[2], sockets[2], listener, set, word;
static _Atomic int tid, has_begun;
static pthread_t worker, other;

static int is(const char *name)
{
	return strcmp(kind, name) == 0;
}

static void go_inside(void)
{
	const struct timespec never = { .tv_sec = 1000000 };
	struct pollfd ready = { .fd = ends[0], .events = POLLIN };
	struct epoll_event event;
	fd_set readable;
	char byte;

	if (is("mutex")) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	} else if (is("read")) {
		(void)!read(ends[0], &byte, 1);
	} else if (is("recv")) {
		(void)!recv(sockets[0], &byte, 1, 0);
	} else if (is("accept")) {
		(void)!accept(listener, NULL, NULL);
	} else if (is("poll")) {
		(void)!poll(&ready, 1, -1);
	} else if (is("epoll")) {
		(void)!epoll_wait(set, &event, 1, -1);
	} else if (is("select")) {
		FD_ZERO(&readable);
		FD_SET(ends[0], &readable);
		(void)!select(ends[0] + 1, &readable, NULL, NULL, NULL);
	} else if (is("sleep")) {
		nanosleep(&never, NULL);
	} else if (is("futex")) {
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	} else if (is("sem")) {
		sem_wait(&permits);
	} else if (is("cond")) {
		pthread_mutex_lock(&mutex);
		while (!may_go)
			pthread_cond_wait(&cond, &mutex);
		pthread_mutex_unlock(&mutex);
	} else if (is("readers") || is("writers")) {
		pthread_rwlock_wrlock(&lock);
		pthread_rwlock_unlock(&lock);
	} else if (is("reading")) {
		pthread_rwlock_rdlock(&lock);
		pthread_rwlock_unlock(&lock);
	} else if (is("join")) {
		pthread_join(other, NULL);
	} else if (is("child")) {
		waitpid(child, NULL, 0);
	} else if (is("children")) {
		wait(NULL);
	}
}

static void *wait_for_byte(void *unused)
{
	char byte;

	has_begun = 1;
	(void)!read(ends[0], &byte, 1);
	return unused;
}

static void *work(void *unused)
{
	int zero = open("/dev/null", O_WRONLY);

	tid = (int)syscall(SYS_gettid);
	go_inside();
	(void)!write(zero, "", 1);
	return unused;
}

static void signal_condition(void)
{
	pthread_mutex_lock(&mutex);
	may_go = 1;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&mutex);
}

static void let_go(void)
{
	struct sockaddr_in address;
	socklen_t size = sizeof(address);

	if (is("mutex"))
		pthread_mutex_unlock(&mutex);
	else if (is("sleep"))
		pthread_kill(worker, SIGUSR1);
	else if (is("futex"))
		syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	else if (is("recv"))
		(void)!send(sockets[1], "x", 1, 0);
	else if (is("accept") && getsockname(listener, (struct sockaddr *)&address, &size) == 0)
		(void)!connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&address, size);
	else if (is("sem"))
		sem_post(&permits);
	else if (is("cond"))
		signal_condition();
	else if (is("readers") || is("writers") || is("reading"))
		pthread_rwlock_unlock(&lock);
	else
		(void)!write(ends[1], "x", 1);
}

static int is_life(void)
{
	return is("join") || is("child") || is("children");
}

static void begin_life(void)
{
	if (is("join")) {
		pthread_create(&other, NULL, wait_for_byte, NULL);
		while (!has_begun)
			usleep(100);
		return;
	}
	child = fork();
	if (child != 0)
		return;
	close(ends[1]);
	wait_for_byte(NULL);
	_exit(0);
}

static void nothing(int number)
{
	(void)number;
}

static void prepare(void)
{
	struct epoll_event event = { .events = EPOLLIN };

	if (pipe(ends) != 0 || socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets) != 0)
		abort();
	listener = socket(AF_INET, SOCK_STREAM, 0);
	listen(listener, 1);
	set = epoll_create1(0);
	epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event);
	signal(SIGUSR1, nothing);
	if (!is("cond"))
		pthread_mutex_lock(&mutex);
	sem_init(&permits, 0, 0);
	if (is("readers"))
		pthread_rwlock_rdlock(&lock);
	else
		pthread_rwlock_wrlock(&lock);
}

/* The call's number; -1 outside of one, -2 if nobody may know. */
static long call_of_worker(void)
{
	char path[64], line[64] = "";
	FILE *file;
	int count;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	file = fopen(path, "r");
	if (!file)
		return -2;
	count = fscanf(file, "%63s", line);
	fclose(file);
	if (count != 1)
		return -2;
	return strcmp(line, "running") == 0 ? -1 : atol(line);
}

static int is_one_of(long call, const long *calls)
{
	while (*calls >= 0 && *calls != call)
		calls++;
	return *calls >= 0;
}

int main(int count, char **arguments)
{
	static const long blocking[] = {
		SYS_futex,           SYS_read,       SYS_recvfrom,    SYS_accept,
		SYS_accept4,         SYS_poll,       SYS_ppoll,       SYS_select,
		SYS_pselect6,        SYS_epoll_wait, SYS_epoll_pwait, SYS_nanosleep,
		SYS_clock_nanosleep, SYS_wait4,      SYS_waitid,      -1
	};
	char byte;

	kind = count > 1 ? arguments[1] : "mutex";
	prepare();
	if (is_life()) {
		begin_life();
		puts("ready");
		fflush(stdout);
		if (read(0, &byte, 1) != 1)
			return 1;
	}
	pthread_create(&worker, NULL, work, NULL);
	while (tid == 0)
		usleep(100);
	while (!is_one_of(call_of_worker(), blocking)) {
		if (call_of_worker() == -2) {
			puts("unknown");
			return 0;
		}
		usleep(100);
	}
	puts(is_life() ? "inside" : "ready");
	fflush(stdout);
	if (read(0, &byte, 1) != 1)
		return 1;
	let_go();
	pthread_join(worker, NULL);
	puts("out");
	fflush(stdout);
	while (read(0, &byte, 1) == 1)
		continue;
	return 0;
}

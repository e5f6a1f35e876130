/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nanoseconds per call of what the profiler hooks, one line each: NAME NANOSECONDS. Run by hooks.sh
 * alone, through a bare preload, and with the profiler off and on. The time is the thread's CPU
 * time, so that other processes on the machine do not count. The best of REPETITIONS stands for a
 * quiet machine.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <fcntl.h>

enum { CALLS = 20000, REPETITIONS = 7 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t hot = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t sem;
static int zero_fd, null_fd, epoll_fd, ready_fd;
static int pipe_fds[2], client_fd, accepted_fd;

static uint64_t cpu_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void mutex_pair(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

static void hot_mutex_pair(void)
{
	pthread_mutex_lock(&hot);
	pthread_mutex_unlock(&hot);
}

static void rwlock_pair(void)
{
	pthread_rwlock_rdlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
}

static void sem_pair(void)
{
	sem_post(&sem);
	sem_wait(&sem);
}

static void cond_signal(void)
{
	pthread_cond_signal(&cond);
}

static void read_zero(void)
{
	char byte;
	(void)!read(zero_fd, &byte, 1);
}

static void write_null(void)
{
	(void)!write(null_fd, "x", 1);
}

static void pipe_pair(void)
{
	char byte = 'x';
	(void)!write(pipe_fds[1], &byte, 1);
	(void)!read(pipe_fds[0], &byte, 1);
}

static void epoll_nothing(void)
{
	struct epoll_event event;
	epoll_wait(epoll_fd, &event, 1, 0);
}

/* There is always one who can write. */
static void epoll_ready(void)
{
	struct epoll_event event;
	epoll_wait(ready_fd, &event, 1, -1);
}

/* A client's question and its answer, both ends in one thread. */
static void request(void)
{
	char byte = 'x';
	(void)!write(client_fd, &byte, 1);
	(void)!read(accepted_fd, &byte, 1);
	(void)!write(accepted_fd, &byte, 1);
	(void)!read(client_fd, &byte, 1);
}

static void connect_client(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t bytes = sizeof(sa_family_t); /* the kernel chooses a name */
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);

	client_fd = socket(AF_UNIX, SOCK_STREAM, 0);
	(void)!bind(listener, (struct sockaddr *)&address, bytes);
	listen(listener, 1);
	bytes = sizeof(address);
	getsockname(listener, (struct sockaddr *)&address, &bytes);
	(void)!connect(client_fd, (struct sockaddr *)&address, bytes);
	accepted_fd = accept(listener, NULL, NULL);
}

static FILE *zeros, *nowhere;

static void getc_zero(void)
{
	getc(zeros);
}

static void fwrite_small(void)
{
	fwrite("12345678", 1, 8, nowhere);
}

static void fprintf_small(void)
{
	fprintf(nowhere, "%d\n", 12345);
}

static void *lock_hot(void *unused)
{
	(void)unused;
	hot_mutex_pair();
	return NULL;
}

/* One wait makes the lock one whose holds are recorded. */
static void make_hot(void)
{
	pthread_t thread;
	pthread_mutex_lock(&hot);
	pthread_create(&thread, NULL, lock_hot, NULL);
	while (__atomic_load_n(&hot.__data.__lock, __ATOMIC_RELAXED) != 2)
		sched_yield();
	pthread_mutex_unlock(&hot);
	pthread_join(thread, NULL);
}

static void measure(const char *name, void (*call)(void))
{
	uint64_t best = UINT64_MAX;
	for (int i = 0; i < REPETITIONS; i++) {
		uint64_t begin = cpu_ns();
		for (int j = 0; j < CALLS; j++)
			call();
		uint64_t took = cpu_ns() - begin;
		best = took < best ? took : best;
	}
	printf("%s %.1f\n", name, (double)best / CALLS);
}

static void *idle(void *unused)
{
	(void)unused;
	for (;;)
		pause();
	return NULL;
}

int main(void)
{
	pthread_t other; /* libc skips locked instructions while there is one thread */
	pthread_create(&other, NULL, idle, NULL);
	sem_init(&sem, 0, 0);
	zero_fd = open("/dev/zero", O_RDONLY);
	null_fd = open("/dev/null", O_WRONLY);
	epoll_fd = epoll_create1(0);
	ready_fd = epoll_create1(0);
	(void)!pipe(pipe_fds);
	epoll_ctl(ready_fd, EPOLL_CTL_ADD, pipe_fds[1],
		  &(struct epoll_event){ .events = EPOLLOUT });
	measure("mutex_lock+unlock", mutex_pair);
	make_hot();
	measure("mutex_lock+unlock,hot", hot_mutex_pair);
	measure("rwlock_rdlock+unlock", rwlock_pair);
	measure("sem_post+wait", sem_pair);
	measure("cond_signal,unheard", cond_signal);
	measure("read,/dev/zero", read_zero);
	measure("write,/dev/null", write_null);
	measure("write+read,pipe", pipe_pair);
	connect_client();
	measure("read+write,client", request);
	measure("epoll_wait,nothing", epoll_nothing);
	measure("epoll_wait,ready", epoll_ready);
	zeros = fopen("/dev/zero", "r");
	nowhere = fopen("/dev/null", "w");
	measure("getc,buffered", getc_zero);
	measure("fwrite,buffered", fwrite_small);
	measure("fprintf,buffered", fprintf_small);
	return 0;
}

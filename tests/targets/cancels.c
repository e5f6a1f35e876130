/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: a thread is cancelled in each call that POSIX makes a cancellation point and
 * that can block for ever. Once it is blocked by then and once it is not. Its handlers run, and
 * the process writes ten times afterwards.
 */
#include "scenario.h"

#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>

enum { LONG_S = 1000, PERMITS = 5 };

static int empty[2], full[2], pair[2], listener, epoll_fd, queue;
static mqd_t posix_queue;
static char byte;
static struct iovec part = { &byte, 1 };
static struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t none, some;
static sigset_t usr1;
static pthread_t idler;
static const struct timespec long_time = { LONG_S, 0 };
static struct pollfd polled;
static struct epoll_event event;
static pid_t child;
static int handled;

static fd_set *one_of(int fd)
{
	static __thread fd_set set;
	FD_ZERO(&set);
	FD_SET(fd, &set);
	return &set;
}

static struct timespec late(void)
{
	return after_ms(CLOCK_REALTIME, LONG_S * 1000L);
}

static void unlock(void *mutex)
{
	pthread_mutex_unlock(mutex);
}

static void wait_for_it(int is_timed)
{
	struct timespec until = late();
	pthread_mutex_lock(&lock);
	pthread_cleanup_push(unlock, &lock);
	for (;;)
		(void)(is_timed ? pthread_cond_timedwait(&never, &lock, &until)
				: pthread_cond_wait(&never, &lock));
	pthread_cleanup_pop(1);
}

/* Name, the system call in which it blocks, and what the thread does. */
#define POINTS(POINT)                                                                              \
	POINT(read, SYS_read, read(empty[0], &byte, 1))                                            \
	POINT(readv, SYS_readv, readv(empty[0], &part, 1))                                         \
	POINT(write, SYS_write, write(full[1], &byte, 1))                                          \
	POINT(writev, SYS_writev, writev(full[1], &part, 1))                                       \
	POINT(recv, SYS_recvfrom, recv(pair[0], &byte, 1, 0))                                      \
	POINT(recvfrom, SYS_recvfrom, recvfrom(pair[0], &byte, 1, 0, NULL, NULL))                  \
	POINT(recvmsg, SYS_recvmsg, recvmsg(pair[0], &message, 0))                                 \
	POINT(accept, SYS_accept, accept(listener, NULL, NULL))                                    \
	POINT(accept4, SYS_accept4, accept4(listener, NULL, NULL, 0))                              \
	POINT(poll, SYS_poll, poll(&polled, 1, -1))                                                \
	POINT(ppoll, SYS_ppoll, ppoll(&polled, 1, NULL, NULL))                                     \
	POINT(select, SYS_pselect6, select(FD_SETSIZE, one_of(empty[0]), NULL, NULL, NULL))        \
	POINT(pselect, SYS_pselect6,                                                               \
	      pselect(FD_SETSIZE, one_of(empty[0]), NULL, NULL, NULL, NULL))                       \
	POINT(epoll_wait, SYS_epoll_wait, epoll_wait(epoll_fd, &event, 1, -1))                     \
	POINT(epoll_pwait, SYS_epoll_pwait, epoll_pwait(epoll_fd, &event, 1, -1, NULL))            \
	POINT(pause, SYS_pause, pause())                                                           \
	POINT(sigwait, SYS_rt_sigtimedwait, sigwait(&usr1, &handled))                              \
	POINT(sigwaitinfo, SYS_rt_sigtimedwait, sigwaitinfo(&usr1, NULL))                          \
	POINT(sigtimedwait, SYS_rt_sigtimedwait, sigtimedwait(&usr1, NULL, &long_time))            \
	POINT(sigsuspend, SYS_rt_sigsuspend, sigsuspend(&usr1))                                    \
	POINT(sleep, SYS_clock_nanosleep, sleep(LONG_S))                                           \
	POINT(usleep, SYS_clock_nanosleep, usleep(LONG_S * 1000000U))                              \
	POINT(nanosleep, SYS_clock_nanosleep, nanosleep(&long_time, NULL))                         \
	POINT(clock_nanosleep, SYS_clock_nanosleep,                                                \
	      clock_nanosleep(CLOCK_MONOTONIC, 0, &long_time, NULL))                               \
	POINT(waitpid, SYS_wait4, waitpid(child, NULL, 0))                                         \
	POINT(wait, SYS_wait4, wait(NULL))                                                         \
	POINT(waitid, SYS_waitid, waitid(P_PID, (id_t)child, NULL, WEXITED))                       \
	POINT(pthread_join, SYS_futex, pthread_join(idler, NULL))                                  \
	POINT(pthread_cond_wait, SYS_futex, (wait_for_it(0), 0))                                   \
	POINT(pthread_cond_timedwait, SYS_futex, (wait_for_it(1), 0))                              \
	POINT(sem_wait, SYS_futex, sem_wait(&none))                                                \
	POINT(sem_wait_for_some, SYS_futex, sem_wait(&some))                                       \
	POINT(sem_timedwait, SYS_futex,                                                            \
	      sem_timedwait(&none, &(struct timespec){ late().tv_sec, 0 }))                        \
	POINT(msgrcv, SYS_msgrcv, msgrcv(queue, (char[64]){ 0 }, 8, 0, 0))                         \
	POINT(mq_receive, SYS_mq_timedreceive, mq_receive(posix_queue, (char[64]){ 0 }, 64, NULL)) \
	POINT(fcntl, SYS_fcntl,                                                                    \
	      fcntl(locked_fd, F_OFD_SETLKW, &(struct flock){ .l_type = F_WRLCK }))                \
	POINT(open, SYS_openat, open(fifo, O_RDONLY))

static int locked_fd, locker_fd;
static char fifo[] = "/tmp/wcprof-cancel-XXXXXX";

struct point {
	const char *name;
	long number;
	void (*run)(void);
};

#define POINT(name, number, call)      \
	static void point_##name(void) \
	{                              \
		for (;;)               \
			(void)!(call); \
	}
POINTS(POINT)
#undef POINT

static const struct point points[] = {
#define POINT(name, number, call) { #name, number, point_##name },
	POINTS(POINT)
};

static volatile pid_t tid;
static volatile int may_go;
static __thread const struct point *mine;

static void clean_up(void *ran)
{
	++*(int *)ran;
	close(-1);
}

static int ran;

static void *enter(void *point)
{
	mine = point;
	pthread_cleanup_push(clean_up, &ran);
	__atomic_store_n(&tid, (pid_t)gettid(), __ATOMIC_RELEASE);
	while (!__atomic_load_n(&may_go, __ATOMIC_ACQUIRE))
		sched_yield();
	mine->run();
	pthread_cleanup_pop(0);
	return NULL;
}

static void cancel_in(const struct point *point, bool is_early)
{
	pthread_t thread;
	void *result = NULL;
	tid = ran = 0;
	may_go = !is_early;
	pthread_create(&thread, NULL, enter, (void *)point);
	while (!__atomic_load_n(&tid, __ATOMIC_ACQUIRE))
		sched_yield();
	if (!is_early)
		until_in_call(tid, point->number);
	pthread_cancel(thread);
	__atomic_store_n(&may_go, 1, __ATOMIC_RELEASE);
	pthread_join(thread, &result);
	printf("%s: %d %d\n", point->name, result == PTHREAD_CANCELED, ran);
}

static void *stay(void *unused)
{
	(void)unused;
	for (;;)
		pause();
	return NULL;
}

static void prepare(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	(void)!pipe(empty);
	(void)!pipe2(full, O_NONBLOCK);
	while (write(full[1], &byte, 1) == 1)
		;
	fcntl(full[1], F_SETFL, 0);
	(void)!socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	bind(listener, (struct sockaddr *)&address, sizeof(sa_family_t));
	listen(listener, 1);
	epoll_fd = epoll_create1(0);
	polled = (struct pollfd){ empty[0], POLLIN, 0 };
	sem_init(&some, 0, PERMITS);
	queue = msgget(IPC_PRIVATE, 0600);
	posix_queue = mq_open("/wcprof-cancels", O_CREAT | O_RDWR, 0600,
			      &(struct mq_attr){ .mq_maxmsg = 1, .mq_msgsize = 64 });
	mq_unlink("/wcprof-cancels");
	locker_fd = mkstemp(fifo);
	locked_fd = open(fifo, O_RDWR);
	fcntl(locker_fd, F_OFD_SETLK, &(struct flock){ .l_type = F_WRLCK });
	unlink(fifo);
	(void)!mkfifo(fifo, 0600);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &usr1, NULL);
	pthread_create(&idler, NULL, stay, NULL);
	child = fork();
	if (child == 0)
		for (;;)
			pause();
}

static void cancel_all(bool is_early)
{
	int written = 0, permits;
	prepare();
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++)
		cancel_in(&points[i], is_early);
	for (int i = 0; i < 10; i++)
		written += write(pair[1], &byte, 1) == 1;
	sem_getvalue(&some, &permits);
	printf("written: %d, permits: %d\n", written, permits);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	msgctl(queue, IPC_RMID, NULL);
	unlink(fifo);
}

static void blocked(void)
{
	cancel_all(false);
}

static void early(void)
{
	cancel_all(true);
}

static const struct scenario scenarios[] = {
	{ "blocked", blocked },
	{ "early", early },
};

SCENARIOS_MAIN

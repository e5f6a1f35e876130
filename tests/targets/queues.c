/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: message queues move what is said; a semaphore set is waited for twice, once in
 * vain. Lists of asynchronous input and output wait when they are told to. Signals end their
 * waits.
 */
#include "scenario.h"

#include <aio.h>
#include <dirent.h>
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <termios.h>
#include <threads.h>

/* Names of older programs for the same function. */
int list_2_4(int, struct aiocb *const[], int, struct sigevent *);
__asm__(".symver list_2_4, lio_listio@GLIBC_2.4");
int list_2_2_5(int, struct aiocb *const[], int, struct sigevent *);
__asm__(".symver list_2_2_5, lio_listio@GLIBC_2.2.5");
int old_mutex_lock(pthread_mutex_t *);
__asm__(".symver old_mutex_lock, __pthread_mutex_lock@GLIBC_2.2.5");
int old_mutex_unlock(pthread_mutex_t *);
__asm__(".symver old_mutex_unlock, __pthread_mutex_unlock@GLIBC_2.2.5");

int pause_for(int, int) __asm__("__sigpause"); /* sigpause() without its warning */

struct message {
	long type;
	char text[8];
};

static void messages(void)
{
	struct message message = { 1, "hello" };
	int queue = msgget(IPC_PRIVATE, 0600);
	say_errno("msgsnd", msgsnd(queue, &message, 5, 0));
	say_errno("msgrcv", msgrcv(queue, &message, 8, 0, 0));
	say_errno("msgrcv, nothing there", msgrcv(queue, &message, 8, 0, IPC_NOWAIT));
	say_errno("msgctl", msgctl(queue, IPC_RMID, NULL));
	say_errno("msgsnd, no queue", msgsnd(queue, &message, 5, 0));
}

static int set;

static void take(void)
{
	struct sembuf operation = { .sem_op = -1 };
	say_errno("semop", semop(set, &operation, 1));
}

static void until_semaphore_has_waiter(void)
{
	while (semctl(set, 0, GETNCNT) != 1)
		sched_yield();
}

static void permits(void)
{
	struct sembuf give = { .sem_op = 1 };
	struct sembuf no_wait = { .sem_op = -1, .sem_flg = IPC_NOWAIT };
	struct sembuf one = { .sem_op = -1 };
	struct timespec limit = { .tv_nsec = 2000000 };
	struct helper helper;

	set = semget(IPC_PRIVATE, 1, 0600);
	helper_start(&helper, take);
	until_semaphore_has_waiter();
	say_errno("semop, give", semop(set, &give, 1));
	helper_join(&helper);
	say_errno("semtimedop", semtimedop(set, &one, 1, &limit));
	say_errno("semop, no wait", semop(set, &no_wait, 1));
	say_errno("semop, bad address", semop(set, bad_address(), 1));
	say_errno("semctl", semctl(set, 0, IPC_RMID));
}

static void cancelled(void)
{
	struct sembuf give = { .sem_op = 1 };
	struct helper helper;

	set = semget(IPC_PRIVATE, 1, 0600);
	helper_start(&helper, take);
	until_semaphore_has_waiter();
	pthread_cancel(helper.thread);
	semop(set, &give, 1);
	helper_join(&helper);
	semctl(set, 0, IPC_RMID);
}

static void posix(void)
{
	struct mq_attr attributes = { .mq_maxmsg = 2, .mq_msgsize = 16 };
	struct timespec past = in_the_past();
	char name[64];
	char data[16] = "";
	unsigned int priority = 0;

	snprintf(name, sizeof(name), "/wcprof-%d", (int)getpid());
	mqd_t queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attributes);
	printf("mq_open %d\n", queue >= 0);
	say_errno("mq_send", mq_send(queue, "four", 4, 1));
	say_errno("mq_timedsend", mq_timedsend(queue, "sixsix", 6, 7, &past));
	say_errno("mq_timedsend, full", mq_timedsend(queue, "x", 1, 0, &past));
	say_errno("mq_receive", mq_receive(queue, data, sizeof(data), &priority));
	printf("priority %u\n", priority);
	say_errno("mq_timedreceive", mq_timedreceive(queue, data, sizeof(data), NULL, &past));
	say_errno("mq_timedreceive, empty",
		  mq_timedreceive(queue, data, sizeof(data), NULL, &past));
	say_errno("mq_receive, no room", mq_receive(queue, data, 1, NULL));
	say_errno("mq_close", mq_close(queue));
	say_errno("mq_unlink", mq_unlink(name));
}

static void until_done(const struct aiocb *block)
{
	while (aio_error(block) == EINPROGRESS)
		aio_suspend(&block, 1, NULL);
}

/* The oldest lio_listio() does not wait for what it has just queued. */
static void async(void)
{
	char data[4];
	struct aiocb block = { .aio_fildes = open("/dev/zero", O_RDONLY),
			       .aio_buf = data,
			       .aio_nbytes = sizeof(data),
			       .aio_lio_opcode = LIO_READ,
			       .aio_sigevent.sigev_notify = SIGEV_NONE };
	struct aiocb *list[1] = { &block };
	const struct aiocb *const_list[1] = { &block };

	say_errno("lio_listio", lio_listio(LIO_WAIT, list, 1, NULL));
	say_errno("aio_return", aio_return(&block));
	say_errno("lio_listio@2.4", list_2_4(LIO_WAIT, list, 1, NULL));
	say_errno("aio_return", aio_return(&block));
	say_errno("lio_listio@2.2.5", list_2_2_5(LIO_WAIT, list, 1, NULL));
	until_done(&block);
	say_errno("aio_return", aio_return(&block));
	say_errno("lio_listio, no wait", lio_listio(LIO_NOWAIT, list, 1, NULL));
	until_done(&block);
	say_errno("aio_suspend", aio_suspend(const_list, 1, NULL));
	say_errno("aio_return", aio_return(&block));
	say_errno("aio_cancel", aio_cancel(block.aio_fildes, NULL) == AIO_ALLDONE);
	say_errno("lio_listio, bad mode", lio_listio(4711, list, 1, NULL));
}

static void nothing(int number)
{
	(void)number;
}

/* Each of its waits ends by a signal that was sent before. */
static void signals(void)
{
	struct sigaction action = { .sa_handler = nothing };
	struct timespec none = { 0 };
	sigset_t usr1, empty;
	int number = 0;

	sigaction(SIGUSR1, &action, NULL);
	sigemptyset(&empty);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	raise(SIGUSR1);
	say("sigwait", sigwait(&usr1, &number));
	raise(SIGUSR1);
	say_errno("sigwaitinfo", sigwaitinfo(&usr1, NULL));
	say_errno("sigtimedwait, none", sigtimedwait(&usr1, NULL, &none));
	raise(SIGUSR1);
	say_errno("sigsuspend", sigsuspend(&empty));
	raise(SIGUSR1);
	say_errno("sigpause", pause_for(SIGUSR1, 1));
	say("sigwait, bad address", sigwait(bad_address(), &number));
}

static pthread_spinlock_t spin;

static void spin_once(void)
{
	pthread_spin_lock(&spin);
	pthread_spin_unlock(&spin);
}

/* CPU time that a thread uses before it says anything else, it uses in the lock. */
static void until_spinning(pthread_t thread)
{
	struct timespec used = { 0 };
	clockid_t clock;

	pthread_getcpuclockid(thread, &clock);
	while (clock_gettime(clock, &used) == 0 && used.tv_nsec < 20000000)
		sched_yield();
}

static void spins(void)
{
	struct helper helper;
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	say("init", pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE));
	say("lock", pthread_spin_lock(&spin));
	say("trylock", pthread_spin_trylock(&spin));
	helper_start(&helper, spin_once);
	until_spinning(helper.thread);
	say("unlock", pthread_spin_unlock(&spin));
	helper_join(&helper);
	say("lock", pthread_spin_lock(&spin));
	say("unlock", pthread_spin_unlock(&spin));
	say("destroy", pthread_spin_destroy(&spin));
	say("old lock", old_mutex_lock(&mutex));
	say("old unlock", old_mutex_unlock(&mutex));
	say("busy", pthread_mutex_trylock(&mutex));
}

static void places(void)
{
	char data[16];
	int ends[2];
	struct winsize size;
	struct dirent *entry;
	int names = 0;

	DIR *directory = opendir("/proc/self/fdinfo/..");
	while ((entry = readdir(directory)))
		names += strcmp(entry->d_name, "..") == 0;
	printf("names %d\n", names);
	say_errno("closedir", closedir(directory));
	printf("opendir %d\n", opendir("/nonexistent") != NULL);
	(void)!socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	say_errno("shutdown", shutdown(ends[0], SHUT_WR));
	say_errno("shutdown", shutdown(-1, SHUT_WR));
	say_errno("ioctl", ioctl(ends[0], TIOCGWINSZ, &size));
	say_errno("tcdrain", tcdrain(ends[0]));
	say_errno("getrandom", getrandom(data, sizeof(data), 0));
	say_errno("getentropy", getentropy(data, sizeof(data)));
	void *memory = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	say_errno("madvise", madvise(memory, 8192, MADV_DONTNEED));
	say_errno("munmap", munmap(memory, 8192));
	say_errno("munmap, bad", munmap((void *)1, 1));
	sync();
	say_errno("sched_yield", sched_yield());
	thrd_yield();
}

static const struct scenario scenarios[] = {
	{ "messages", messages }, { "permits", permits }, { "cancelled", cancelled },
	{ "posix", posix },       { "async", async },     { "signals", signals },
	{ "spins", spins },       { "places", places },
};

SCENARIOS_MAIN

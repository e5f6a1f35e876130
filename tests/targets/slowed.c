/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does what it is told, a letter at a time, and answers each with the letter and what came of it.
 * The letters are read and answered by system calls that no hook sees.
 */
#include "scenario.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spinlock;
static FILE *zero;
static int null;

static long unseen(long number, long a, long b, long c)
{
	long result;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return result;
}

static long do_sleep(void)
{
	struct timespec time = { 0, 2000000 };
	return nanosleep(&time, NULL);
}

static long do_write(void)
{
	return write(null, "x", 1);
}

static long do_fail(void)
{
	long result = write(-1, "x", 1);
	return result == -1 && errno == EBADF ? 1 : 0;
}

static long do_stream(void)
{
	char bytes[4096];
	return (long)fread(bytes, 1, sizeof(bytes), zero);
}

static long do_fcntl(void)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	return fcntl(fileno(zero), F_SETLKW, &lock) == 0 || errno == EINVAL;
}

static long do_mutex(void)
{
	return pthread_mutex_lock(&mutex) | pthread_mutex_unlock(&mutex);
}

static long do_read_lock(void)
{
	return pthread_rwlock_rdlock(&rwlock) | pthread_rwlock_unlock(&rwlock);
}

static long do_write_lock(void)
{
	return pthread_rwlock_wrlock(&rwlock) | pthread_rwlock_unlock(&rwlock);
}

static long do_spin_lock(void)
{
	return pthread_spin_lock(&spinlock) | pthread_spin_unlock(&spinlock);
}

/* The hold ends as the wait begins, and another one when it has ended. */
static long do_cond(void)
{
	static pthread_cond_t nobodys = PTHREAD_COND_INITIALIZER;
	struct timespec until = in_the_past();
	pthread_mutex_lock(&mutex);
	long result = pthread_cond_timedwait(&nobodys, &mutex, &until) == ETIMEDOUT;
	pthread_mutex_unlock(&mutex);
	return result;
}

static long do_system(void)
{
	return system("exit 3") >> 8;
}

static void handler(int number)
{
	(void)number;
	do_sleep();
}

static long do_handler(void)
{
	return signal(SIGUSR1, handler) == SIG_ERR || raise(SIGUSR1) != 0;
}

/* Cancelled in a sleep, or in what a trial adds to it. */
static void *sleep_on(void *unused)
{
	for (;;)
		do_sleep();
	return unused;
}

static long do_cancel(void)
{
	pthread_t thread;
	void *result = NULL;
	if (pthread_create(&thread, NULL, sleep_on, NULL) != 0)
		return 0;
	do_sleep();
	pthread_cancel(thread);
	pthread_join(thread, &result);
	return result == PTHREAD_CANCELED;
}

/* The child of a fork does what its parent does. */
static long do_fork(void)
{
	int status = -1;
	pid_t pid = fork();
	if (pid == 0)
		_exit(do_sleep() == 0 ? 5 : 6);
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

/* --- Code that a rule may name: all of its section --- */

extern const char __start_burning[], __stop_burning[];

static __attribute__((noinline, section("burning"))) void burn(void)
{
	for (volatile unsigned int i = 0; i < 800000000; i++)
		;
}

static long cpu_us(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Microseconds of CPU time. */
static long do_burn(void)
{
	long begun = cpu_us();
	burn();
	return cpu_us() - begun;
}

/* Where it is: the code of a module begins with the module. */
static long do_tell_start(void)
{
	return (long)__start_burning;
}

static long do_tell_end(void)
{
	return (long)__stop_burning;
}

/* --- Waits that another thread ends, once this one sleeps ------------------------------------- */

static pid_t waiter;
static sem_t semaphore;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static unsigned int word;
static volatile bool is_held;

static void post(void)
{
	until_in_call(waiter, SYS_futex);
	sem_post(&semaphore);
}

static void signal_cond(void)
{
	until_in_call(waiter, SYS_futex);
	pthread_cond_signal(&cond);
}

static void hold_mutex(void)
{
	pthread_mutex_lock(&mutex);
	__atomic_store_n(&is_held, true, __ATOMIC_RELEASE);
	until_in_call(waiter, SYS_futex);
	pthread_mutex_unlock(&mutex);
}

static void wake_word(void)
{
	until_in_call(waiter, SYS_futex);
	while (syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) == 0)
		;
}

static void arrive(void)
{
	until_in_call(waiter, SYS_futex);
	pthread_barrier_wait(&barrier);
}

static void wait_for_mutex(void)
{
	while (!__atomic_load_n(&is_held, __ATOMIC_ACQUIRE))
		;
	pthread_mutex_lock(&mutex);
	is_held = false;
	pthread_mutex_unlock(&mutex);
}

static void wait_for_signal(void)
{
	pthread_mutex_lock(&mutex);
	pthread_cond_wait(&cond, &mutex);
	pthread_mutex_unlock(&mutex);
}

static long be_woken(void (*waker)(void), void (*wait)(void))
{
	struct helper helper;
	waiter = gettid();
	helper_start(&helper, waker);
	wait();
	pthread_join(helper.thread, NULL);
	return 1;
}

static void wait_for_post(void)
{
	sem_wait(&semaphore);
}

static void wait_for_word(void)
{
	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static void wait_for_all(void)
{
	pthread_barrier_wait(&barrier);
}

static long do_wait_sem(void)
{
	return be_woken(post, wait_for_post);
}

static long do_wait_cond(void)
{
	return be_woken(signal_cond, wait_for_signal);
}

static long do_wait_mutex(void)
{
	return be_woken(hold_mutex, wait_for_mutex);
}

static long do_wait_word(void)
{
	return be_woken(wake_word, wait_for_word);
}

static long do_wait_barrier(void)
{
	return be_woken(arrive, wait_for_all);
}

static const struct {
	char letter;
	long (*run)(void);
} commands[] = {
	{ 's', do_sleep },        { 'w', do_write },      { 'f', do_fail },
	{ 't', do_stream },       { 'k', do_fcntl },      { 'm', do_mutex },
	{ 'r', do_read_lock },    { 'x', do_write_lock }, { 'p', do_spin_lock },
	{ 'c', do_cond },         { 'y', do_system },     { 'h', do_handler },
	{ 'e', do_cancel },       { 'o', do_fork },       { 'A', do_wait_sem },
	{ 'u', do_burn },         { '<', do_tell_start }, { '>', do_tell_end },
	{ 'B', do_wait_cond },    { 'C', do_wait_mutex }, { 'D', do_wait_word },
	{ 'E', do_wait_barrier },
};

int main(void)
{
	char letter;
	pthread_spin_init(&spinlock, 0);
	sem_init(&semaphore, 0, 0);
	pthread_barrier_init(&barrier, NULL, 2);
	zero = fopen("/dev/zero", "re");
	null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	while (unseen(SYS_read, 0, (long)&letter, 1) == 1)
		for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
			char answer[64];
			if (commands[i].letter != letter)
				continue;
			int bytes = snprintf(answer, sizeof(answer), "%c %ld\n", letter,
					     commands[i].run());
			unseen(SYS_write, 1, (long)answer, bytes);
		}
	return 0;
}

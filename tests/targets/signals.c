/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: handlers that interrupt hooks, post, write, and jump out of waits change
 * nothing.
 */
#include "scenario.h"

#include <fcntl.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

enum {
	ROUNDS = 20000,
	JUMPS = 300,
	SENDERS_PAUSE_US = 50,
	DIRECTED = 2000, /* a thread that is not to have one gets one of some ten */
	ALARMS = 200,
	ALARM_US = 100
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static sem_t handled;
static int null_fd;
static volatile int is_over;
static pthread_t workers[2];

static void post_and_write(int number)
{
	int error = errno;
	sem_post(&handled);
	(void)!write(null_fd, &number, 1);
	errno = error;
}

static void *work(void *sum)
{
	for (int i = 0; i < ROUNDS; i++) {
		errno = 4711;
		pthread_mutex_lock(&lock);
		++*(long *)sum;
		if (i % 16 == 0)
			pthread_cond_broadcast(&turn);
		pthread_mutex_unlock(&lock);
		if (errno != 4711)
			puts("errno was changed");
		if (write(null_fd, &i, sizeof(i)) != sizeof(i))
			puts("a write failed");
	}
	return NULL;
}

static void *send_signals(void *unused)
{
	(void)unused;
	while (!is_over) {
		pthread_kill(workers[0], SIGUSR1);
		pthread_kill(workers[1], SIGUSR1);
		usleep(SENDERS_PAUSE_US);
	}
	return NULL;
}

/* Signals rain on threads that lock, signal and write; the sender outlives no worker. */
static void storm(void)
{
	struct sigaction action = { .sa_handler = post_and_write, .sa_flags = SA_RESTART };
	pthread_t sender;
	static long sum;

	sem_init(&handled, 0, 0);
	null_fd = open("/dev/null", O_WRONLY);
	sigaction(SIGUSR1, &action, NULL);
	pthread_create(&workers[0], NULL, work, &sum);
	workers[1] = pthread_self();
	pthread_create(&sender, NULL, send_signals, NULL);
	work(&sum);
	is_over = 1;
	pthread_join(sender, NULL);
	pthread_join(workers[0], NULL);
	printf("sum %ld\n", sum);
}

static sigjmp_buf back;
static volatile sig_atomic_t may_jump;

static void jump(int number)
{
	(void)number;
	if (may_jump)
		siglongjmp(back, 1);
}

static void hold_lock(void)
{
	pthread_mutex_lock(&lock);
	while (!is_over)
		sched_yield();
	pthread_mutex_unlock(&lock);
}

/*
 * Jumps out of a wait for a lock, again and again; then the lock is free, and taken. (A jump out of
 * pthread_mutex_lock is allowed nowhere and works everywhere.)
 */
static void jumps(void)
{
	struct sigaction action = { .sa_handler = jump };
	struct itimerval soon = { .it_value = { .tv_usec = 200 } };
	volatile int count = 0;
	struct helper helper;

	sigaction(SIGALRM, &action, NULL);
	helper_start(&helper, hold_lock);
	while (pthread_mutex_trylock(&lock) == 0) {
		pthread_mutex_unlock(&lock);
		sched_yield();
	}
	while (count < JUMPS) {
		if (sigsetjmp(back, 1) == 0) {
			may_jump = 1;
			setitimer(ITIMER_REAL, &soon, NULL);
			pthread_mutex_lock(&lock);
			puts("got it");
		}
		may_jump = 0;
		count++;
	}
	is_over = 1;
	helper_join(&helper);
	say("lock", pthread_mutex_lock(&lock));
	say("unlock", pthread_mutex_unlock(&lock));
	say_errno("write", write(open("/dev/null", O_WRONLY), "x", 1));
}

/* A thread beside the program has begun: there is its socket. */
static void settle(void)
{
	char name[200];
	snprintf(name, sizeof(name), "%s/%d.sock", getenv("WCPROF_DIR"), getpid());
	while (getenv("LD_PRELOAD") && access(name, F_OK) != 0)
		sched_yield();
}

static void end_here(int number)
{
	(void)number;
	puts("somebody else got it");
}

/* Sent to the process, all of whose threads block them: whoever waits gets them, nobody else. */
static void directed(void)
{
	struct sigaction action = { .sa_handler = end_here };
	struct timespec none = { 0 };
	sigset_t usr1;
	int taken = 0;

	sigaction(SIGUSR1, &action, NULL);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	settle();
	pthread_sigmask(SIG_BLOCK, &usr1, NULL);
	for (int i = 0; i < DIRECTED; i++) {
		kill(getpid(), SIGUSR1);
		taken += sigtimedwait(&usr1, NULL, &none) == SIGUSR1;
	}
	printf("taken: %d\n", taken);
}

static pthread_mutex_t handlers_lock = PTHREAD_MUTEX_INITIALIZER;
static int zero_fd, ticks;

static void lock_and_read(int number)
{
	int error = errno;
	(void)number;
	pthread_mutex_lock(&handlers_lock);
	ticks += read(zero_fd, (char[1]){ 1 }, 1) == 1;
	pthread_mutex_unlock(&handlers_lock);
	errno = error;
}

/* A timer whose handler locks and reads goes off wherever two threads just are. */
static void alarms(void)
{
	struct sigaction action = { .sa_handler = lock_and_read, .sa_flags = SA_RESTART };
	struct itimerval often = { { .tv_usec = ALARM_US }, { .tv_usec = ALARM_US } };
	static long sum;

	null_fd = open("/dev/null", O_WRONLY);
	zero_fd = open("/dev/zero", O_RDONLY);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	pthread_create(&workers[0], NULL, work, &sum);
	work(&sum);
	pthread_join(workers[0], NULL);
	while (__atomic_load_n(&ticks, __ATOMIC_RELAXED) < ALARMS)
		work(&sum);
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
	printf("sum is whole: %d\n", sum % ROUNDS == 0 && sum >= 2 * ROUNDS);
}

static void say_mask(const char *who)
{
	sigset_t mask;
	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	for (int number = 1; number < NSIG; number++)
		if (sigismember(&mask, number) == 1)
			printf("%s blocks %d\n", who, number);
}

static void *say_mask_of_thread(void *unused)
{
	(void)unused;
	say_mask("a thread");
	(void)!write(null_fd, "x", 1);
	say_mask("a thread, later,");
	return NULL;
}

/* Each thread blocks what it, or who made it, chose; and so does a child. */
static void masks(void)
{
	sigset_t some;
	pthread_t thread;

	null_fd = open("/dev/null", O_WRONLY);
	settle();
	say_mask("at first, main");
	sigemptyset(&some);
	sigaddset(&some, SIGUSR2);
	sigaddset(&some, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &some, NULL);
	pthread_create(&thread, NULL, say_mask_of_thread, NULL);
	pthread_join(thread, NULL);
	fflush(stdout);
	pid_t child = fork();
	(void)!write(null_fd, "x", 1);
	say_mask(child ? "main" : "a child");
	if (child == 0)
		exit(0);
	waitpid(child, NULL, 0);
}

static const struct scenario scenarios[] = {
	{ "storm", storm },   { "jumps", jumps }, { "directed", directed },
	{ "alarms", alarms }, { "masks", masks },
};

SCENARIOS_MAIN

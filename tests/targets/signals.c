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

enum { ROUNDS = 20000, JUMPS = 300, SENDERS_PAUSE_US = 50 };

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

static const struct scenario scenarios[] = { { "storm", storm }, { "jumps", jumps } };

SCENARIOS_MAIN

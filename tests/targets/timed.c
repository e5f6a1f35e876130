/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs whose waits end by the clock, each a small one: timed NAME ROUNDS A_US B_US.
 *
 * All work is sleeping: work_a() and work_b() for so many microseconds each. So what a change of
 * one of them saves can be measured on a busy machine. A program is over when all rounds are.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

static long rounds, a_us, b_us;

__attribute__((noinline)) static void work_a(void)
{
	usleep((useconds_t)a_us);
	__asm__ volatile("");
}

__attribute__((noinline)) static void work_b(void)
{
	usleep((useconds_t)b_us);
	__asm__ volatile("");
}

static long long now_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static struct timespec after_us(clockid_t clock, long us)
{
	long long at_ns = now_ns(clock) + us * 1000;
	return (struct timespec){ at_ns / 1000000000, at_ns % 1000000000 };
}

/* First some work, then beats at an even distance; the sleep is for what is left until the next. */
static void schedule(void)
{
	for (long i = 0; i < rounds; i++)
		work_a();
	long long beat_ns = now_ns(CLOCK_MONOTONIC);
	for (long i = 0; i < rounds; i++) {
		for (long n = i % 3; n >= 0; n--)
			work_b();
		beat_ns += 5 * b_us * 1000;
		long long left_ns = beat_ns - now_ns(CLOCK_MONOTONIC);
		if (left_ns > 0)
			usleep((useconds_t)(left_ns / 1000));
	}
}

/* Six ways to sleep that are no call of the name: A each. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

__attribute__((noinline)) static void nap_in_cond(void)
{
	const struct timespec until = after_us(CLOCK_REALTIME, a_us);
	pthread_mutex_lock(&lock);
	while (pthread_cond_timedwait(&never, &lock, &until) == 0)
		continue;
	pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) static void nap_in_sem(void)
{
	static sem_t nothing;
	const struct timespec until = after_us(CLOCK_REALTIME, a_us);
	while (sem_timedwait(&nothing, &until) == 0)
		continue;
}

__attribute__((noinline)) static void nap_in_poll(void)
{
	poll(NULL, 0, (int)(a_us / 1000));
}

__attribute__((noinline)) static void nap_in_select(void)
{
	struct timeval left = { 0, a_us };
	select(0, NULL, NULL, NULL, &left);
}

__attribute__((noinline)) static void nap_in_epoll(void)
{
	static int queue = -1;
	struct epoll_event event;
	queue = queue < 0 ? epoll_create1(0) : queue;
	epoll_wait(queue, &event, 1, (int)(a_us / 1000));
}

__attribute__((noinline)) static void nap_in_signals(void)
{
	const struct timespec left = { 0, a_us * 1000 };
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR2);
	sigtimedwait(&signals, NULL, &left);
}

static void naps(void)
{
	for (long i = 0; i < rounds; i++) {
		nap_in_cond();
		nap_in_sem();
		nap_in_poll();
		nap_in_select();
		nap_in_epoll();
		nap_in_signals();
		work_b();
	}
}

/* A thread does jobs of several lengths; main looks between sleeps whether each is done. */
static sem_t submitted;
static atomic_long jobs_done;

static void *do_jobs(void *argument)
{
	int log = open("/dev/null", O_WRONLY);
	for (long i = 0; i < rounds; i++) {
		sem_wait(&submitted);
		for (long n = i % 3; n >= 0; n--)
			work_a();
		if (write(log, "done", 4) != 4)
			abort();
		atomic_store(&jobs_done, i + 1);
	}
	close(log);
	return argument;
}

static void jobs(void)
{
	pthread_t worker;
	if (pthread_create(&worker, NULL, do_jobs, NULL) != 0)
		abort();
	for (long i = 0; i < rounds; i++) {
		sem_post(&submitted);
		while (atomic_load(&jobs_done) <= i)
			work_b();
	}
	pthread_join(worker, NULL);
}

/* A thread keeps something up to date until main, which works meanwhile, tells it to stop. */
static atomic_bool is_over;

static void *keep_house(void *argument)
{
	int log = open("/dev/null", O_WRONLY);
	while (!atomic_load(&is_over)) {
		if (write(log, "alive", 5) != 5)
			abort();
		work_b();
	}
	close(log);
	return argument;
}

static void housekeeping(void)
{
	pthread_t keeper;
	if (pthread_create(&keeper, NULL, keep_house, NULL) != 0)
		abort();
	for (long i = 0; i < rounds; i++)
		work_a();
	atomic_store(&is_over, true);
	pthread_join(keeper, NULL);
}

static void write_log(void)
{
	static int log = -1;
	log = log < 0 ? open("/dev/null", O_WRONLY) : log;
	if (write(log, "alive", 5) != 5)
		abort();
}

/* As the one that keeps house, but it waits: for a signal, or B; or for a byte in a pipe, or B. */
static pthread_cond_t told = PTHREAD_COND_INITIALIZER;
static bool is_told;
static int words_in, words_out;

static void *keep_house_until_told(void *argument)
{
	pthread_mutex_lock(&lock);
	while (!is_told) {
		const struct timespec until = after_us(CLOCK_REALTIME, 5 * b_us);
		if (pthread_cond_timedwait(&told, &lock, &until) == 0)
			continue;
		pthread_mutex_unlock(&lock);
		write_log();
		pthread_mutex_lock(&lock);
	}
	pthread_mutex_unlock(&lock);
	return argument;
}

static void *keep_house_until_word(void *argument)
{
	struct pollfd word = { words_in, POLLIN, 0 };
	char byte;
	while (poll(&word, 1, (int)(5 * b_us / 1000)) == 0)
		write_log();
	if (read(words_in, &byte, 1) != 1)
		abort();
	return argument;
}

static void work_beside(void *(*keep)(void *))
{
	pthread_t keeper;
	if (pthread_create(&keeper, NULL, keep, NULL) != 0)
		abort();
	for (long i = 0; i < rounds; i++)
		work_a();
	pthread_mutex_lock(&lock);
	is_told = true;
	pthread_cond_signal(&told);
	pthread_mutex_unlock(&lock);
	if (words_out && write(words_out, "x", 1) != 1)
		abort();
	pthread_join(keeper, NULL);
}

static void signalled(void)
{
	work_beside(keep_house_until_told);
}

static void piped(void)
{
	int ends[2];
	if (pipe(ends) != 0)
		abort();
	words_in = ends[0];
	words_out = ends[1];
	work_beside(keep_house_until_word);
}

int main(int count, char **words)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} programs[] = {
		{ "schedule", schedule },         { "naps", naps },           { "jobs", jobs },
		{ "housekeeping", housekeeping }, { "signalled", signalled }, { "piped", piped },
	};
	for (size_t i = 0; count == 5 && i < sizeof(programs) / sizeof(programs[0]); i++)
		if (strcmp(words[1], programs[i].name) == 0) {
			rounds = atol(words[2]);
			a_us = atol(words[3]);
			b_us = atol(words[4]);
			programs[i].run();
			return 0;
		}
	fprintf(stderr, "usage: timed NAME ROUNDS A_US B_US\n");
	return 2;
}

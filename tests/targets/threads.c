/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: every thread is there with its start routine, its creator and its end, however
 * it ends.
 */
#include "scenario.h"

#include <sys/mman.h>
#include <threads.h>

static void *return_argument(void *argument)
{
	return argument;
}

static void *exit_early(void *argument)
{
	pthread_exit(argument);
}

static void *until_cancelled(void *argument)
{
	(void)argument;
	for (;;)
		pause();
	return NULL;
}

static int return_seven(void *argument)
{
	(void)argument;
	return 7;
}

static void joins(void)
{
	struct timespec past = in_the_past();
	struct timespec later = after_ms(CLOCK_REALTIME, 10000);
	pthread_t thread;
	void *result;
	thrd_t c11;
	int code;

	say("create", pthread_create(&thread, NULL, return_argument, &code));
	say("join", pthread_join(thread, &result));
	printf("result is the argument: %d\n", result == &code);
	pthread_create(&thread, NULL, exit_early, &code);
	say("timedjoin", pthread_timedjoin_np(thread, &result, &later));
	printf("result is the argument: %d\n", result == &code);
	pthread_create(&thread, NULL, until_cancelled, NULL);
	say("tryjoin", pthread_tryjoin_np(thread, NULL));
	say("timedjoin, past", pthread_timedjoin_np(thread, NULL, &past));
	say("clockjoin, past", pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &past));
	say("cancel", pthread_cancel(thread));
	say("join", pthread_join(thread, &result));
	printf("cancelled: %d\n", result == PTHREAD_CANCELED);
	printf("c11 create %d\n", thrd_create(&c11, return_seven, NULL) == thrd_success);
	printf("c11 join %d", thrd_join(c11, &code) == thrd_success);
	printf(" %d\n", code);
}

/* Twenty thousand, two hundred at a time. */
static void many(void)
{
	pthread_t threads[200];
	for (int round = 0; round < 100; round++) {
		for (int i = 0; i < 200; i++)
			if (pthread_create(&threads[i], NULL, return_argument, NULL))
				puts("create failed");
		for (int i = 0; i < 200; i++)
			pthread_join(threads[i], NULL);
	}
	puts("all joined");
}

/* Each asks the recorder for what it keeps of an object of its own. */
static void *signal_nobody(void *argument)
{
	pthread_cond_t own = PTHREAD_COND_INITIALIZER;
	for (int i = 0; i < 20; i++) {
		pthread_cond_signal(&own);
		pthread_cond_destroy(&own);
	}
	return argument;
}

/* Three hundred that begin at once, twenty times, made by six. */
static void *create_fifty(void *argument)
{
	pthread_t threads[50];
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 50; i++)
			if (pthread_create(&threads[i], NULL, signal_nobody, NULL))
				puts("create failed");
		for (int i = 0; i < 50; i++)
			pthread_join(threads[i], NULL);
	}
	return argument;
}

static void crowd(void)
{
	pthread_t threads[6];
	for (int i = 0; i < 6; i++)
		pthread_create(&threads[i], NULL, create_fifty, NULL);
	for (int i = 0; i < 6; i++)
		pthread_join(threads[i], NULL);
	puts("all joined");
}

static void *unmap_what_it_was_made_for(void *page)
{
	pthread_detach(pthread_self());
	munmap(page, 4096);
	return NULL;
}

/* A thread that nobody joins ends the life of what its number was written to, maybe before the call
 * that made it returns. */
static void gone(void)
{
	for (int i = 0; i < 300; i++) {
		char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				  -1, 0);
		if (page == MAP_FAILED || pthread_create((pthread_t *)(page + 64), NULL,
							 unmap_what_it_was_made_for, page))
			puts("create failed");
	}
	puts("all gone");
}

static int late_ends[2];

static void *read_twice(void *argument)
{
	char byte;
	for (int i = 0; i < 2; i++)
		if (read(late_ends[0], &byte, 1) != 1)
			puts("nothing read");
	return argument;
}

/* Threads that are there before somebody, who is told so, turns recording on. */
static void late(void)
{
	pthread_t threads[4];
	if (pipe(late_ends))
		abort();
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, read_twice, NULL);
	puts("ready");
	fflush(stdout);
	getchar();
	if (write(late_ends[1], "12345678", 8) != 8)
		abort();
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	puts("joined");
	fflush(stdout);
	getchar();
}

static pthread_key_t key;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Destructors of other keys take locks after ours has run, in each of four rounds. */
static void destructor(void *value)
{
	static int rounds;
	pthread_mutex_lock(&lock);
	rounds++;
	printf("round %d\n", rounds);
	if (rounds < 4)
		pthread_setspecific(key, value);
	pthread_mutex_unlock(&lock);
}

static void *with_key(void *argument)
{
	pthread_setspecific(key, argument);
	return NULL;
}

static void keys(void)
{
	pthread_t thread;
	pthread_key_create(&key, destructor);
	pthread_create(&thread, NULL, with_key, &key);
	pthread_join(thread, NULL);
}

static void *detached(void *argument)
{
	__atomic_fetch_add((int *)argument, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void detach(void)
{
	int done = 0;
	pthread_t thread;
	for (int i = 0; i < 500; i++) {
		while (pthread_create(&thread, NULL, detached, &done) != 0)
			sched_yield();
		pthread_detach(thread);
	}
	while (__atomic_load_n(&done, __ATOMIC_SEQ_CST) < 500)
		sched_yield();
	puts("all ran");
}

static void join_helper(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, until_cancelled, NULL);
	pthread_join(thread, NULL);
}

/* A cancelled join leaves the other thread to be joined. */
static void cancelled(void)
{
	struct helper helper;
	helper_start(&helper, join_helper);
	until_in_call(helper.tid, SYS_futex);
	pthread_cancel(helper.thread);
	helper_join(&helper);
}

static void failing(void)
{
	pthread_attr_t attributes;
	pthread_t thread;
	cpu_set_t none;
	CPU_ZERO(&none);
	pthread_attr_init(&attributes);
	pthread_attr_setaffinity_np(&attributes, sizeof(none), &none);
	for (int i = 0; i < 1000; i++)
		if (pthread_create(&thread, &attributes, return_argument, NULL) != EINVAL)
			puts("created on no processor");
	say("create", pthread_create(&thread, NULL, return_argument, NULL));
	pthread_join(thread, NULL);
}

static const struct scenario scenarios[] = {
	{ "joins", joins },   { "many", many },           { "keys", keys },
	{ "detach", detach }, { "cancelled", cancelled }, { "failing", failing },
	{ "crowd", crowd },   { "late", late },           { "gone", gone },
};

SCENARIOS_MAIN

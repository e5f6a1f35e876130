/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: what runs before main, around forks and after it works as alone, and is
 * recorded.
 */
#include "scenario.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/wait.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int early_calls;

static void *touch(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&lock);
	early_calls += close(-1) == -1;
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* Before all constructors but those of preloads that ask to be first. */
static void before_constructors(int count, char **arguments, char **environment)
{
	(void)count;
	(void)arguments;
	(void)environment;
	touch(NULL);
}

__attribute__((section(".preinit_array"),
	       used)) static void (*const preinit)(int, char **, char **) = before_constructors;

__attribute__((constructor)) static void before_main(void)
{
	pthread_t thread;
	touch(NULL);
	pthread_create(&thread, NULL, touch, NULL);
	pthread_join(thread, NULL);
}

__attribute__((destructor)) static void after_main(void)
{
	pthread_mutex_lock(&lock);
	close(-1);
	pthread_mutex_unlock(&lock);
}

static void early(void)
{
	printf("early calls: %d\n", early_calls);
}

static void count_in(void)
{
	pthread_mutex_lock(&lock);
	close(-1);
}

static void count_out(void)
{
	close(-1);
	pthread_mutex_unlock(&lock);
}

/* Handlers that lock around the fork, as allocators do; forks by every way that libc has. */
static void forks(void)
{
	int status;
	pthread_atfork(count_in, count_out, count_out);
	for (int i = 0; i < 5; i++) {
		fflush(stdout);
		pid_t pid = i == 4 ? _Fork() : fork();
		if (pid == 0) {
			touch(NULL);
			usleep(1);
			touch(NULL);
			_exit(i);
		}
		waitpid(pid, &status, 0);
		printf("child %d\n", WEXITSTATUS(status));
	}
}

/* A child that forks, whose child forks: each has one recording. */
static void generations(void)
{
	for (int i = 0; i < 3; i++) {
		fflush(stdout);
		pid_t pid = fork();
		if (pid > 0) {
			int status;
			waitpid(pid, &status, 0);
			exit(i + 1);
		}
		touch(NULL);
	}
	exit(4);
}

static void *run_on(void *unused)
{
	for (;;)
		touch(unused);
	return NULL;
}

/* Threads that go on while the process ends. */
static void busy_end(void)
{
	pthread_t thread;
	for (int i = 0; i < 4; i++)
		pthread_create(&thread, NULL, run_on, NULL);
	puts("over");
}

static void unload(void)
{
	for (int i = 0; i < 50; i++) {
		void *handle = dlopen("libresolv.so.2", RTLD_NOW);
		touch(NULL);
		if (!handle || dlclose(handle))
			puts("failed");
	}
	printf("dlclose %d\n", dlclose(dlopen(NULL, RTLD_NOW)));
}

/* Opens what PLUGIN names, late, and runs it. */
static void plugin(void)
{
	void *handle = dlopen(getenv("PLUGIN"), RTLD_NOW);
	void (*run)(void);
	*(void **)&run = handle ? dlsym(handle, "run_plugin") : NULL;
	if (run)
		run();
	printf("dlclose %d\n", handle ? dlclose(handle) : -1);
}

static volatile int is_inside;

/* From where nothing was called before: who wants to know the stack looks for its tables. */
static void call_while_locked(void)
{
	pthread_mutex_lock(&lock);
	while (!is_inside)
		sched_yield();
	usleep(1);
	close(-1);
	pthread_mutex_unlock(&lock);
}

static int wait_for_lock(struct dl_phdr_info *info, size_t bytes, void *unused)
{
	(void)info;
	(void)bytes;
	(void)unused;
	is_inside = 1;
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	return 1;
}

/* One thread has the loader's lock and wants a mutex; who has that one calls what is recorded. */
static void in_the_loader(void)
{
	struct helper helper;
	helper_start(&helper, call_while_locked);
	while (pthread_mutex_trylock(&lock) == 0) {
		pthread_mutex_unlock(&lock);
		sched_yield();
	}
	printf("dl_iterate_phdr %d\n", dl_iterate_phdr(wait_for_lock, NULL));
	helper_join(&helper);
}

static const struct scenario scenarios[] = {
	{ "early", early },
	{ "forks", forks },
	{ "generations", generations },
	{ "busy_end", busy_end },
	{ "unload", unload },
	{ "plugin", plugin },
	{ "in_the_loader", in_the_loader },
};

SCENARIOS_MAIN

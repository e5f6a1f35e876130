/* SPDX-License-Identifier: Apache-2.0 */
/* A program whose every step comes from outside, as a line, for up to eight threads of its own. */
/*
 * moments [PLUGIN]
 *
 * A line "N VERB [A]" has thread N do one thing to object A; steps[] has the verbs. It is answered
 * when no thread does anything any more: a letter for each thread, as answer() says. Threads 0, 2
 * and so on get their orders by calls that the library sees. Threads 1, 3 and so on get them past
 * it: the first call after a switch of the recording is the step itself, then. The end of the input
 * ends the process.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "wcprof.h"

enum { WORKERS = 8, OBJECTS = 8, MUTEXES = 4 };

struct order {
	int32_t step;
	int32_t object;
};

struct worker {
	_Atomic uint32_t given; /* orders, by the first thread */
	_Atomic uint32_t done;  /* by its own */
	_Atomic int32_t tid;
	int32_t number;
	int pipe[2];
	pthread_t thread;
	bool exists;
	bool is_over;
};

static struct worker workers[WORKERS];
static pthread_mutex_t mutexes[MUTEXES];
static pthread_rwlock_t rwlocks[OBJECTS];
static pthread_cond_t conditions[MUTEXES];
static sem_t semaphores[OBJECTS];
static pthread_barrier_t barriers[OBJECTS];
static wcprof_op ops[OBJECTS];
static wcprof_wait waits[OBJECTS];
static int bytes[2];
static void *library;
static const char *plugin;

extern char **environ;

/* --- Past the library ------------------------------------------------------------------------- */

static long raw(long number, long a, long b, long c)
{
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(number), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return result;
}

static const char *look_up(const char *file, int32_t tid)
{
	static char text[512];
	char path[64];
	long fd, got = -1;

	snprintf(path, sizeof(path), "/proc/self/task/%d/%s", tid, file);
	fd = raw(SYS_open, (long)path, O_RDONLY, 0);
	if (fd >= 0) {
		got = raw(SYS_read, fd, (long)text, sizeof(text) - 1);
		raw(SYS_close, fd, 0, 0);
	}
	text[got > 0 ? got : 0] = '\0';
	return text;
}

/* The call in which the thread sleeps; -1 = it runs, or is about to. */
static long find_call(int32_t tid)
{
	const char *text = look_up("syscall", tid);
	bool is_in_call = text[0] >= '0' && text[0] <= '9';
	long call = strtol(text, NULL, 10);
	/* After it: one that was just woken is still said to be in its call, but not to sleep. */
	const char *state = strrchr(look_up("stat", tid), ')');

	return is_in_call && state && strncmp(state, ") S", 3) == 0 ? call : -1;
}

/* --- Steps ------------------------------------------------------------------------------------ */

static void step_lock(int object)
{
	pthread_mutex_lock(&mutexes[object]);
}

static void step_trylock(int object)
{
	(void)pthread_mutex_trylock(&mutexes[object]);
}

static void step_unlock(int object)
{
	pthread_mutex_unlock(&mutexes[object]);
}

static void step_remake(int object)
{
	pthread_mutex_destroy(&mutexes[object]);
	pthread_mutex_init(&mutexes[object], NULL);
}

static void step_rdlock(int object)
{
	pthread_rwlock_rdlock(&rwlocks[object]);
}

static void step_wrlock(int object)
{
	pthread_rwlock_wrlock(&rwlocks[object]);
}

static void step_rwunlock(int object)
{
	pthread_rwlock_unlock(&rwlocks[object]);
}

static void step_await(int object)
{
	pthread_cond_wait(&conditions[object], &mutexes[object]);
}

static void step_signal(int object)
{
	pthread_cond_signal(&conditions[object]);
}

static void step_broadcast(int object)
{
	pthread_cond_broadcast(&conditions[object]);
}

static void step_post(int object)
{
	sem_post(&semaphores[object]);
}

static void step_take(int object)
{
	sem_wait(&semaphores[object]);
}

static void step_meet(int object)
{
	pthread_barrier_wait(&barriers[object]);
}

static void step_read(int object)
{
	char byte;

	(void)object;
	if (read(bytes[0], &byte, 1) != 1)
		abort();
}

static void step_write(int object)
{
	(void)object;
	if (write(bytes[1], "x", 1) != 1)
		abort();
}

static void step_sleep(int object)
{
	struct timespec time = { 0, 1000 * object };

	nanosleep(&time, NULL);
}

static void step_begin(int object)
{
	ops[object] = wcprof_begin("step", "of a test");
}

static void step_end(int object)
{
	wcprof_end(ops[object], WCPROF_OK, 7);
	ops[object] = 0;
}

static void step_adopt(int object)
{
	wcprof_adopt(ops[object]);
}

static void step_leave(int object)
{
	wcprof_leave(ops[object]);
}

static void step_expect(int object)
{
	waits[object] = wcprof_wait_for_name("a test", WCPROF_FOR_LOCK);
}

static void step_expected(int object)
{
	wcprof_wait_end(waits[object]);
	waits[object] = 0;
}

static void step_flow(int object)
{
	(void)object;
	wcprof_flow_begin();
}

static void step_unflow(int object)
{
	(void)object;
	wcprof_flow_end();
}

/* A child that locks, reads and ends. */
static void step_fork(int object)
{
	if (fork() != 0)
		return;
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	char byte;
	int fd = open("/dev/zero", O_RDONLY);

	pthread_mutex_lock(&mutex);
	(void)!read(fd, &byte, 1);
	pthread_mutex_unlock(&mutex);
	if (object & 1)
		exit(0);
	_exit(0);
}

static void step_vfork(int object)
{
	(void)object;
	if (vfork() == 0) {
		execlp("true", "true", (char *)NULL);
		_exit(1);
	}
}

static void step_spawn(int object)
{
	char name[] = "true";
	char *arguments[] = { name, NULL };
	pid_t pid;

	(void)object;
	(void)posix_spawnp(&pid, "true", NULL, NULL, arguments, environ);
}

static void step_reap(int object)
{
	(void)object;
	(void)waitpid(-1, NULL, 0);
}

static void step_load(int object)
{
	(void)object;
	if (!library)
		library = dlopen(plugin, RTLD_NOW);
}

static void step_unload(int object)
{
	(void)object;
	if (library)
		dlclose(library);
	library = NULL;
}

static void start(int number);

static void step_start(int object)
{
	start(object);
}

static void step_join(int object)
{
	pthread_join(workers[object].thread, NULL);
	workers[object].exists = false;
}

static void step_leave_thread(int object)
{
	(void)object;
}

static const struct {
	const char *verb;
	void (*step)(int object);
} steps[] = {
	{ "finish", step_leave_thread },
	{ "lock", step_lock },
	{ "trylock", step_trylock },
	{ "unlock", step_unlock },
	{ "remake", step_remake },
	{ "rdlock", step_rdlock },
	{ "wrlock", step_wrlock },
	{ "rwunlock", step_rwunlock },
	{ "await", step_await },
	{ "signal", step_signal },
	{ "broadcast", step_broadcast },
	{ "post", step_post },
	{ "take", step_take },
	{ "meet", step_meet },
	{ "read", step_read },
	{ "write", step_write },
	{ "sleep", step_sleep },
	{ "begin", step_begin },
	{ "end", step_end },
	{ "adopt", step_adopt },
	{ "leave", step_leave },
	{ "expect", step_expect },
	{ "expected", step_expected },
	{ "flow", step_flow },
	{ "unflow", step_unflow },
	{ "fork", step_fork },
	{ "vfork", step_vfork },
	{ "spawn", step_spawn },
	{ "reap", step_reap },
	{ "load", step_load },
	{ "unload", step_unload },
	{ "start", step_start },
	{ "join", step_join },
};

/* --- Threads ---------------------------------------------------------------------------------- */

static bool receive(struct worker *worker, struct order *order)
{
	if (worker->number & 1)
		return raw(SYS_read, worker->pipe[0], (long)order, sizeof(*order)) ==
		       sizeof(*order);
	return read(worker->pipe[0], order, sizeof(*order)) == sizeof(*order);
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	struct order order;

	worker->tid = (int32_t)raw(SYS_gettid, 0, 0, 0);
	while (receive(worker, &order)) {
		if (order.step == 0)
			worker->is_over = true;
		else
			steps[order.step].step(order.object);
		worker->done++;
		if (order.step == 0)
			break;
	}
	return NULL;
}

static void start(int number)
{
	struct worker *worker = &workers[number];

	worker->number = number;
	worker->tid = 0;
	worker->is_over = false;
	if (worker->pipe[1] == 0 && pipe2(worker->pipe, O_CLOEXEC) != 0)
		abort();
	worker->exists = true;
	if (pthread_create(&worker->thread, NULL, work, worker) != 0)
		abort();
}

/* Whether it does nothing: in the kernel, for its next order or for another thread. Children end
 * by themselves. */
static bool is_still(const struct worker *worker)
{
	long call;

	if (!worker->exists)
		return true;
	if (worker->is_over)
		return raw(SYS_tgkill, getpid(), worker->tid, 0) < 0;
	call = worker->tid != 0 ? find_call(worker->tid) : -1;
	return call == SYS_read || (call == SYS_futex && worker->given != worker->done);
}

static void until_all_are_still(void)
{
	for (int still = 0, i = 0; still < WORKERS; i = (i + 1) % WORKERS) {
		if (is_still(&workers[i])) {
			still++;
		} else {
			still = 0;
			raw(SYS_sched_yield, 0, 0, 0);
		}
	}
}

static void give(int number, const char *verb, int object)
{
	struct worker *worker = &workers[number];
	struct order order = { -1, object };

	for (int i = 0; i < (int)(sizeof(steps) / sizeof(steps[0])); i++)
		if (strcmp(steps[i].verb, verb) == 0)
			order.step = i;
	if (order.step < 0 || !worker->exists)
		abort();
	worker->given++;
	if (write(worker->pipe[1], &order, sizeof(order)) != sizeof(order))
		abort();
}

/* One letter a thread: a(bsent), i(dle) or b(locked). */
static void answer(void)
{
	char line[WORKERS + 1];

	until_all_are_still();
	for (int i = 0; i < WORKERS; i++)
		line[i] = !workers[i].exists || workers[i].is_over ? 'a'
			  : workers[i].given == workers[i].done    ? 'i'
								   : 'b';
	line[WORKERS] = '\n';
	if (write(STDOUT_FILENO, line, sizeof(line)) != sizeof(line))
		exit(1);
}

static void prepare(void)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	for (int i = 0; i < MUTEXES; i++) {
		int kinds[MUTEXES] = { PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_NORMAL,
				       PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK };

		pthread_mutexattr_settype(&attributes, kinds[i]);
		pthread_mutex_init(&mutexes[i], &attributes);
		pthread_cond_init(&conditions[i], NULL);
	}
	for (int i = 0; i < OBJECTS; i++) {
		pthread_rwlock_init(&rwlocks[i], NULL);
		sem_init(&semaphores[i], 0, 0);
		pthread_barrier_init(&barriers[i], NULL, 2);
	}
	if (pipe2(bytes, O_CLOEXEC) != 0)
		abort();
}

int main(int count, char **arguments)
{
	char line[64], verb[16];
	size_t used = 0;

	plugin = count > 1 ? arguments[1] : "libm.so.6";
	prepare();
	for (int i = 0; i < WORKERS / 2; i++)
		start(i);
	answer();
	while (used < sizeof(line) && read(STDIN_FILENO, line + used, 1) == 1) {
		int number, object = 0;

		if (line[used++] != '\n')
			continue;
		line[used - 1] = '\0';
		used = 0;
		if (sscanf(line, "%d %15s %d", &number, verb, &object) < 2)
			return 2;
		give(number, verb, object);
		answer();
	}
	return 0;
}

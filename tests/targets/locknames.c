/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer: each lock is called what its author calls it, and is waited for. `registry` is called by
 * its symbol, its member by the offset in it. The ten thousand connections are called by where
 * connection_new() initialises them. Sessions, initialised by an assignment, are called by where
 * session_begin() locks them. The lock that processes could share is called by where
 * shared_new() made it. Connection 77 is waited for three times, 100 and 200 once.
 */
#include "scenario.h"

#include <stdint.h>
#include <sys/mman.h>

enum { CONNECTIONS = 10000, SESSIONS = 8, BUSY = 77, TIMES = 3 };

struct connection {
	int fd;
	pthread_mutex_t lock;
};

struct session {
	pthread_mutex_t lock;
	int user;
};

pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;
static struct {
	long hits;
	pthread_mutex_t mutex;
} statistics = { 0, PTHREAD_MUTEX_INITIALIZER };

static __attribute__((noinline)) struct connection *connection_new(int fd)
{
	struct connection *connection = malloc(sizeof(*connection));

	if (!connection || pthread_mutex_init(&connection->lock, NULL))
		abort();
	connection->fd = fd;
	return connection;
}

static __attribute__((noinline)) void session_begin(struct session *session)
{
	pthread_mutex_lock(&session->lock);
	session->user++;
}

static __attribute__((noinline)) pthread_mutex_t *shared_new(void)
{
	pthread_mutexattr_t attributes;
	pthread_mutex_t *lock = mmap(NULL, sizeof(*lock), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (lock == MAP_FAILED)
		abort();
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(lock, &attributes);
	return lock;
}

struct waiter {
	pthread_mutex_t *lock;
	struct session *session; /* NULL = the lock is nobody's session */
	pid_t tid;
};

static void *wait_for_lock(void *argument)
{
	struct waiter *waiter = argument;

	__atomic_store_n(&waiter->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	if (waiter->session)
		session_begin(waiter->session);
	else
		pthread_mutex_lock(waiter->lock);
	pthread_mutex_unlock(waiter->lock);
	return NULL;
}

/* Holds the lock until another thread is blocked at it. */
static void make_wait(pthread_mutex_t *lock, struct session *session)
{
	struct waiter waiter = { lock, session, 0 };
	pthread_t thread;
	pid_t tid;

	if (session)
		session_begin(session);
	else
		pthread_mutex_lock(lock);
	if (pthread_create(&thread, NULL, wait_for_lock, &waiter))
		abort();
	while ((tid = __atomic_load_n(&waiter.tid, __ATOMIC_ACQUIRE)) == 0)
		sched_yield();
	until_in_call(tid, SYS_futex);
	pthread_mutex_unlock(lock);
	pthread_join(thread, NULL);
}

static void run_all(void)
{
	static struct connection *connections[CONNECTIONS];

	for (int i = 0; i < CONNECTIONS; i++)
		connections[i] = connection_new(i);
	for (int i = 0; i < CONNECTIONS; i++) {
		pthread_mutex_lock(&connections[i]->lock);
		pthread_mutex_unlock(&connections[i]->lock);
	}
	for (int i = 0; i < TIMES; i++) {
		make_wait(&connections[BUSY]->lock, NULL);
		if (i > 0)
			make_wait(&connections[100 * i]->lock, NULL);
	}
	for (int i = 0; i < SESSIONS; i++) {
		struct session *session = malloc(sizeof(*session));

		if (!session)
			abort();
		*session = (struct session){ .lock = PTHREAD_MUTEX_INITIALIZER };
		make_wait(&session->lock, session);
	}
	make_wait(&registry, NULL);
	make_wait(&statistics.mutex, NULL);
	make_wait(shared_new(), NULL);
	printf("done\n");
}

static const struct scenario scenarios[] = { { "all", run_all } };

SCENARIOS_MAIN

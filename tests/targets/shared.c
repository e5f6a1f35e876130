/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer: two processes use one lock at two addresses; each wait is for the other process's hold,
 * or for its wake. `died`: one wait, ended by the death of the thread that held the lock.
 */
#include "scenario.h"

#include <linux/futex.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

struct common {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	pthread_rwlock_t rwlock;
	pthread_barrier_t barrier;
	sem_t sem;
	int word;
	int is_ready;
};

static struct common *mine, *others; /* the same memory, mapped twice */

static struct common *map_common(int fd)
{
	void *at = mmap(NULL, sizeof(*mine), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		abort();
	return at;
}

static void make_common(void)
{
	pthread_mutexattr_t mutex;
	pthread_condattr_t cond;
	pthread_rwlockattr_t rwlock;
	pthread_barrierattr_t barrier;
	int fd = memfd_create("common", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, sizeof(*mine)) != 0)
		abort();
	mine = map_common(fd);
	others = map_common(fd);
	close(fd);
	pthread_mutexattr_init(&mutex);
	pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&mine->mutex, &mutex);
	pthread_condattr_init(&cond);
	pthread_condattr_setpshared(&cond, PTHREAD_PROCESS_SHARED);
	pthread_cond_init(&mine->cond, &cond);
	pthread_rwlockattr_init(&rwlock);
	pthread_rwlockattr_setpshared(&rwlock, PTHREAD_PROCESS_SHARED);
	pthread_rwlock_init(&mine->rwlock, &rwlock);
	pthread_barrierattr_init(&barrier);
	pthread_barrierattr_setpshared(&barrier, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&mine->barrier, &barrier, 2);
	sem_init(&mine->sem, 1, 0);
}

static void until_blocked(pid_t pid)
{
	char path[64];
	long found = -1;

	snprintf(path, sizeof(path), "/proc/%d/syscall", (int)pid);
	while (found != SYS_futex) {
		FILE *file = fopen(path, "r");

		if (!file || fscanf(file, "%ld", &found) != 1)
			found = -1;
		if (file)
			fclose(file);
		sched_yield();
	}
}

/* Runs `child` in another process, and `parent` when it is blocked. */
static void between_processes(void (*before)(void), void (*child)(void), void (*parent)(void))
{
	int status = 0;

	make_common();
	before();
	pid_t pid = fork();
	if (pid == 0) {
		mine = others;
		child();
		exit(0);
	}
	until_blocked(pid);
	parent();
	say_errno("child", waitpid(pid, &status, 0) == pid ? status : -1);
}

static void nothing(void)
{
}

static void lock(void)
{
	say("lock", pthread_mutex_lock(&mine->mutex));
}

static void unlock(void)
{
	say("unlock", pthread_mutex_unlock(&mine->mutex));
}

static void lock_and_unlock(void)
{
	lock();
	unlock();
}

static void mutex(void)
{
	between_processes(lock, lock_and_unlock, unlock);
}

static void write_lock(void)
{
	say("wrlock", pthread_rwlock_wrlock(&mine->rwlock));
}

static void write_unlock(void)
{
	say("unlock", pthread_rwlock_unlock(&mine->rwlock));
}

static void read_lock_and_unlock(void)
{
	say("rdlock", pthread_rwlock_rdlock(&mine->rwlock));
	write_unlock();
}

static void rwlock(void)
{
	between_processes(write_lock, read_lock_and_unlock, write_unlock);
}

static void until_ready(void)
{
	pthread_mutex_lock(&mine->mutex);
	while (!mine->is_ready)
		pthread_cond_wait(&mine->cond, &mine->mutex);
	pthread_mutex_unlock(&mine->mutex);
}

static void make_ready(void)
{
	pthread_mutex_lock(&mine->mutex);
	mine->is_ready = 1;
	say("broadcast", pthread_cond_broadcast(&mine->cond));
	pthread_mutex_unlock(&mine->mutex);
}

static void cond(void)
{
	between_processes(nothing, until_ready, make_ready);
}

static void take(void)
{
	say_errno("wait", sem_wait(&mine->sem));
}

static void give(void)
{
	say_errno("post", sem_post(&mine->sem));
}

static void sem(void)
{
	between_processes(nothing, take, give);
}

static void arrive(void)
{
	(void)pthread_barrier_wait(&mine->barrier);
}

static void barrier(void)
{
	between_processes(nothing, arrive, arrive);
}

/* The first call in a child that is hooked is what makes it known: a raw one passes by. */
static void sleep_on_word(void)
{
	lock_and_unlock();
	say_errno("futex wait", syscall(SYS_futex, &mine->word, FUTEX_WAIT, 0, NULL, NULL, 0));
}

static void wake_on_word(void)
{
	say_errno("futex wake", syscall(SYS_futex, &mine->word, FUTEX_WAKE, 1, NULL, NULL, 0));
}

static void futex(void)
{
	between_processes(nothing, sleep_on_word, wake_on_word);
}

static pthread_mutex_t left;
static int may_die;

static void lock_and_die(void)
{
	pthread_mutex_lock(&left);
	__atomic_store_n(&may_die, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&may_die, __ATOMIC_ACQUIRE) != 2)
		sched_yield();
}

static void inherit(void)
{
	say("lock", pthread_mutex_lock(&left));
	say("consistent", pthread_mutex_consistent(&left));
	say("unlock", pthread_mutex_unlock(&left));
}

static void died(void)
{
	pthread_mutexattr_t attributes;
	struct helper owner, heir;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&left, &attributes);
	helper_start(&owner, lock_and_die);
	while (__atomic_load_n(&may_die, __ATOMIC_ACQUIRE) != 1)
		sched_yield();
	helper_start(&heir, inherit);
	until_in_call(heir.tid, SYS_futex);
	__atomic_store_n(&may_die, 2, __ATOMIC_RELEASE);
	helper_join(&owner);
	helper_join(&heir);
}

static const struct scenario scenarios[] = {
	{ "mutex", mutex },     { "rwlock", rwlock }, { "cond", cond }, { "sem", sem },
	{ "barrier", barrier }, { "futex", futex },   { "died", died },
};

SCENARIOS_MAIN

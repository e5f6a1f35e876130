/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The least that a preload can do: the calls of hookloop.c, passed on through a pointer. All cost
 * beyond this is the profiler's own.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <unistd.h>

#define PASS(type, symbol, parameters, arguments) \
	static type(*real_##symbol) parameters;   \
	type symbol parameters                    \
	{                                         \
		return real_##symbol arguments;   \
	}

PASS(int, pthread_mutex_lock, (pthread_mutex_t * mutex), (mutex))
PASS(int, pthread_mutex_unlock, (pthread_mutex_t * mutex), (mutex))
PASS(int, pthread_rwlock_rdlock, (pthread_rwlock_t * lock), (lock))
PASS(int, pthread_rwlock_unlock, (pthread_rwlock_t * lock), (lock))
PASS(int, pthread_cond_signal, (pthread_cond_t * cond), (cond))
PASS(int, sem_post, (sem_t * sem), (sem))
PASS(int, sem_wait, (sem_t * sem), (sem))
PASS(ssize_t, read, (int fd, void *data, size_t size), (fd, data, size))
PASS(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size))
PASS(int, epoll_wait, (int fd, struct epoll_event *events, int room, int limit_ms),
     (fd, events, room, limit_ms))

__attribute__((constructor)) static void resolve(void)
{
#define FIND(symbol) *(void **)&real_##symbol = dlsym(RTLD_NEXT, #symbol)
	FIND(pthread_mutex_lock);
	FIND(pthread_mutex_unlock);
	FIND(pthread_rwlock_rdlock);
	FIND(pthread_rwlock_unlock);
	*(void **)&real_pthread_cond_signal =
		dlvsym(RTLD_NEXT, "pthread_cond_signal", "GLIBC_2.3.2");
	FIND(sem_post);
	FIND(sem_wait);
	FIND(read);
	FIND(write);
	FIND(epoll_wait);
}

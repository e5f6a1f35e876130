/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another preload, behind ours: counts what reaches it and says so at the end. Its clock takes a
 * lock, and says that it is 1970.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static int locks, signals, closes;

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	static int (*next)(pthread_mutex_t *);
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
	locks++;
	return next(mutex);
}

int pthread_cond_signal(pthread_cond_t *cond)
{
	static int (*next)(pthread_cond_t *);
	if (!next)
		*(void **)&next = dlvsym(RTLD_NEXT, "pthread_cond_signal", "GLIBC_2.3.2");
	signals++;
	return next(cond);
}

int close(int fd)
{
	static int (*next)(int);
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "close");
	closes++;
	return next(fd);
}

int clock_gettime(clockid_t id, struct timespec *now)
{
	static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

	(void)id;
	pthread_rwlock_wrlock(&lock);
	*now = (struct timespec){ 1, 0 };
	return pthread_rwlock_unlock(&lock);
}

__attribute__((destructor)) static void say(void)
{
	printf("interposer: %d unlocks, %d signals, closes: %d\n", locks, signals, closes > 0);
	fflush(stdout);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: "ready", and after a byte on standard input "awake".
 *
 *	idlers cond      pthread_cond_wait()
 *	idlers timed     pthread_cond_timedwait()
 *	idlers c11       cnd_wait()
 *
 * Workers that wait for something to do, which comes only when the byte is there. They are inside
 * of the call when "ready" is said: the mutex, which only the call gives back, was locked since.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>

enum { WORKERS = 3 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static const char *kind;
static int idle, jobs;

static void await(void)
{
	const struct timespec never = { .tv_sec = 4102444800 };

	if (strcmp(kind, "c11") == 0)
		cnd_wait((cnd_t *)&cond, (mtx_t *)&mutex);
	else if (strcmp(kind, "timed") == 0)
		pthread_cond_timedwait(&cond, &mutex, &never);
	else
		pthread_cond_wait(&cond, &mutex);
}

static void *work(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&mutex);
	idle++;
	while (jobs == 0)
		await();
	jobs--;
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static bool all_are_idle(void)
{
	pthread_mutex_lock(&mutex);
	bool are_all = idle == WORKERS;
	pthread_mutex_unlock(&mutex);
	return are_all;
}

int main(int count, char **arguments)
{
	pthread_t workers[WORKERS];
	char byte;

	kind = count > 1 ? arguments[1] : "cond";
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, work, NULL);
	while (!all_are_idle())
		usleep(100);
	puts("ready");
	fflush(stdout);
	if (read(0, &byte, 1) != 1)
		return 1;
	for (int i = 0; i < WORKERS; i++) {
		pthread_mutex_lock(&mutex);
		jobs++;
		pthread_cond_signal(&cond);
		pthread_mutex_unlock(&mutex);
	}
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	puts("awake");
	fflush(stdout);
	while (read(0, &byte, 1) == 1)
		continue;
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expected: waits for 64 mutexes, nothing dropped. Eight threads come to 64 places at once that
 * the recorder has not seen yet. So several learn at the same time how to unwind from there.
 */
#include <pthread.h>
#include <stddef.h>

enum { THREADS = 8, MUTEXES = 64 };

static pthread_mutex_t mutexes[MUTEXES];
static pthread_barrier_t all_here;

static void *run(void *unused)
{
	pthread_barrier_wait(&all_here);
	for (int i = 0; i < MUTEXES; i++) {
		pthread_mutex_lock(&mutexes[i]);
		pthread_mutex_unlock(&mutexes[i]);
	}
	return unused;
}

int main(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < MUTEXES; i++)
		pthread_mutex_init(&mutexes[i], NULL);
	pthread_barrier_init(&all_here, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, run, NULL))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

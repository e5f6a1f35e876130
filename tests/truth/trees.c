/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expected: a job is done after the one that put it. Which of those that are there comes next, the
 * list decides: that moves the end.
 *
 * A tree of jobs (work_a, each third work_b). Each but the last ones puts two more in the section
 * in which its worker takes the next one. Workers seldom wait. T_P says what comes next: the oldest
 * (0), the newest (1), or the most urgent (2). Not here: jobs that others put (crews.c).
 */
#include "truth.h"

#include <stdbool.h>

enum { JOBS_MAX = 512, LONG_EVERY = 3, OLDEST = 0, NEWEST = 1 };

static pthread_mutex_t lock_m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int listed[JOBS_MAX], listed_count;
static long job_count, done_count, order;

static int urgency(int job)
{
	return job * 37 % 101;
}

static int taken(void)
{
	int at = order == NEWEST ? listed_count - 1 : 0;

	for (int i = 1; order > NEWEST && i < listed_count; i++)
		if (urgency(listed[i]) > urgency(listed[at]))
			at = i;
	int job = listed[at];
	memmove(&listed[at], &listed[at + 1], sizeof(listed[0]) * (size_t)(--listed_count - at));
	return job;
}

static void put_more(int job)
{
	for (int child = 2 * job + 1; child <= 2 * job + 2; child++) {
		if (child >= job_count)
			continue;
		listed[listed_count++] = child;
		pthread_cond_signal(&changed);
	}
	if (++done_count == job_count)
		pthread_cond_broadcast(&changed);
}

static void *tree_worker(void *unused UNUSED)
{
	pthread_mutex_lock(&lock_m);
	for (;;) {
		while (!listed_count && done_count < job_count)
			pthread_cond_wait(&changed, &lock_m);
		if (!listed_count)
			break;
		int job = taken();
		pthread_mutex_unlock(&lock_m);
		if (job % LONG_EVERY == 0)
			work_b();
		else
			work_a();
		pthread_mutex_lock(&lock_m);
		put_more(job);
	}
	pthread_mutex_unlock(&lock_m);
	return NULL;
}

static void tree(void)
{
	job_count = count_of("T_N");
	order = count_of("T_P");
	if (job_count > JOBS_MAX)
		die("is too large", "T_N");
	listed[listed_count++] = 0;
	start_many(count_of("T_W"), tree_worker);
	join_all();
}

int main(int argc, char **argv)
{
	static const struct pattern patterns[] = { { "tree", tree }, { NULL, NULL } };

	return truth_main(argc, argv, patterns);
}

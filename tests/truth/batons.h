/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads hand a baton to and fro T_N times, so that work_a of the one and work_b of the other
 * add up. With T_P=1 they are two processes.
 *
 * A way is a pair of functions, named by what carries the baton: side 0 gives to side 1, and the
 * other way round. All that both sides need is made before the second begins. A program is a list
 * of ways and a main() that calls batons_main().
 */
#ifndef WCPROF_BATONS_H
#define WCPROF_BATONS_H

#include "truth.h"

#include <sys/wait.h>

enum { SIDES = 2, WAYS_MAX = 32 };

struct way {
	const char *name;
	void (*make)(void);
	void (*give)(int side);
	void (*take)(int side);
	void (*remove)(void); /* or NULL */
};

static int ends[SIDES]; /* each side's own descriptor, or the number of what both have */
static const struct way *way;

static long die_if(long failed, const char *call)
{
	if (failed)
		die(strerror(errno), call);
	return 0;
}

static void *second(void *unused UNUSED)
{
	for (long i = count_of("T_N"); i > 0; i--) {
		way->take(1);
		work_b();
		way->give(1);
	}
	return NULL;
}

static void hand_over(void)
{
	pid_t child = 0;

	way->make();
	if (count_of("T_P")) {
		child = fork();
		if (child == 0)
			exit(second(NULL) ? 1 : 0);
	} else {
		start(second, 0);
	}
	for (long i = count_of("T_N"); i > 0; i--) {
		work_a();
		way->give(0);
		way->take(0);
	}
	join_all();
	if (child)
		die_if(waitpid(child, NULL, 0) != child, "waitpid");
	if (way->remove)
		way->remove();
}

static int batons_main(int argc, char **argv, const struct way *ways, size_t count)
{
	struct pattern patterns[WAYS_MAX] = { { NULL, NULL } };

	for (size_t i = 0; i < count && i + 1 < WAYS_MAX; i++) {
		patterns[i] = (struct pattern){ ways[i].name, hand_over };
		if (argc > 1 && !strcmp(ways[i].name, argv[1]))
			way = &ways[i];
	}
	return truth_main(argc, argv, patterns);
}

#endif

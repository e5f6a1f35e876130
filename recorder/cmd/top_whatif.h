/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of the analyzer, every few seconds, to what a fix would buy in the last seconds. It is a
 * process of its own, that gets a CPU when nobody else wants one. One thread.
 */
#ifndef WCPROF_TOP_WHATIF_H
#define WCPROF_TOP_WHATIF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct top_whatif {
	const char *directory; /* of its files; empty: there is none */
	pid_t child;           /* 0 = nobody is at it */
	uint64_t asked_ns;     /* when that one was begun, and of how much */
	uint64_t last_ns;
	uint64_t answer_ns; /* the same of the last answer */
	uint64_t answer_last_ns;
	char *answer;      /* lines; NULL = none yet */
	char problem[160]; /* why there is no newer one; empty: none */
};

void top_whatif_begin(struct top_whatif *, const char *directory);
/* Ends a child. */
void top_whatif_end(struct top_whatif *);
/* Takes the answer if it is done. */
void top_whatif_take(struct top_whatif *);
/* Begins another one if the last was long enough ago, and takes its answer if it is done. It is of
 * the last so many nanoseconds; of fewer, if there are very many events a second. */
void top_whatif_tick(struct top_whatif *, const char *socket, uint64_t now_ns, uint64_t last_ns,
		     double events_per_s);

#endif

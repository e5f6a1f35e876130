/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of the analyzer, every few seconds, to what a fix would buy in the last seconds. It is a
 * process of its own, that gets a CPU when nobody else wants one, or if that is never, a little of
 * one. The window is as long as an answer takes some seconds: it becomes shorter after one that
 * took longer, and longer again. One thread.
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
	uint64_t begun_ns;  /* by the monotonic clock */
	double events_most; /* of a window */
	uint64_t since_ns;  /* when another window of recording began; 0 = none did */
	bool is_starved;    /* the last one got too little of a CPU */
	uint64_t answer_ns; /* the same of the last answer */
	uint64_t answer_last_ns;
	char *answer;      /* lines; NULL = none yet */
	char problem[160]; /* why there is no newer one; empty: none */
};

void top_whatif_begin(struct top_whatif *, const char *directory);
/* Ends a child. */
void top_whatif_end(struct top_whatif *);
/* An answer was there, or not yet, after so long: the next window is shorter or longer. */
void top_whatif_took(struct top_whatif *, uint64_t took_ns);
/* How long the next window is, of at most so long. */
uint64_t top_whatif_window_ns(const struct top_whatif *, uint64_t last_ns, double events_per_s);
/* Takes the answer if it is done. */
void top_whatif_take(struct top_whatif *);
/* Another window of recording began: answers are of that from now on. */
void top_whatif_narrow(struct top_whatif *, uint64_t now_ns);
/* Begins another one if the last was long enough ago, and takes its answer if it is done. It is of
 * the last so many nanoseconds, or of fewer. One that takes very long is ended, for a shorter
 * one. */
void top_whatif_tick(struct top_whatif *, const char *socket, uint64_t now_ns, uint64_t last_ns,
		     double events_per_s);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of the analyzer, every few seconds, to what a fix would buy. It is a process of its own,
 * that gets a CPU when nobody else wants one. One thread.
 */
#ifndef WCPROF_TOP_WHATIF_H
#define WCPROF_TOP_WHATIF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct top_whatif {
	char directory[64]; /* of its files; empty: there is none */
	pid_t child;        /* 0 = nobody is at it */
	uint64_t asked_ns;  /* when that one, and the last answer, were begun */
	uint64_t answer_ns;
	char *answer; /* lines; NULL = none yet */
};

void top_whatif_begin(struct top_whatif *);
/* Ends a child, and removes the files. */
void top_whatif_end(struct top_whatif *);
/* Begins another one if the last was long enough ago, and takes its answer if it is done. The
 * recording is had from the process's socket, and stays there. */
void top_whatif_tick(struct top_whatif *, const char *socket, uint64_t now_ns);

#endif

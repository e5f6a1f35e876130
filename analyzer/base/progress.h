/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The progress line on standard error, if that is a terminal; nothing in the first half second.
 *
 * One thread.
 */
#ifndef WCPROF_PROGRESS_H
#define WCPROF_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

struct progress {
	uint64_t begun_ms;
	uint64_t shown_ms; /* 0 = not yet */
};

struct progress progress_begin(void);

/* Bytes of a file so far; a total of 0 is not known. The context is a struct progress. */
void progress_of_reading(void *context, uint64_t bytes_done, uint64_t bytes_total);

/* How far an analysis has got: one line, once it has taken a while. */
void progress_of_analysis(const char *what, size_t done, size_t total);

#endif

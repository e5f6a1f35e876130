/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line on a terminal that says how far a dump is, and how fast it goes.
 */
#ifndef WCPROF_OUTPUT_PROGRESS_H
#define WCPROF_OUTPUT_PROGRESS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* All zero: nothing is shown. */
struct output_progress {
	FILE *stream;
	uint64_t begun_ns;
	uint64_t shown_ns; /* when it was shown last; 0: it is not there */
	uint64_t bytes;    /* of the dump, before they are compressed */
	uint64_t lines;    /* of events, one each */
	uint64_t events;   /* that the header says there are; 0: it is not known */
};

/* A dump begins. */
void output_progress_begin(struct output_progress *progress);
/* More of it came; its line is renewed some times a second. */
void output_progress_add(struct output_progress *progress, const char *bytes, size_t count);
/* Takes the line away. */
void output_progress_end(struct output_progress *progress);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dumps that are analyzed one after the other, by wcprof-analyze at idle priority.
 *
 * The queue is bounded: what does not fit is dropped, and counted. An analysis that lasts too long
 * is ended. Its files are in one directory, which belongs to the first job of the queue. One
 * thread.
 */
#ifndef WCPROF_ANALYSIS_H
#define WCPROF_ANALYSIS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "store.h"
#include "tags.h"

enum { ANALYSIS_JOBS_MOST = 32 };

struct analysis_job {
	char dump[STORE_PATH_BYTES];
	struct tags tags;
	uint64_t begin_ns, end_ns; /* by the machine's clock */
	uint64_t share_ppm;        /* of that time that was recorded */
};

struct analyses {
	char directory[STORE_PATH_BYTES];
	uint64_t memory_mb, most_s;        /* of one analysis */
	bool wants_otlp, wants_provenance; /* receivers that need these */
	struct analysis_job jobs[ANALYSIS_JOBS_MOST];
	size_t count;
	pid_t pid; /* of what runs for the first job; 0: nothing */
	unsigned step;
	uint64_t until_ns; /* by the monotonic clock */
};

/* Its directory is below that of the store. */
void analysis_init(struct analyses *analyses, const char *store);
void analysis_add(struct analyses *analyses, const struct analysis_job *job);
/* Goes on with the first job. True: it is done, and its files are there until analysis_drop(). */
bool analysis_go_on(struct analyses *analyses, uint64_t now_ns);
/* The first job is over. */
void analysis_drop(struct analyses *analyses);
/* Ends what runs. */
void analysis_end(struct analyses *analyses);

#endif

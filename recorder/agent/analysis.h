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

enum { ANALYSIS_JOBS_MOST = 32, ANALYSIS_WINDOWS_MOST = 16 };

struct analysis_window {
	uint64_t begin_ns, end_ns; /* by the machine's clock */
};

/* A dump, whose windows are analyzed one after the other: a profile is of one of them. */
struct analysis_job {
	char dump[STORE_PATH_BYTES];
	struct tags tags;
	struct analysis_window windows[ANALYSIS_WINDOWS_MOST];
	size_t window_count;
	size_t window;      /* that is analyzed now */
	uint64_t share_ppm; /* of the process's time that was recorded */
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

/* The windows of a dump, as the begin of its header says; `whole` if it has only one. Windows for
 * which there is no room are counted as dropped analyses. */
void analysis_windows(struct analysis_job *job, const char *header, struct analysis_window whole);

/* Its directory is below that of the store. */
void analysis_init(struct analyses *analyses, const char *store);
void analysis_add(struct analyses *analyses, const struct analysis_job *job);
/* Goes on with the first job. True: a window of it is done, and its files are there until
 * analysis_drop(). */
bool analysis_go_on(struct analyses *analyses, uint64_t now_ns);
/* The first job goes on with its next window, or is over. */
void analysis_drop(struct analyses *analyses);
/* Ends what runs. */
void analysis_end(struct analyses *analyses);

#endif

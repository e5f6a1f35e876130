/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs on their way through queues: which put is whose job, and when that was done.
 *
 * Of a script whose jobs are known and numbered. Private to the files that build it. One thread.
 */
#ifndef WCPROF_SCRIPT_QUEUED_H
#define WCPROF_SCRIPT_QUEUED_H

#include "script.h"

/* Nobody was seen to end it. */
#define NEVER_SEEN UINT64_MAX

struct queued {
	uint32_t *put_job;   /* by step: the job that it hands over, NO_INDEX = none */
	bool *calls;         /* by source: some of its jobs ring a loop's bell */
	uint32_t *source_of; /* by job, among those of all sources */
};

void script_queued_find(struct queued *, const struct script *);
void script_queued_free(struct queued *);

/* The source has jobs that are taken one by one. */
bool script_has_jobs(const struct script *, uint32_t source);
/* Jobs that are there at the start; negative: so many were put for takes from before it. A flow has
 * none. */
int64_t script_jobs_before(const struct script *, uint32_t source);

/* When the recording has what a step was made of. A hold puts at its end; a wait for a lock is over
 * when it has that. */
uint64_t script_time_of(const struct script *, const struct step_origin *);

/* A job is done when its thread has the loop's lock last, or rings, or takes again; NEVER_SEEN: in
 * a loop's queue it was not. `lock`: NO_INDEX = the loop has none. */
uint64_t script_done_ns(const struct queued *, const struct script *, uint32_t job, uint32_t lock);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools: threads of one process that run the same routine under the same name, but for numbers at
 * its end. "worker-1" and "worker-2" are of one pool.
 *
 * Built once, read-only afterwards. One thread.
 */
#ifndef WCPROF_POOLS_H
#define WCPROF_POOLS_H

#include "base/emit.h"
#include "report/analysis.h"

enum { POOL_NAME_BYTES = 120 };

struct thread_pool {
	uint32_t process;
	uint32_t class; /* of its threads; NO_INDEX = not known */
	char name[POOL_NAME_BYTES];
};

/* A lane is a thread in the order of drawing: by process, the first started first; by pool;
 * by time of start. */
struct thread_pools {
	struct thread_pool *pools;
	uint32_t count;
	uint32_t *pool_of;   /* by thread */
	uint32_t *thread_of; /* by lane */
	uint32_t *lane_of;   /* by thread */
	uint32_t lane_count;
};

void pools_build(struct thread_pools *pools, const struct analysis *analysis);
void pools_free(struct thread_pools *pools);

/* NO_INDEX for no thread. */
static inline uint32_t pools_lane(const struct thread_pools *pools, uint32_t thread)
{
	return thread == NO_INDEX ? NO_INDEX : pools->lane_of[thread];
}

/* "pool_name", "pool_process", and of processes "process_name" and "process_pid". */
void pools_emit(const struct thread_pools *pools, const struct recording *recording,
		struct emit *emit);

#endif

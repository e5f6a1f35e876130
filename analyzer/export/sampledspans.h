/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU time inside of slow requests and of the others, shared out by the samples that were
 * taken inside. The next sample after a slice may be another request's.
 *
 * Groups and stacks are numbers of the caller's. Built once, read-only afterwards.
 */
#ifndef WCPROF_SAMPLEDSPANS_H
#define WCPROF_SAMPLEDSPANS_H

#include "base/tuples.h"
#include "slowspans.h"

struct sampled_spans {
	struct tuples numbers;    /* (group, stack) */
	struct slow_time *counts; /* by number: a sample is a nanosecond here */
	size_t room;
};

/* `group_of` by thread, `stack_of` by the recording's stack: read where samples are. */
void sampled_spans_build(struct sampled_spans *, const struct recording *,
			 const struct slow_spans *, const uint32_t *group_of,
			 const uint32_t *stack_of);
void sampled_spans_free(struct sampled_spans *);

/* One stack's share of its group's CPU time inside. */
struct sampled_share {
	uint32_t stack;
	struct slow_time inside;
};

/*
 * Shares out `whole`, which becomes what could not be: no sample was taken inside. The shares are
 * to be freed; `*count` of them.
 */
struct sampled_share *sampled_spans_share(const struct sampled_spans *, uint32_t group,
					  struct slow_time *whole, size_t *count);

#endif

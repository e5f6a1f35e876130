/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slow requests, or slow calls of a function, beside the others: their number and their time, also
 * that of each stack in them. One thread.
 */
#ifndef WCPROF_TOP_CONTRAST_H
#define WCPROF_TOP_CONTRAST_H

#include "top_sums.h"

struct top_contrast {
	double count[TOP_SHARES];
	double taken_ns[TOP_SHARES];    /* by all of them */
	double (*stack_ns)[TOP_SHARES]; /* by stack, likewise; NULL: there is no memory */
};

/* Of a view. Requests are slow by those before them, of their kind. */
struct top_contrast top_contrast_requests(const struct top_sums *, struct top_view);
/* Of calls that ended since then, all of whose pieces are there. Those are slow that took longer
 * than 95 of 100 of them; of less than TOP_ENOUGH none is. A call within another one of the name is
 * a part of that. */
struct top_contrast top_contrast_calls(const struct top_sums *, uint32_t name, uint64_t since_ns);
void top_contrast_free(struct top_contrast *);
/* Of one of them. */
double top_contrast_mean_ns(const struct top_contrast *, enum top_share);
double top_contrast_stack_ns(const struct top_contrast *, size_t stack, enum top_share);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slow requests against usual ones: the parts that they have more of.
 *
 * The tail are the requests at or above a percentile, the body those around the median. A request
 * is a vector of parts that add up to its time. A request that was not finished takes at least
 * what was seen of it. Intervals are those of base/bootstrap.h over requests: each draw has a tail
 * and a body of its own. Built once, read-only afterwards.
 */
#ifndef WCPROF_TAIL_H
#define WCPROF_TAIL_H

#include "base/bootstrap.h"

enum {
	TAIL_REQUESTS_LEAST = 50, /* fewer have no tail */
	TAIL_LOWERED_BELOW = 500, /* fewer have none beyond the 90th percentile */
	TAIL_LOWERED = 90,
	TAIL_BODY_FROM = 40, /* percentiles */
	TAIL_BODY_TO = 60
};

/* Requests in order of their begin. */
struct tail_input {
	size_t count;
	const uint64_t *taken_ns;
	const bool *is_unfinished; /* NULL = none is */
	/* Parts of request r are first[r] to below first[r + 1]. */
	const size_t *first;
	const uint32_t *keys; /* below key_count; a request may have a key more than once */
	const uint64_t *parts_ns;
	uint32_t key_count;
};

/* Per request. */
struct tail_part {
	uint32_t key; /* NO_INDEX = the whole request */
	double body_ns;
	double tail_ns;
	struct bootstrap_interval more_ns; /* of the tail */
};

enum tail_state {
	TAIL_TOO_FEW, /* requests */
	TAIL_KNOWN,
	TAIL_UNFINISHED /* too many of them to know the percentile */
};

/* Requests to look into, by their index. */
enum tail_example { TAIL_SLOWEST, TAIL_FIRST, TAIL_MEDIAN, TAIL_EXAMPLES };

struct tail {
	enum tail_state state; /* unless known only the next four are set */
	double asked;          /* the percentile */
	double percent;        /* the one that is answered: lower where requests are few */
	size_t count;
	size_t unfinished_count;
	size_t body_count, tail_count;
	uint64_t body_least_ns, body_most_ns;
	uint64_t tail_least_ns; /* the percentile itself */
	struct tail_part whole;
	struct tail_part *parts; /* that are told first; the tail has most more of the first */
	size_t part_count;       /* of those that the tail or the body has any of */
	size_t told_count;       /* whose interval does not hold 0 */
	double untold_ns;        /* sum of the others' differences */
	size_t examples[TAIL_EXAMPLES];
};

/* `percent`: from 50 to below 100. */
void tail_build(struct tail *tail, const struct tail_input *input, double percent);
void tail_free(struct tail *tail);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes of time: stretches with a key each, of which sums by key over any span are found at once.
 *
 * A lane's stretches are in order of time, without overlap. Sums before every so-many-th stretch
 * are kept, for as many stretches as the lane has keys. So a span costs no more than its lane has
 * keys, and memory is 24 bytes a stretch. lanes_begin(), for each lane lanes_next() and
 * lanes_add(), lanes_end(); read-only afterwards.
 */
#ifndef WCPROF_LANES_H
#define WCPROF_LANES_H

#include <stddef.h>
#include <stdint.h>

struct lane_stretch {
	uint64_t start_ns;
	uint64_t end_ns; /* later than start_ns */
	uint32_t key;
	uint32_t local; /* the key's number in its lane */
};

/* Where a lane's things begin, in the arrays that all lanes share. */
struct lane {
	size_t stretch;
	size_t sum;
	size_t key;
};

struct lanes {
	struct lane_stretch *stretches;
	uint64_t *sums;     /* of a lane: as many as it has keys, again and again */
	uint32_t *keys;     /* of a lane: by number */
	struct lane *lanes; /* one more than there are, once they end */
	size_t count;
	size_t stretch_count, stretch_room, sum_room, key_room, lane_room;
};

/* Calls for each key with time of a span. */
typedef void lanes_take(void *context, uint32_t key, uint64_t ns);

void lanes_begin(struct lanes *lanes);
void lanes_next(struct lanes *lanes);
/* Of no length: it is left out. Keys are below `key_count` of lanes_end(). */
void lanes_add(struct lanes *lanes, uint64_t start_ns, uint64_t end_ns, uint32_t key);
void lanes_end(struct lanes *lanes, uint32_t key_count);
void lanes_free(struct lanes *lanes);

/* The first stretch of a lane that ends after this time; the lane's end if there is none. */
size_t lanes_find(const struct lanes *lanes, size_t lane, uint64_t at_ns);

/* All time of the span: what no stretch has is of NO_INDEX. A key may come several times. */
void lanes_sum(const struct lanes *lanes, size_t lane, uint64_t from_ns, uint64_t to_ns,
	       lanes_take *take, void *context);

#endif

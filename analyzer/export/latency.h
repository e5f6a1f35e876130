/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests that savings are judged by, in order of how long they took, and what some of them
 * are made of. One that was not finished takes at least what was seen of it.
 *
 * The parts are those of paths/requestpaths.h, which add up to the time that a request took.
 * Built once, read-only afterwards. One thread.
 */
#ifndef WCPROF_LATENCY_H
#define WCPROF_LATENCY_H

#include "paths/requestpaths.h"

enum {
	LATENCY_KEYS = 48,  /* parts that are told apart; one more is all others */
	LATENCY_STEPS = 40, /* picks from the shortest to the longest */
	LATENCY_SLOWEST = 20,
	LATENCY_MARKS = 3, /* percentiles: 50, 95, 99 */
	LATENCY_PICKS = LATENCY_STEPS + 1 + LATENCY_MARKS + LATENCY_SLOWEST
};

/* A request that is looked into. */
struct latency_pick {
	size_t rank;                         /* index into the requests */
	uint64_t parts_ns[LATENCY_KEYS + 1]; /* by key */
};

struct latency_request {
	uint64_t start_ns;
	uint64_t taken_ns;
	uint32_t thread;
	uint32_t index; /* among all requests */
	bool is_unfinished;
};

struct latency {
	struct latency_request *requests; /* the shortest first */
	size_t count;
	size_t unfinished_count;
	size_t marks[LATENCY_MARKS]; /* indexes; `count` = unfinished ones hide the percentile */
	struct path_part keys[LATENCY_KEYS]; /* most time first */
	uint32_t key_count;
	struct latency_pick picks[LATENCY_PICKS]; /* the shortest first, each once */
	size_t pick_count;
};

/* `paths` NULL: no parts. */
void latency_build(struct latency *latency, const struct requests *requests,
		   const struct request_paths *paths);
void latency_free(struct latency *latency);

/* 50, 95, 99. */
unsigned latency_percent(size_t mark);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests that savings are judged by, in order of how long they took, and what slow ones have
 * more of.
 *
 * A request's time is that of the thread that it begins on. The sums of its parts are the time that
 * it took, if that thread is there to its end. Built once, read-only afterwards. One thread.
 */
#ifndef WCPROF_LATENCY_H
#define WCPROF_LATENCY_H

#include "walk.h"

enum {
	LATENCY_KEYS = 48,      /* sorts of time that are told apart; one more is all others */
	LATENCY_SLOW_FROM = 95, /* percentile from which on a request is slow */
	LATENCY_STEPS = 40,     /* picks from the shortest to the longest */
	LATENCY_SLOWEST = 20,
	LATENCY_PICKS = LATENCY_STEPS + 1 + 3 + LATENCY_SLOWEST
};

/* A sort of time. */
struct latency_key {
	enum walk_state state;
	uint32_t cause; /* as in a slice */
	uint32_t name;  /* string id: the class of a call or thread, the thing waited for */
};

/* Of one sort, per request. */
struct latency_share {
	double slow_ns; /* mean of the slow ones */
	double rest_ns;
	double error_ns; /* standard error of the difference; below 0 = too few requests to tell */
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
};

struct latency {
	struct latency_request *requests; /* the shortest first */
	size_t count;
	size_t slow_from; /* the first slow one's index */
	struct latency_key keys[LATENCY_KEYS];
	uint32_t key_count;
	struct latency_share shares[LATENCY_KEYS + 1]; /* by key, the last is all others */
	struct latency_pick picks[LATENCY_PICKS];      /* the shortest first, each once */
	size_t pick_count;
};

/* The walk is one that has begun; it is at no thread afterwards. */
void latency_build(struct latency *latency, struct walk *walk, const struct requests *judged);
void latency_free(struct latency *latency);

/* The sort of time that a slice is. */
struct latency_key latency_key_of(const struct walk *walk, const struct walk_slice *slice);

/* Index of the p-th percentile, as reports have it. */
size_t latency_rank(const struct latency *latency, unsigned percent);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of the last seconds, added up: by class, lock, thread, request, stack, and probed call.
 *
 * Times are nanoseconds of one clock. Sums are kept second by second for TOP_SECONDS. A view says
 * how much each second counts. One thread.
 */
#ifndef WCPROF_TOP_SUMS_H
#define WCPROF_TOP_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "top_calls.h"
#include "top_marks.h"
#include "top_pieces.h"
#include "top_requests.h"

enum {
	TOP_ENTRIES_MAX = 4096, /* of each table: what comes later is counted as left out */
	TOP_HALF_LIFE_S = 10    /* of the decaying view */
};

struct top_sum {
	double count;
	double ns;
	double max_ns;
};

/* The series of a lock's entry; others have the first one only. */
enum top_series { TOP_TAKEN, TOP_WAITED, TOP_SERIES };

struct top_entry {
	/* A class: type and what, name, caller. A lock: its address. A thread: its index. */
	uint64_t key[3];
	uint32_t ident;      /* string: of a lock, or of a class that is one's; of a thread: the
			 * connection that it serves; 0 = none */
	uint32_t stack;      /* one from which the class was called */
	uint64_t sampled_ns; /* of a thread: its CPU time as of its last sample, 0 = none yet */
	uint64_t queued_ns;  /* and its time in the run queue */
	uint64_t last_piece; /* of its time */
	struct top_sum seconds[TOP_SECONDS][TOP_SERIES];
	float parts_ns[TOP_SECONDS][TOP_PARTS]; /* of a thread */
};

struct top_table {
	struct top_entry *entries;
	size_t count;
	uint32_t *places;  /* by hash: entry + 1 */
	uint64_t left_out; /* events without an entry */
};

struct top_sums {
	struct top_table classes, locks, threads;
	struct top_requests requests;
	struct top_marks marks;
	struct top_stacks stacks;
	struct top_calls calls;
	struct top_pieces pieces; /* once there is a call */
	double events[TOP_SECONDS];
	double samples[TOP_SECONDS];
	uint64_t second; /* the one that is being filled */
	uint64_t since_second;
	uint64_t since_ns;
	uint64_t sample_ns; /* CPU time from one sample to the next, about; 0 = not known */
};

/* Meanings of ids of the recording. */
struct top_names {
	uint64_t (*caller)(void *context, uint32_t stack); /* an address; 0 = not known */
	bool (*is_write)(void *context, uint32_t name);    /* a call that sends bytes */
	void *context;
};

/* False: there is no memory. */
bool top_sums_begin(struct top_sums *, uint64_t now_ns);
void top_sums_end(struct top_sums *);
/* An event, in the order of their ends. */
void top_sums_add(struct top_sums *, const struct record *, const struct top_names *);
/* It is so late: seconds that are over count no more; requests that were answered have ended. */
void top_sums_tick(struct top_sums *, uint64_t now_ns);

/* The sort of time that an op or a wait of a thread is; false: it is none, as a hold is not. */
bool top_sums_part(const struct record *, enum top_part *);

/* How much a second counts that is so many seconds old, 0 being the one that is being filled. */
struct top_view {
	unsigned seconds; /* 0 = decaying */
};
double top_view_weight(const struct top_sums *, struct top_view, unsigned age);
/* How many seconds that are, by weight; at least a small part of one. */
double top_view_seconds(const struct top_sums *, struct top_view, uint64_t now_ns);
struct top_sum top_sum_of(const struct top_sums *, const struct top_entry *, enum top_series,
			  struct top_view);
double top_part_of(const struct top_sums *, const struct top_entry *, enum top_part,
		   struct top_view);
double top_weighted(const struct top_sums *, const double by_second[TOP_SECONDS], struct top_view);
double top_stack_ns(const struct top_sums *, const struct top_stack *, enum top_share,
		    struct top_view);
/* The part of the time from then to now that is in the view, by the weight of its seconds. */
double top_view_overlap_ns(const struct top_sums *, struct top_view, uint64_t since_ns,
			   uint64_t now_ns);
/* When the view begins. */
uint64_t top_view_since_ns(const struct top_sums *, struct top_view, uint64_t now_ns);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a replay offers to those who ask "what if": the makespan of the run under a hypothesis.
 *
 * A replayer's state is read-only, so any number of threads may run it, each with a scratch of its
 * own.
 */
#ifndef WCPROF_REPLAYER_H
#define WCPROF_REPLAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct replay_answer {
	double makespan_ns;        /* whole */
	uint64_t broken_cycles;    /* joins of what was itself waiting for the one that joined */
	uint64_t fallback_anchors; /* placed by recorded time, because nothing started them in time
				    */
	uint64_t forced_steps;     /* let go although what they waited for never came */
	/* Of the requests that the recording shows: what the middle one took, and one of a hundred
	 * took longer; 0 = there are none. */
	double p50_ns;
	double p99_ns;
};

/* By how much, at most, a trial of another chance makes a run or a wait longer or shorter. */
static const double CHANCE_PART = 0.01;

/* All self time of a class times a factor. */
struct scaling {
	uint32_t class;
	double factor;
};

/* One run: several scalings at once, each applied to what the others left. */
struct trial {
	const struct scaling *scalings;
	size_t count;
	/* Locks go to whoever has waited longest; else to whoever comes first once they are free,
	 * as glibc's do. */
	bool is_fair;
	/* CPUs are shared equally by all that could run; else each has a queue of its own. */
	bool shares_cpus;
	/* 0: everything takes as long as it did; else a little longer or shorter, as this number
	 * decides. */
	unsigned chance;
	uint64_t *finish_ns; /* where to put each recorded thread's finish; NULL = nowhere */
};

struct replayer {
	const char *name;
	const void *state;
	size_t cost;         /* of one run, in steps of some sort */
	size_t finish_count; /* of the threads whose finishes a trial tells */
	void *(*scratch_new)(const struct replayer *);
	void (*scratch_free)(void *scratch);
	/* All self time of one class times each of the factors; NO_INDEX as class scales nothing.
	 */
	void (*run)(const struct replayer *, uint32_t class_index, const double *factors,
		    size_t factor_count, void *scratch, struct replay_answer *answers);
	/* The same for up to batch_max classes, whose answers follow each other; 0 = cannot. */
	size_t batch_max;
	void (*run_batch)(const struct replayer *, const uint32_t *classes, size_t class_count,
			  const double *factors, size_t factor_count, void *scratch,
			  struct replay_answer *answers);
	void (*run_trial)(const struct replayer *, const struct trial *, void *scratch,
			  struct replay_answer *answer);
	/* Scaling one class does the very same as scaling the other; NULL = it is not known. */
	bool (*is_same)(const struct replayer *, uint32_t class_index, uint32_t other);
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What would a fix buy? Every class as a hypothesis, at every factor, by whichever replay there is.
 *
 * Read-only after whatif_build, which runs the replay on several threads and joins them.
 */
#ifndef WCPROF_WHATIF_H
#define WCPROF_WHATIF_H

#include "measure/selftime.h"
#include "replay/replayer.h"

struct whatif_options {
	const double *factors;
	size_t factor_count;
	uint64_t min_self_ns;      /* hypotheses that weigh less are left out */
	size_t hypothesis_count;   /* classes, and what the replayer knows beyond; 0 = classes */
	const uint64_t *weight_ns; /* of each, at most to be saved; NULL = a class's self time */
	const bool *is_wanted;     /* of each; NULL = all */
	const double *noise;       /* of each: part of the answer that is chance; NULL = none is */
	void (*progress)(const char *what, size_t done, size_t total); /* NULL = none */
	size_t thread_count;                                           /* 0 = one per CPU */
	bool has_orders; /* there are locks, which could be handed over otherwise */
	bool is_crowded; /* there are fewer CPUs than threads, which could get them otherwise */
};

struct whatif_row {
	uint32_t class;
	/* Per factor. What is saved is baseline - makespan; whole, negative = slower. */
	double *saved_ns;
	double *least_ns; /* what could be saved if locks were handed over otherwise, and samples */
	double *most_ns;  /* are chance; the same as saved_ns where neither matters */
	double *p50_saved_ns;
	double *p99_saved_ns;
	uint64_t *finish_ns;   /* of each thread, factor by factor */
	bool depends_on_cpus;  /* on how threads get CPUs: likewise */
	bool depends_on_order; /* of threads at locks: another one would change the answer much */
	double stops_at;       /* factor below which nothing more is saved, 0 = it goes on */
	uint32_t next_class;   /* the limit then, NO_INDEX = not known */
};

struct whatif {
	struct whatif_row *rows; /* the largest sure saving at the smallest factor first */
	size_t row_count;
	double *figures_ns; /* what the rows point into */
	uint64_t *finishes_ns;
	uint64_t *baseline_finish_ns; /* of each thread */
	size_t finish_count;          /* threads; 0 = not known */
	struct replay_answer baseline;
};

void whatif_build(struct whatif *whatif, const struct replayer *replayer,
		  const struct class_table *classes, const struct selftime *selftime,
		  const struct whatif_options *options);
void whatif_free(struct whatif *whatif);

#endif

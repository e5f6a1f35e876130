/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What would a fix buy? Every class as a hypothesis, at every factor, by whichever replay there is.
 *
 * Read-only after whatif_build, which runs the replay on several threads and joins them.
 */
#ifndef WCPROF_WHATIF_H
#define WCPROF_WHATIF_H

#include "estimate.h"
#include "measure/selftime.h"
#include "reach.h"

enum {
	WHATIF_BEST_ROWS = 10,   /* whose answers are made sure of, and looked into */
	WHATIF_BEST_REQUESTS = 5 /* of each figure of requests: made sure of, too */
};

struct whatif_options {
	const double *factors;
	size_t factor_count;
	uint64_t min_self_ns;      /* hypotheses that weigh less are left out */
	size_t hypothesis_count;   /* classes, and what the replayer knows beyond; 0 = classes */
	const uint64_t *weight_ns; /* of each, at most to be saved; NULL = a class's self time */
	const bool *is_wanted;     /* of each; NULL = all */
	const bool *is_asked;      /* of each: it is made as sure as --what-if is; NULL = none */
	const struct reach *reach; /* which hypotheses are parts of others; NULL = not known */
	/* By class: what is a part of it may be the cause, as of functions; NULL = of none. */
	const bool *has_parts;
	void (*progress)(const char *what, size_t done, size_t total); /* NULL = none */
	size_t thread_count;                                           /* 0 = one per CPU */
};

struct whatif_row {
	uint32_t class;
	/* The row of this class takes the same time, and its answers are this row's, too; NO_INDEX
	 * = there is none. Of a row that was asked about there is none. */
	uint32_t same_as;
	/* Of a row with parts: the one that saves most of them, NO_INDEX = none. */
	uint32_t within;
	double sure_ns;                /* by which it is ranked */
	struct estimate *estimates;    /* by factor */
	struct replay_answer *answers; /* by factor: of the plain replay */
	/* By factor: its replay comes to no end, or only by force. The estimate is that of the
	 * nearest answer, and has the most that this change could save. */
	bool *is_none;
	bool is_endless;     /* at some factor */
	uint64_t *finish_ns; /* of each thread, factor by factor */
	/* Its estimates are those of estimate_make(), else those of estimate_first(). Of a class
	 * that --what-if asked about they are what it answered. */
	bool is_sure;
	bool depends_on_order; /* at some factor */
	bool depends_on_timeouts;
	bool depends_on_jobs;
	bool depends_on_cpus;
	double stops_at;     /* factor below which nothing more is saved, 0 = it goes on */
	uint32_t next_class; /* the limit then, NO_INDEX = not known */
};

struct whatif {
	struct whatif_row
		*rows; /* the largest sure saving of its own at the smallest factor first */
	size_t row_count;
	size_t tried_count;     /* rows that there were at first */
	size_t endless_count;   /* of these, with a replay that comes to no end */
	uint32_t endless_class; /* of the first one; NO_INDEX = the unchanged run, otherwise */
	struct replay_place endless_place; /* and where its replay was stopped */
	struct estimate *estimates;        /* rows point into them */
	struct replay_answer *answers;     /* rows point into them */
	bool *are_none;                    /* rows point into them */
	uint64_t *finishes_ns;
	uint64_t *baseline_finish_ns;  /* of each thread */
	size_t finish_count;           /* threads; 0 = not known */
	struct replay_answer recorded; /* as estimate.h has it, and the next one */
	struct replay_answer baseline;
};

void whatif_build(struct whatif *whatif, struct estimator *estimator,
		  const struct class_table *classes, const struct selftime *selftime,
		  const struct whatif_options *options);
void whatif_free(struct whatif *whatif);

/* NULL = there is no such row. */
const struct whatif_row *whatif_find(const struct whatif *whatif, uint32_t class);

/* The row's saving at a factor beyond that of the row that is a part of it. */
double whatif_own_ns(const struct whatif *whatif, const struct whatif_row *row, size_t factor);

#endif

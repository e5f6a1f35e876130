/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The differences between the costs of two recordings, or of two sets of them, and which of them
 * are more than chance.
 *
 * Each difference has an interval by the bootstrap over stretches, or over recordings if there are
 * at least two of each. All differences are tested together: of those found, one in twenty at most
 * is chance (false discovery rate: Benjamini and Hochberg 1995). Two equal builds have no finding
 * in 19 of 20 tries, then. Intervals of those found are widened for the same reason (false coverage
 * rate: Benjamini and Yekutieli 2005).
 *
 * Times of less than a hundredth of what a unit takes are no findings. Classes that take less than
 * that are not tested.
 *
 * Points into the costs, which must outlive it. Read-only once built.
 */
#ifndef WCPROF_COMPARE_H
#define WCPROF_COMPARE_H

#include "costs.h"

/* Of one unit. */
enum diff_figure {
	FIGURE_MEAN, /* time that a request, or the run, took */
	FIGURE_P50,  /* of requests */
	FIGURE_P95,
	FIGURE_P99,
	FIGURE_CPU, /* CPU time of all threads */
	FIGURES,
	/* Of a class. The first ones are in the order of enum cost_part. */
	FIGURE_CLASS_COUNT = FIGURES,
	FIGURE_CLASS_TIME,
	FIGURE_CLASS_BLOCKED,
	FIGURE_CLASS_CPU,
	FIGURE_CLASS_QUEUED,
	FIGURE_CLASS_EACH,  /* time of one op: the mean */
	FIGURE_CLASS_USUAL, /* the same: the mean of the medians of stretches */
	FIGURE_ALL
};

struct difference {
	enum diff_figure figure;
	const struct cost_class *old_class; /* NULL: new, or not of a class */
	const struct cost_class *new_class; /* NULL: gone, or not of a class */
	/* ns, or a number; NAN = not known, as too few requests finished: nor is the delta */
	double old_value;
	double new_value;
	double delta; /* new - old */
	double least; /* of the delta: 95% */
	double most;
	double chance; /* of a difference like that between equal builds */
	bool is_found;
};

struct comparison {
	const struct costs *old_costs;
	const struct costs *new_costs;
	struct difference *rows; /* of the whole, by figure; then class by class */
	size_t count;
	size_t whole_count; /* of those, rows of no class */
	size_t found_count;
	size_t small_count;  /* classes that were not looked at: they are next to nothing */
	double small_old_ns; /* their time; that in other classes, too, left out */
	double small_new_ns;
};

void comparison_build(struct comparison *comparison, const struct costs *old_costs,
		      const struct costs *new_costs);
void comparison_free(struct comparison *comparison);

/* The class of a row, of whichever side has it. */
const struct cost_class *difference_class(const struct difference *difference);

/* Whether NEW is worse: what a unit takes says so. Where that does not differ, its CPU time does,
 * and where that does not either, what was found of classes. */
bool comparison_is_worse(const struct comparison *comparison);

#endif

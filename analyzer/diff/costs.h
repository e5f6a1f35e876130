/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Costs of the units of a recording, class by class and stretch by stretch.
 *
 * A class is that of a call, a hold, a thread's own code, or a function that samples show. Waits
 * are classed by reason and resource. Waiting for work to arrive (infer/arrivals.h) costs nothing.
 * Of a hold the time is that for which the lock is held, calls included: it is in other classes,
 * too. So is that of functions. The time of all others adds up. Parts of the ways of requests
 * (paths/requestpaths.h) are classes beside these.
 *
 * Owns all that it has: the recording may be gone. Read-only once built.
 */
#ifndef WCPROF_COSTS_H
#define WCPROF_COSTS_H

#include "mapping.h"
#include "report/analysis.h"
#include "stretches.h"

enum cost_part {
	COST_COUNT,
	COST_TIME,    /* of all, of which the next three are parts */
	COST_BLOCKED, /* in the call or wait, or in nothing that was recorded */
	COST_CPU,
	COST_QUEUED,  /* waiting for a CPU */
	COST_USUAL,   /* the median of the stretch's ops, and */
	COST_MEDIANS, /* 1, if it has ops */
	COST_PARTS
};

struct cost_class {
	char *kind; /* "io", "hold", "thread", "func", of a wait its reason: "mutex" */
	char *name;
	bool is_wait;   /* for another thread, or something that it does; a call may be one, too */
	bool is_path;   /* a part of the way of requests, which add up to what they take */
	bool is_within; /* its time is in other classes, too */
	/* By part, then by stretch: number, or ns. */
	double *amounts;
};

/* A request, with the time that it took. */
struct cost_request {
	uint64_t taken_ns;
	uint32_t stretch;
	bool is_cut; /* unfinished: it took longer than that */
};

struct costs {
	enum diff_unit unit;
	size_t stretch_count;
	size_t recordings; /* if more than one, each is a stretch */
	double *units;     /* by stretch */
	double *elapsed_ns;
	struct cost_class *classes; /* in order of kind and name */
	size_t class_count;
	struct cost_request *requests; /* the shortest first, a cut one behind others */
	size_t request_count;          /* of a run there are none */
	size_t unfinished;             /* of them */
};

/* Names are as `mapping` has them; NULL = as they are. */
void costs_build(struct costs *costs, const struct analysis *analysis, enum diff_unit unit,
		 const struct mapping *mapping);
/* Puts `one` behind `costs`, as one stretch. `costs` was empty, or made by this function alone. */
void costs_add(struct costs *costs, const struct costs *one);
void costs_free(struct costs *costs);

/* NULL: there is no such class. */
const struct cost_class *costs_find(const struct costs *costs, const char *kind, const char *name,
				    bool is_path);

static inline const double *cost_amounts(const struct costs *costs, const struct cost_class *class,
					 enum cost_part part)
{
	return class->amounts + (size_t)part * costs->stretch_count;
}

#endif

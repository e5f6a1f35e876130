/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The paths of an analysis's requests, and their means: what slow ones are made of, and usual ones.
 *
 * One thread.
 */
#ifndef WCPROF_FOLLOWED_H
#define WCPROF_FOLLOWED_H

#include "base/options.h"
#include "paths/requestpaths.h"

struct analysis;

/* Whether anything that the options of an analysis ask for shows paths. Its script is built. */
bool followed_is_wanted(const struct analysis *analysis);

/* Of an analysis that has a script; request_paths_free() frees them. */
void followed_build(struct request_paths *paths, const struct analysis *analysis);

/* Means of a part in the requests that answers are judged by. */
struct followed_row {
	uint32_t part;
	double mean_ns; /* of all */
	double p50_ns;  /* of those around the median; NAN = unfinished ones hide them */
	double p99_ns;  /* of those from the 99th percentile on; NAN: the same */
};

struct followed_table {
	struct followed_row *rows; /* most time in the slowest first */
	size_t count;
	size_t requests;
};

/* Empty if there are no requests. */
void followed_table_build(struct followed_table *table, const struct request_paths *paths,
			  const struct requests *requests);
void followed_table_free(struct followed_table *table);

#endif

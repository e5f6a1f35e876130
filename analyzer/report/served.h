/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server, as its users see it: how long its requests took, and what would shorten them or let
 * more of them through. Its makespan is that of its clients.
 *
 * Any thread, as an analysis is only read.
 */
#ifndef WCPROF_SERVED_H
#define WCPROF_SERVED_H

#include "analysis.h"
#include "base/emit.h"
#include "shortening.h"

struct served {
	size_t count; /* requests by which changes are judged, as recorded */
	struct request_figures recorded;
	double per_second;
	bool is_p99_given; /* savings of it; else the cause: */
	char cause[SHORTENING_CAUSE_BYTES];
	size_t factor; /* the one that sentences speak of */
	/* Rows of the what-if table that save most at this factor: index, SIZE_MAX = none is worth
	 * a word, or savings are withheld. */
	size_t shortest, busiest;
	bool *is_of_clients; /* by row: only processes do it that ask and serve nobody */
};

/* False: no server, or none that was asked anything. Linear in ops and requests. Rows of what
 * clients alone do are none of the two. */
bool served_find(const struct analysis *analysis, struct served *served);

void served_free(struct served *served);

/* A cell of a table: requests more in the same time, with the range if that is wide. */
void served_emit_gain(const struct analysis *analysis, struct emit *emit,
		      const struct estimate *estimate);

/* "N requests at M per second: ... If `a` took half as long, p99 would be 3% shorter." Allocated.
 */
char *served_sentence(const struct analysis *analysis, const struct served *served);

/* Text: the best rows by what they save of the 99th percentile, and those by throughput. */
void served_print_fixes(const struct analysis *analysis, const struct served *served,
			struct emit *emit);

#endif

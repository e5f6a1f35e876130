/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of calls of probed functions: those in slow requests beside those in the others. Where no
 * call lies in a slow request, the slowest twentieth of the calls is beside the others. One thread.
 */
#ifndef WCPROF_TOP_VALUES_H
#define WCPROF_TOP_VALUES_H

#include "top_calls.h"
#include "top_requests.h"

/* Of some calls; numbers are in the order of their type. */
struct top_range {
	size_t count;
	uint64_t least, median, most; /* of strings all are the id of the most frequent one */
	size_t frequent_count;        /* of strings: calls that had that one */
};

struct top_value_row {
	uint32_t call, name; /* strings: the function's and the value's */
	uint32_t type;       /* enum probe_type */
	struct top_range slow, usual;
};

struct top_value_rows {
	struct top_value_row *rows; /* those of one call side by side */
	size_t count;
	bool is_of_requests; /* else of calls by themselves */
};

/* Of calls that ended since then; calls that are in no request are left out where some are in a
 * slow one. No rows where there is no memory. */
void top_values_build(struct top_value_rows *, const struct top_calls *,
		      const struct top_requests *, uint64_t since_ns);
void top_values_free(struct top_value_rows *);
/* The number that has the bits. */
double top_value_real(uint64_t bits);

#endif

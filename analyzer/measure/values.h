/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that probed functions got or returned: those of the slowest calls beside those of all
 * others.
 *
 * Built once, read-only afterwards.
 */
#ifndef WCPROF_VALUES_H
#define WCPROF_VALUES_H

#include "recording/classes.h"
#include "recording/recording.h"

/* Of some calls. Numbers are as the program has them: signed if one is below zero; or bits of
 * doubles, whose order is that of the numbers. */
struct value_range {
	size_t count;
	uint64_t least, median, most; /* of strings all are the id of the most frequent one */
	size_t frequent_count;        /* of strings: calls that had that one */
};

struct value_row {
	uint32_t class;
	uint32_t name; /* string id: "len", "$ret" */
	bool is_text;
	bool is_signed;
	bool is_real;
	uint64_t slow_ns; /* the slowest calls took so long, or longer */
	struct value_range usual, slow;
};

/* A request, on the thread that serves it. */
struct value_request {
	uint32_t thread;
	uint64_t start_ns, end_ns;
	bool is_slow;
	uint32_t index; /* of the caller's */
};

/* The links that are values of calls in requests, by request. */
struct value_lists {
	size_t *first;   /* of request i: from first[i] up to first[i + 1]; a list has one more */
	uint32_t *links; /* as recorded: those of one call side by side */
};

struct value_table {
	struct value_row *rows; /* by class, then name */
	size_t count;
};

void value_table_build(struct value_table *, const struct recording *, const struct class_table *);
/* Of calls in requests alone: those in slow ones beside those in the others. `slow_ns` is 0.
 * Requests are put in order. */
void value_table_build_in(struct value_table *, const struct recording *,
			  const struct class_table *, struct value_request *requests, size_t count);
void value_table_free(struct value_table *);
/* The number of a real value's bits. */
double value_real(uint64_t bits);

/* `count` requests, whose indexes are below that; they are put in order. */
void value_lists_build(struct value_lists *, const struct recording *,
		       struct value_request *requests, size_t count);
void value_lists_free(struct value_lists *);

#endif

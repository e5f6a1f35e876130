/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of top: a few lines about the whole, and one table; or an object of JSON. One thread.
 */
#ifndef WCPROF_TOP_VIEW_H
#define WCPROF_TOP_VIEW_H

#include "top_cpu.h"
#include "top_labels.h"

enum top_kind { TOP_CLASSES, TOP_LOCKS, TOP_REQUESTS, TOP_THREADS, TOP_WHATIF, TOP_KINDS };

enum top_style { TOP_PLAIN, TOP_TITLE, TOP_HEADING, TOP_WARNING };

enum { TOP_LINE_BYTES = 512, TOP_LINES_MAX = 400 };

struct top_line {
	char text[TOP_LINE_BYTES];
	enum top_style style;
};

struct top_lines {
	struct top_line *lines; /* TOP_LINES_MAX */
	size_t count;
};

/* All that a view is of; nothing of it is changed. */
struct top_state {
	pid_t pid;
	const char *program;
	const struct top_reader *reader;
	const struct top_sums *sums;
	const struct top_cpu *cpu;
	struct top_labels *labels;
	uint64_t now_ns;
	struct top_view view;
	unsigned columns;   /* of a line */
	const char *filter; /* a part of a row's name; "" = all rows */
	const char *status; /* the last answer to STATUS; NULL = none */
	const char *note;   /* the last change, as a sentence; "" = none */
	const char *whatif; /* lines of the last answer; NULL = there is none yet */
	uint64_t whatif_ns; /* when that was asked */
	bool is_frozen;
	bool has_ended;
};

/* A lock that threads wait for at the moment. */
struct top_waiting {
	uint64_t address;
	unsigned waiters;
	pid_t holder;
	uint64_t held_ns;
	uint64_t longest_ns;
};
struct top_waiting_list {
	struct top_waiting *rows;
	size_t count;
};
bool top_waiting_find(struct top_waiting_list *, const struct top_reader *);
void top_waiting_free(struct top_waiting_list *);

/* Lines above each table; then a table with at most so many rows. */
void top_view_head(const struct top_state *, struct top_lines *);
void top_view_table(const struct top_state *, enum top_kind, size_t rows, struct top_lines *);
/* top_json.c. Everything as one object, a line. */
void top_view_json(const struct top_state *, size_t rows);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that write rows: output, the stacks of a recording, a line's columns. */
#ifndef WCPROF_ROWS_PARTS_H
#define WCPROF_ROWS_PARTS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/tuples.h"
#include "report/analysis.h"
#include "rowids.h"

enum rows_table {
#define ROWS_TABLE(name, table, meaning) ROWS_##name,
#include "rows.def"
	ROWS_TABLES
};

/* Stacks of a recording by what they are, whichever process has them. */
struct rows_stacks {
	struct row_id *ids; /* by stack */
	uint32_t *same;     /* by stack: the first one with its id; 0 = none is known */
	bool *is_named;     /* by stack: a row names it */
	size_t count;
};

struct rows {
	const struct options *options;
	FILE *files[ROWS_TABLES];
	struct tuples stacks_written; /* ids of those in wc_stack */
	/* of the window that is written */
	const struct analysis *analysis;
	char window[ROW_ID_BYTES];
	struct rows_stacks stacks;
	FILE *file;     /* of the line that is written */
	bool has_entry; /* in the map or array that is open */
};

/* --- Columns of a line, in order (rows_line.c) --- */

/* All but wc_stack begin with the window. */
void row_begin(struct rows *rows, enum rows_table table);
void row_end(struct rows *rows);
void row_text(struct rows *rows, const char *column, const char *text);
void row_count(struct rows *rows, const char *column, uint64_t count);
/* NAN becomes null. */
void row_ns(struct rows *rows, const char *column, double ns);
void row_number(struct rows *rows, const char *column, double number);
void row_flag(struct rows *rows, const char *column, bool is_set);
/* In the time of the recording; with the day, to the nanosecond. */
void row_time(struct rows *rows, const char *column, uint64_t at_ns);
/* By length; without the empty ones at the end. */
void row_histogram(struct rows *rows, const char *column, const uint32_t *bins);
/* "" for none; notes that a row names it. */
void row_stack(struct rows *rows, const char *column, uint32_t stack);
void row_map_begin(struct rows *rows, const char *column);
void row_map_count(struct rows *rows, const char *key, uint64_t count);
void row_map_text(struct rows *rows, const char *key, const char *text);
void row_map_end(struct rows *rows);

/* --- Stacks (rows_stacks.c) --- */

void rows_stacks_build(struct rows_stacks *stacks, const struct analysis *analysis);
void rows_stacks_free(struct rows_stacks *stacks);

/* --- Tables of a window --- */

void rows_of_window(struct rows *rows);   /* rows_window.c */
void rows_of_answers(struct rows *rows);  /* rows_answers.c */
void rows_of_waits(struct rows *rows);    /* rows_waits.c */
void rows_of_holds(struct rows *rows);    /* the same */
void rows_of_threads(struct rows *rows);  /* rows_threads.c */
void rows_of_requests(struct rows *rows); /* rows_requests.c */
void rows_of_stacks(struct rows *rows);   /* rows_stacks.c; after the others */

/* Columns of a window, from its time to the number of requests (rows_window.c), and of a saving;
 * NULL = there is none (rows_answers.c). */
void rows_put_whose(struct rows *rows);
void rows_put_saving(struct rows *rows, const struct estimate *estimate);

/* The id of the window. */
struct row_id rows_window_id(const struct analysis *analysis);

/* NULL: the tag is not given. */
const char *rows_tag(const struct options *options, const char *key);

#endif
